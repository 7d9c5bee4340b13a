"""Jobs like those of the Synergy paper's evaluation (section 5.1): no download needed.

A job's run time, on its GPU-proportional share of CPUs and memory, is 10^x minutes, x uniform in [1.5, 3] for
80 % of the jobs and in [3, 4] for the others (on the testbed: [1.5, 2.5] and [2.5, 2.7]); jobs arrive at
random at a rate, or all at once. The next job takes a model of the class (image, language, speech) that is
furthest below its share, the models of a class in turn. Iterations = run time / iteration time, rounded down.

The order of the draws is that of the authors' program (github.com/msr-fiddle/synergy, MIT, simulator/helpers
and simulator/jobs at 1bb2bed): with one GPU per job, a seed gives the same jobs as there. GPUs have a stream
of their own, so traces of one and of several GPUs differ in nothing else. Short run times are those of the
program's 100 jobs for the testbed (simulator/deploy_trace), which the paper does not describe.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import yaml
from pydantic import Field, NonNegativeFloat, field_validator

from artist.bad_input.records import validated
from artist.data import data_path
from artist.randomness import child_generator
from artist.tables.files import read_text
from artist.tables.rows import Table
from artist.units import MAX_S
from artist.workload.api import SourceParameters
from artist.workload.table import check

CLASSES = (
    ("AlexNet", "ResNet18", "ResNet50", "MobileNetV2", "ShuffleNet"),
    ("GNMT", "Transformer-XL", "LSTM"),
    ("M5", "DeepSpeech"),
)
"""Models of images, language and speech (Table 4), in the order of the program."""
GPU_SHARES: dict[str, dict[int, float]] = {
    "one": {1: 1.0},
    "philly": {1: 0.9099, 2: 0.0160, 4: 0.0362, 8: 0.0347, 16: 0.0032},
    "program": {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05},
}
"""Shares of the jobs by GPUs. philly: of the trace's jobs of 2 to 22 October 2017, of all final states, with
1, 2, 4, 8 or 16 GPUs and a run time between 10^1.5 and 10^4 minutes, as selected by the program.
program: its shares without a trace."""
EXPONENTS = {"production": ((1.5, 3.0), (3.0, 4.0)), "short": ((1.5, 2.5), (2.5, 2.7))}
"""Ranges of x: for 80 % of the jobs, and for the others."""
_MODELS = sum(map(len, CLASSES))
_IMAGE = 0
Range = tuple[float, float]
Split = tuple[NonNegativeFloat, NonNegativeFloat, NonNegativeFloat]


class DerivedTrace:
    """Jobs of the Synergy paper's production-derived traces."""

    names_models = True  # of every job, so that parameters.models is not asked

    class Parameters(SourceParameters):
        """Parameters besides those of every source.

        Attributes
        ----------
        jobs
            Number of jobs.
        jobs_per_hour
            Mean rate of arrivals (Poisson, whole seconds); None or 0 for all at once.
        split
            Percentage of jobs of image, language and speech models; thirds may be 33, 33 and 33.
        durations
            Run times: of the paper, or of its testbed's traces.
        gpus
            GPUs of a job: always one, or according to the shares of `GPU_SHARES`.
        """

        jobs: int = Field(default=8000, ge=1, le=10_000_000)
        jobs_per_hour: NonNegativeFloat | None = 9.0
        split: Split = (20.0, 70.0, 10.0)
        durations: Literal["production", "short"] = "production"
        gpus: Literal["one", "philly", "program"] = "one"

        @field_validator("split")
        @classmethod
        def _is_whole(cls, split: Split) -> Split:
            if not 99 <= sum(split) <= 101:
                raise ValueError(f"three percentages that sum to {sum(split):g}; a sum of 99 to 101")
            return split

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, "workload")
        self.input_files: tuple[Path, ...] = (data_path("traces", "measured/input_sensitivity.yaml"),)
        self.trace_gpu = "V100"

    def describe(self) -> str:
        """Return the source of the jobs in a clause, for a report."""
        return "jobs drawn as in the Synergy paper"

    def table(self) -> Table:
        """Return all jobs as a canonical table, in order of arrival."""
        chosen = self.parameters
        models = draw_models(chosen.split, chosen.jobs)
        durations_s = draw_durations_s(EXPONENTS[chosen.durations], chosen.jobs, chosen.seed)
        known = read_iterations_s(self.input_files[0])
        compute_s = [known[model] for model in models]
        work = zip(durations_s, compute_s, strict=True)
        width = len(str(chosen.jobs))
        table = Table(
            {
                "job_id": [f"job-{number:0{width}d}" for number in range(chosen.jobs)],
                "submit_s": draw_arrivals_s(chosen.jobs_per_hour or 0.0, chosen.jobs, chosen.seed),
                "gpus": draw_gpus(GPU_SHARES[chosen.gpus], chosen.jobs, chosen.seed),
                "iterations": [max(1, int(duration_s / iteration_s)) for duration_s, iteration_s in work],
                "compute_s": compute_s,
                "model": models,
            }
        )
        return check(table, "workload=synergy")


def read_iterations_s(path: Path) -> dict[str, float]:
    """Return the iteration time on the proportional share, by model of the file that has one."""
    models = yaml.safe_load(read_text(path))["models"]
    return {name: model["iteration_s"] for name, model in models.items() if "iteration_s" in model}


def draw_durations_s(exponents: tuple[Range, Range], jobs: int, seed: int) -> list[float]:
    """Return the run time of each job, in seconds (section 5.1, Duration)."""
    random = Random(seed)
    return [60.0 * 10.0 ** random.uniform(*exponents[random.random() >= 0.8]) for _ in range(jobs)]


def draw_arrivals_s(jobs_per_hour: float, jobs: int, seed: int) -> list[float]:
    """Return the arrival of each job, in whole seconds (section 5.1, Arrival); all at 0 s without a rate."""
    if not jobs_per_hour:
        return [0.0] * jobs
    random, now_s, arrivals_s = Random(seed), 0.0, []
    for _ in range(jobs):
        gap_s = -math.log(1.0 - random.random()) / jobs_per_hour * 3600.0
        now_s += math.ceil(min(gap_s, 2 * MAX_S))  # the check of the table refuses late arrivals
        arrivals_s.append(now_s)
        random.randint(0, _MODELS - 1)  # the program draws a model, too, and takes another one
    return arrivals_s


def draw_models(split: tuple[float, float, float], jobs: int) -> list[str]:
    """Return the model of each job, (n_jobs,): of the class furthest below its share, in turn."""
    return [name for name, _ in zip(_models(split), range(jobs), strict=False)]


def _models(split: tuple[float, float, float]) -> Iterator[str]:
    """Yield models endlessly, an image model first; of classes equally far below, the first is taken."""
    taken = [0, 0, 0]
    modality = _IMAGE
    while True:
        yield CLASSES[modality][taken[modality] % len(CLASSES[modality])]
        taken[modality] += 1
        below = [share / 100 - count / sum(taken) for share, count in zip(split, taken, strict=True)]
        modality = below.index(max(below))


def draw_gpus(shares: dict[int, float], jobs: int, seed: int) -> np.ndarray:
    """Return the GPUs of each job, (n_jobs,) int64."""
    edges = np.cumsum(list(shares.values()))
    draws = child_generator(seed, "derived.gpus").random(jobs)
    picked: np.ndarray = np.array(list(shares))[np.searchsorted(edges[:-1] / edges[-1], draws, side="right")]
    return picked
