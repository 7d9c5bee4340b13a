"""Models of jobs for which the trace names none.

The draw of a job is a hash of (seed, job id): it depends on no other job, so a filter, another number of jobs
or another order does not change the model of a job. Hashing takes about a second for a million jobs.
"""

from hashlib import blake2b
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from artist.bad_input.records import Strict
from artist.tables.rows import Table

TABLE_1_MODELS = ("AlexNet", "VGG11", "MobileNetV3", "ResNet18", "ResNet50", "BERT-large")
"""Models of Table 1 of the Dally paper."""


_MAX_NAMED = 6
Weight = Annotated[float, Field(gt=0, le=1e12)]  # a sum of them must not overflow


class GpuRange(Strict):
    """Weights of the models of all jobs with at most `max_gpus` GPUs; None for any number."""

    max_gpus: PositiveInt | None = None
    weights: dict[str, Weight] = Field(min_length=1)


class ModelRule(Strict):
    """Rule for drawing models; each rule uses the one field named for it.

    Attributes
    ----------
    rule
        uniform: each of `names` with equal chance (the default, over the six models of Table 1).
        weighted: by `weights`. by_gpus: by the weights of the first range that holds the job's GPUs.
        fixed: always `name`.
    """

    rule: Literal["uniform", "weighted", "by_gpus", "fixed"] = "uniform"
    names: tuple[str, ...] | None = TABLE_1_MODELS
    weights: dict[str, Weight] | None = None
    by_gpus: tuple[GpuRange, ...] | None = None
    name: str | None = None

    @model_validator(mode="after")
    def _has_its_field(self) -> Self:
        field = {"uniform": "names", "weighted": "weights", "by_gpus": "by_gpus", "fixed": "name"}[self.rule]
        if not getattr(self, field):
            raise ValueError(
                f"models.rule={self.rule} needs models.{field}; workload.models.{field}=..., or another rule"
            )
        bounds = [r.max_gpus or np.inf for r in self.by_gpus or ()]
        if bounds != sorted(set(bounds)):
            raise ValueError("models.by_gpus: max_gpus must rise from range to range")
        if bounds and bounds[-1] != np.inf:
            raise ValueError("models.by_gpus: the last range needs max_gpus: null, for any number of GPUs")
        return self

    def ranges(self) -> tuple[GpuRange, ...]:
        """Return the rule as weights by GPU range."""
        if self.rule == "by_gpus":
            return self.by_gpus or ()
        if self.rule == "weighted":
            return (GpuRange(weights=self.weights or {}),)
        names = (self.names or ()) if self.rule == "uniform" else (self.name or "",)
        return (GpuRange(weights=dict.fromkeys(names, 1.0)),)

    def describe(self) -> str:
        """Return the rule in a clause, for a report; empty where it takes more than one."""
        if self.rule == "uniform" and self.names:
            names = ", ".join(self.names) if len(self.names) <= _MAX_NAMED else f"{len(self.names)} models"
            return f"a job that names no model trains one of {names}, all equally likely"
        return f"a job that names no model trains {self.name}" if self.rule == "fixed" else ""


def assign_models(table: Table, rule: ModelRule, seed: int) -> Table:
    """Return the table with a model for every job that uses GPUs, that of the trace where it names one.

    Parameters
    ----------
    table
        Canonical table.
    rule
        Rule for the draw.
    seed
        Seed of the run.
    """
    unnamed = (table["model"] == "") & (table["gpus"] > 0)
    if not unnamed.any():
        return table
    models, gpus = table["model"].copy(), table["gpus"]
    done = ~unnamed
    for part in rule.ranges():
        chosen = ~done & (gpus <= (part.max_gpus or np.inf))
        edges = np.cumsum(list(part.weights.values()))
        draws = job_draws(table["job_id"][chosen], seed, "models")
        picked = np.searchsorted(edges[:-1] / edges[-1], draws, side="right")
        models[chosen] = np.array(list(part.weights), dtype=object)[picked]
        done |= chosen
    return table.assign(model=models)


def job_draws(job_ids: np.ndarray, seed: int, name: str) -> np.ndarray:
    """Return a number in [0, 1) for each job, (n_jobs,), that depends on seed, name and job id only."""
    start = blake2b(f"{seed}:{name}:".encode(), digest_size=8)
    digests = bytearray()
    for job_id in job_ids:
        state = start.copy()
        state.update(job_id.encode())
        digests += state.digest()
    whole = np.frombuffer(bytes(digests), dtype="<u8")
    return (whole >> np.uint64(11)).astype(float) * 2.0**-53
