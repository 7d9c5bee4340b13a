"""The generator of language models: Acme's sizes, and recipes that divide them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from artist.data import data_path
from artist.errors import InputError
from artist.workload.llm import LlmTrace
from artist.workload.plans import with_plans
from artist.workload.synthetic import read_generator_table


def test_sizes_are_those_of_the_trace() -> None:
    """500 jobs: 96 of one GPU, 72 of 64, 24 of more than 128; 28.9 GPUs in the mean (14,472 / 500)."""
    known = read_generator_table(data_path("traces", "generator_acme_kalos.yaml"))
    assert known.gpu_probability[1] == 96 / 500
    assert known.gpu_probability[64] == 72 / 500
    assert sum(gpus * share for gpus, share in known.gpu_probability.items()) == pytest.approx(28.9, abs=0.05)
    jobs = LlmTrace(jobs=20_000, load=0.9).table()
    assert jobs["gpus"].mean() == pytest.approx(28.9, rel=0.03)


@pytest.mark.parametrize("machine_gpus", [8, 4])
def test_every_recipe_divides_the_gpus_that_it_serves(machine_gpus: int) -> None:
    """All jobs of the trace's sizes, and of 512 and 1,024, have a plan that their model allows."""
    jobs = LlmTrace(jobs=5000, load=0.9).table()
    planned = with_plans(jobs, "llm", machine_gpus, lambda *_: 1.0)
    assert not (planned["gpus"] % np.maximum(planned["unit"], planned["segment"])).any()
    assert {"evaluation", "debugging", "pretraining"} == set(jobs["vc"])


def test_a_seed_and_the_models_of_others_decide_no_sizes() -> None:
    """One seed gives one table; another precision changes nothing else."""
    one, same, fp8 = (
        LlmTrace(jobs=50, load=0.9, seed=3, **more).table().frame() for more in ({}, {}, {"precision": "fp8"})
    )
    assert one.equals(same)
    assert one.drop(columns="precision").equals(fp8.drop(columns="precision"))


def test_sizes_without_a_recipe_are_refused(write: Callable[..., Path]) -> None:
    """Recipes of a user's own that leave out a number of GPUs."""
    recipe = (
        "{model: MPT-1B, plan: '', sequence: 2048, batch_per_gpu: 4, least: 1, most: 2, weight: 1, kind: a}"
    )
    path = write(f"source: ours\nrecipes:\n- {recipe}\n", "recipes.yaml")
    with pytest.raises(InputError, match=r"no recipe for jobs.*\n.*8 GPUs"):
        LlmTrace(jobs=50, load=0.9, recipes=path).table()
