"""Models are drawn by rule and seed, each job for itself."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from artist.bad_input.records import validated
from artist.errors import InputError
from artist.workload.models import TABLE_1_MODELS, ModelRule, assign_models, job_draws
from artist.workload.table import check


def jobs(count: int) -> pd.DataFrame:
    """Return jobs of 1, 8, 1, 8, ... GPUs."""
    ids = [f"j{n}" for n in range(count)]
    gpus = np.tile([1, 8], count)[:count]
    return check(pd.DataFrame({"job_id": ids, "submit_s": 0.0, "gpus": gpus, "duration_s": 1.0}), "jobs")


def rule(**values: object) -> ModelRule:
    """Return a checked rule."""
    return validated(ModelRule, values, "workload.models")


def test_uniform_over_table_1_by_default() -> None:
    """6,000 jobs over six models: 1,000 each, deviation sqrt(6000 x 5 / 36) = 29; 4 of them are 116."""
    counts = Counter(assign_models(jobs(6000), ModelRule(), seed=1)["model"])
    assert set(counts) == set(TABLE_1_MODELS)
    assert all(abs(count - 1000) < 116 for count in counts.values())


def test_the_draw_of_a_job_depends_on_no_other_job() -> None:
    """A filter, or another order, must not change what a job trains."""
    table = jobs(100)
    full = assign_models(table, ModelRule(), seed=1)["model"]
    part = assign_models(table.take([70, 3, 41]), ModelRule(), seed=1)["model"]
    assert part.tolist() == full[[70, 3, 41]].tolist()


def test_the_seed_decides() -> None:
    """The same seed the same models, another seed others."""
    first, again, other = (list(assign_models(jobs(50), ModelRule(), s)["model"]) for s in (1, 1, 2))
    assert first == again != other


def test_draws_are_written_in_stone() -> None:
    """The hash is part of what a seed means: published runs must come out the same in later versions."""
    draws = job_draws(np.array(["a", "b"], dtype=object), 0, "models")
    assert draws.tolist() == DRAWS_OF_SEED_0


def test_weighted() -> None:
    """3 : 1 over 4,000 jobs: 3,000 and 1,000, deviation sqrt(4000 x 3 / 16) = 27; 4 of them are 110."""
    counts = Counter(assign_models(jobs(4000), rule(rule="weighted", weights={"A": 3, "B": 1}), 1)["model"])
    assert abs(counts["A"] - 3000) < 110
    assert counts["A"] + counts["B"] == 4000


def test_by_gpus() -> None:
    """Jobs of 1 GPU train A, all larger ones B."""
    ranges = [{"max_gpus": 1, "weights": {"A": 1}}, {"weights": {"B": 1}}]
    models = assign_models(jobs(4), rule(rule="by_gpus", by_gpus=ranges), 1)["model"]
    assert models.tolist() == ["A", "B", "A", "B"]


def test_fixed() -> None:
    """One model for all."""
    assert set(assign_models(jobs(9), rule(rule="fixed", name="ResNet50"), 1)["model"]) == {"ResNet50"}


def test_models_of_the_trace_stay_and_cpu_jobs_get_none() -> None:
    """The first names its own, the second uses no GPU."""
    table = jobs(3).assign(model=["Mine", "", ""], gpus=[1, 0, 1])
    assert assign_models(table, rule(rule="fixed", name="X"), 1)["model"].tolist() == ["Mine", "", "X"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rule": "random"}, "workload.models.rule: wrong value"),
        ({"rule": "fixed"}, "models.rule=fixed needs models.name"),
        ({"rule": "uniform", "names": []}, "models.rule=uniform needs models.names"),
        ({"rule": "weighted", "weights": {"A": 0}}, "greater than 0"),
        ({"rule": "by_gpus", "by_gpus": [{"max_gpus": 8, "weights": {"A": 1}}]}, "last range needs"),
        (
            {"by_gpus": [{"max_gpus": g, "weights": {"A": 1}} for g in (8, 1, None)]},
            "max_gpus must rise",
        ),
    ],
)
def test_bad_rules(values: dict[str, object], words: str) -> None:
    """A rule without its field, or with ranges that leave jobs out."""
    with pytest.raises(InputError, match=words):
        rule(**values)


DRAWS_OF_SEED_0 = [0.012475860764723956, 0.3522957631546615]  # blake2b of "0:models:a", "0:models:b"
