"""Evidence for claims: the settings and the numbers of a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from artist.errors import InputError
from artist.report.claims.schema import (
    BEST_JOB,
    ITERATIONS,
    JOB_BY_JOB,
    OVERHEAD,
    QUEUE_LENGTH,
    RACK_TIMER,
    STEPS,
    WORST_HOUR,
    Where,
    Who,
)
from artist.results.compare import flatten
from artist.results.drift import mean_queue_length
from artist.results.jobcolumns import TIERS, Jobs, read_jobs
from artist.results.measures import BY_NAME
from artist.results.run import Run

MIN_OF_HOUR = 10
_MAX_DIFFER = 3  # settings that a message names
Value = float | tuple[float, ...]  # a number, or one per job


@dataclass(frozen=True)
class Evidence:
    """A run, with the settings and numbers that claims need."""

    run: Run

    @cached_property
    def facts(self) -> dict[str, str]:
        """Flat config as texts, with `arrivals` and the policy's name."""
        submits = self.run.numbers("jobs", ["submit_s"])[0]
        arrivals = "batch" if len(submits) and submits.min() == submits.max() else "spread"
        return {**flat(self.run.config), "policy": str(self.run.summary["policy"]), "arrivals": arrivals}

    @property
    def seed(self) -> int:
        """Return the seed."""
        return int(self.run.summary["seed"])

    @property
    def queueing_s(self) -> float:
        """Return the mean queueing; 0 where no job finished."""
        return float(self.run.summary["queueing_s"]["mean"] or 0.0)

    @property
    def jct_s(self) -> float:
        """Return the mean JCT; 0 where no job finished."""
        return float(self.run.summary["jct_s"]["mean"] or 0.0)

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Return the summary without the seed and the facts that may differ between equal runs."""
        return {key: value for key, value in self.run.summary.items() if key not in ("seed", "run")}

    @property
    def drawn(self) -> bool:
        """Return whether chance is in the run that runs of other seeds need not show.

        So it is where jobs are drawn or machines fail, and where a part has a seed other than the run's.
        """
        facts = self.facts
        from_file = facts.get("workload.path", "None") != "None"
        fails = any(key.startswith("cluster.failures") and value != "None" for key, value in facts.items())
        seeds = {value for key, value in facts.items() if key.endswith(".seed")} - {str(self.seed)}
        return not from_file or fails or bool(seeds)

    def value(self, metric: str, model: str | None = None, tier: str | None = None) -> Value | None:
        """Return a metric of claims, of some of the jobs if it has them; None where the run has none."""
        if metric == OVERHEAD:
            return self._overheads.get((model or "", tier or ""))
        if metric == RACK_TIMER:
            return self._rack_timer_h
        if metric == STEPS:
            return self._steps(model or "")
        if metric == ITERATIONS:
            return self._search_iterations(model or "")
        if metric == WORST_HOUR:
            return self._queued_worst_hour()
        if metric == QUEUE_LENGTH:
            return mean_queue_length(self.run)
        if metric in (JOB_BY_JOB, BEST_JOB):
            jct_s = self._jobs.jct_s[self._jobs.measured & (self._jobs.gpus > 0)]
            return tuple(math.inf if math.isnan(jct) else float(jct) for jct in jct_s)
        if metric in BY_NAME:
            return BY_NAME[metric].of(self.run.summary)
        return self._throughput(model)

    @cached_property
    def _jobs(self) -> Jobs:
        return read_jobs(self.run)

    @cached_property
    def _overheads(self) -> dict[tuple[str, str], float]:
        """Mean over jobs of exposed communication over compute, by model and the tier they were mostly on."""
        jobs = self._jobs
        tiers = jobs.tiers_s.argmax(axis=1)
        times: dict[tuple[str, str], list[float]] = {}
        for code, tier, gpus, value in zip(jobs.model.codes, tiers, jobs.gpus, jobs.overhead, strict=True):
            if gpus >= 2 and not math.isnan(value):
                times.setdefault((jobs.model.names[code], TIERS[tier]), []).append(float(value))
        return {key: fmean(values) for key, values in times.items()}

    def _throughput(self, model: str | None) -> float | None:
        """Return the throughput of jobs relative to each alone: of a model the mean, of all the sum."""
        ideal_s, running_s = self.run.numbers("jobs", ["ideal_s", "running_s"])
        shares = [
            (self._jobs.model.names[code], float(ideal / running))
            for code, ideal, running in zip(self._jobs.model.codes, ideal_s, running_s, strict=True)
            if running > 0
        ]
        if model is None:
            return math.fsum(share for _, share in shares) if shares else None
        of_model = [share for name, share in shares if name == model]
        return fmean(of_model) if of_model else None

    def _steps(self, model: str) -> float | None:
        """Return the mean number of steps that CODA's allocator took for jobs of a model."""
        table = self.run.series
        values = [] if table is None else list(table["value"][table["name"] == f"steps of {model}"])
        return fmean(values) if values else None

    def _search_iterations(self, model: str) -> float | None:
        """Return the mean number of iterations that jobs of a model run while the allocator searches."""
        steps = self._steps(model)
        running_s, iterations = self.run.numbers("jobs", ["running_s", "iterations"])
        of_model = np.array(self._jobs.model.names)[self._jobs.model.codes] == model
        if steps is None or not iterations[of_model].all():
            return None
        per_s = float((iterations[of_model] / running_s[of_model]).mean())
        return steps * float(self.facts["policy.step_s"]) * per_s

    def _queued_worst_hour(self) -> float:
        """Return the largest share of the jobs of an hour that wait, of hours of at least ten jobs."""
        submit_s, queueing_s = self.run.numbers("jobs", ["submit_s", "queueing_s"])
        hours = (submit_s // 3600).astype(np.int64)
        jobs, queued = np.bincount(hours), np.bincount(hours, queueing_s > 0)
        full = jobs >= MIN_OF_HOUR
        return float((queued[full] / jobs[full]).max(initial=0.0))

    @cached_property
    def _rack_timer_h(self) -> float | None:
        """Return the mean of Dally's rack timers over the run, each demand counting once."""
        table = self.run.series
        if table is None:
            return None
        end_s = float(self.run.numbers("jobs", ["submit_s"])[0].min()) + float(self.run.summary["makespan_s"])
        timers = table[table["name"].str.startswith("rack timer")]
        means = [
            _mean_over_time(list(rows["time_s"]), list(rows["value"]), end_s)
            for _, rows in timers.groupby("name", sort=True)
        ]
        return fmean(means) if means else None


def several(run: Evidence, other: Evidence, place: str, where: str) -> InputError:
    """Return the error that two runs with different numbers fit one place, with the settings that differ."""
    mine, theirs = run.facts, other.facts
    differing = [key for key in mine | theirs if mine.get(key) != theirs.get(key)]
    keys = [key for key in differing if not key.startswith("output.")]  # names and formats of files
    differ = [f"{key} ({theirs.get(key, 'none')}, {mine.get(key, 'none')})" for key in keys[:_MAX_DIFFER]]
    more = f" and {len(keys) - _MAX_DIFFER} more" * (len(keys) > _MAX_DIFFER)
    return InputError(
        f"several runs of {mine['policy']} with seed {run.seed} fit {place}",
        where=where,
        found=f"{other.run.folder}, {run.run.folder}",
        allowed=f"one of them; they differ in {', '.join(differ) or 'their code'}{more}",
    )


def fits(where: Where, facts: Mapping[str, str]) -> bool:
    """Return whether a run is one of those that a claim is about."""
    allowed = {key: value if isinstance(value, tuple) else (value,) for key, value in where.items()}
    return all(any(same(wanted, facts.get(key, "")) for wanted in values) for key, values in allowed.items())


def is_of(policy: Who | None, facts: Mapping[str, str]) -> bool:
    """Return whether a run is of a policy, as it is set; of none in particular any run is."""
    return policy is None or (policy.name == facts["policy"] and fits(policy.where, facts))


def same(wanted: object, text: str) -> bool:
    """Return whether a value of a claim is that of a config: 1 is 1.0."""
    try:
        return float(str(wanted)) == float(text)
    except ValueError:
        return str(wanted) == text


def flat(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a config as texts, of files their names."""
    ends = {key: (value, key.rsplit(".", 1)[-1]) for key, value in flatten(config)}
    return {key: Path(str(value)).name if end == "path" else str(value) for key, (value, end) in ends.items()}


def _mean_over_time(times_s: Sequence[float], values: Sequence[float], end_s: float) -> float:
    """Return the mean of a step function from its first step to the end."""
    spans = [max(later - at, 0.0) for at, later in zip(times_s, [*times_s[1:], end_s], strict=True)]
    whole = math.fsum(spans)
    if not whole:
        return values[-1]
    return math.fsum(span * value for span, value in zip(spans, values, strict=True)) / whole
