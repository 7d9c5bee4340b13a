"""Numbers of single jobs: what each got relative to its best case, and its speed-up over another policy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from artist.recording.names import INPUT_COLUMNS
from artist.results.compare import Replicates
from artist.results.jobcolumns import measured_jobs
from artist.results.run import Run
from artist.results.steps import Floats


class AgainstBest(NamedTuple):
    """What jobs got, relative to their best case, replicates pooled.

    One entry per measured job with GPUs that ran; a CPU-only job has no better case than its request.

    Attributes
    ----------
    throughput
        Compute / (compute + input stall).
    cpus, memory
        Held, the mean over the time in which it held GPUs.
    """

    throughput: Floats
    cpus: Floats
    memory: Floats


def have_best(group: Replicates) -> bool:
    """Return whether the runs of a row record what jobs got of their best case: jobs need CPUs and memory."""
    return all("relative_throughput" in run.summary for run in group.runs)


def against_best(group: Replicates) -> AgainstBest:
    """Read what the jobs of a row got, if its runs record it.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    pairs = [_against_best(run) for run in group.runs]
    return AgainstBest(*(np.concatenate(column) for column in zip(*pairs, strict=True)))


def speedups(group: Replicates, baseline: Replicates) -> Floats:
    """Return JCT under the baseline / JCT of each job that both measured and finished, seed by seed, pooled.

    Empty if no seed ran the same jobs under both.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    theirs = {run.summary["seed"]: run for run in baseline.runs}
    seeds = [(run, theirs[run.summary["seed"]]) for run in group.runs if run.summary["seed"] in theirs]
    return np.concatenate([np.empty(0), *(_speedups(run, other) for run, other in seeds)])


class Typical(NamedTuple):
    """A job under two policies.

    Attributes
    ----------
    own_s, other_s
        Time in the queue, and the rest of the completion time: under the row's policy and the other one.
    """

    model: str
    gpus: int
    own_s: tuple[float, float]
    other_s: tuple[float, float]


def typical_jobs(group: Replicates, baseline: Replicates, most: int) -> list[Typical]:
    """Return the job of each model with the median completion time under the baseline, common models first.

    Of jobs with GPUs that finished under both with the lowest seed that both have; empty if no seed ran the
    same jobs under both.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    theirs = {run.summary["seed"]: run for run in baseline.runs}
    pairs = [(run, theirs[run.summary["seed"]]) for run in group.runs if run.summary["seed"] in theirs]
    return _typical_jobs(*pairs[0], most) if pairs else []


def _typical_jobs(run: Run, other: Run, most: int) -> list[Typical]:
    names = ["submit_s", "gpus", "jct_s", "queueing_s"]
    mine, theirs = (each.numbers("jobs", names) for each in (run, other))
    if not _same(mine[:2], theirs[:2]):
        return []
    gpus, jct_s = mine[1], theirs[2]
    kept = np.flatnonzero(measured_jobs(run, len(gpus)) & (gpus > 0) & np.isfinite(mine[2] + jct_s))
    kept = kept[np.argsort(jct_s[kept], kind="stable")]
    (words,) = run.words("jobs", ["model"])
    models = np.array(words.names, dtype=object)[words.codes[kept]]
    of_model = {model: kept[models == model] for model in sorted(set(models))}
    common = sorted(of_model.values(), key=lambda jobs: -len(jobs))[:most]
    middles = [int(jobs[len(jobs) // 2]) for jobs in common]
    return [
        Typical(str(models[kept == job][0]), int(gpus[job]), *(_parts(each, job) for each in (mine, theirs)))
        for job in middles
    ]


def _parts(columns: Sequence[Floats], job: int) -> tuple[float, float]:
    _, _, jct_s, queueing_s = (float(column[job]) for column in columns)
    return queueing_s, jct_s - queueing_s


def _against_best(run: Run) -> AgainstBest:
    names = ["gpus", "compute_s", "input_stall_s", *INPUT_COLUMNS]
    gpus, compute, stall, *held = run.numbers("jobs", names)
    ran = measured_jobs(run, len(gpus)) & (compute > 0) & (gpus > 0)
    cpus, best_cpus, memory, best_memory = (column[ran] for column in held)
    return AgainstBest(compute[ran] / (compute + stall)[ran], cpus / best_cpus, memory / best_memory)


def _speedups(run: Run, other: Run) -> Floats:
    mine, theirs = (each.numbers("jobs", ["submit_s", "gpus", "jct_s"]) for each in (run, other))
    if not _same(mine[:2], theirs[:2]):
        return np.empty(0)
    ratios: Floats = (theirs[2] / mine[2])[measured_jobs(run, len(mine[2]))]
    return ratios[np.isfinite(ratios)]


def _same(one: Sequence[Floats], other: Sequence[Floats]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
