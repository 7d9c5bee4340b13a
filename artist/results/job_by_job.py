"""Numbers of single jobs: share of the best case, and speed-up over another policy."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from artist.recording.names import INPUT_COLUMNS
from artist.results.compare import Replicates
from artist.results.jobcolumns import measured_jobs
from artist.results.run import Run
from artist.results.steps import Floats

_COLUMNS = ("submit_s", "gpus", "jct_s", "queueing_s")
_Columns = dict[str, Floats]


class AgainstBest(NamedTuple):
    """Throughput, CPUs and memory of jobs relative to their best case, replicates pooled.

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
    """Return whether the runs of a row record best cases: jobs need CPUs and memory."""
    return all("relative_throughput" in run.summary for run in group.runs)


def against_best(group: Replicates) -> AgainstBest:
    """Read the shares of the jobs of a row, if its runs record them.

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
    ratios = [np.empty(0)]
    for run, mine, theirs in _pairs(group, baseline):
        if _same(mine, theirs):
            ratios.append((theirs["jct_s"] / mine["jct_s"])[measured_jobs(run, len(mine["jct_s"]))])
    speedups_of_jobs = np.concatenate(ratios)
    return speedups_of_jobs[np.isfinite(speedups_of_jobs)]


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
    run, mine, theirs = next(_pairs(group, baseline), (group.runs[0], {}, {}))
    if not mine or not _same(mine, theirs):
        return []
    gpus, jct_s = mine["gpus"], theirs["jct_s"]
    kept = np.flatnonzero(measured_jobs(run, len(gpus)) & (gpus > 0) & np.isfinite(mine["jct_s"] + jct_s))
    kept = kept[np.argsort(jct_s[kept], kind="stable")]
    (words,) = run.words("jobs", ["model"])
    models = np.array(words.names, dtype=object)[words.codes[kept]]
    of_model = {model: kept[models == model] for model in sorted(set(models))}
    common = sorted(of_model.values(), key=lambda jobs: -len(jobs))[:most]
    middles = [int(jobs[len(jobs) // 2]) for jobs in common]

    def parts(columns: _Columns, job: int) -> tuple[float, float]:
        queueing_s = float(columns["queueing_s"][job])
        return queueing_s, float(columns["jct_s"][job]) - queueing_s

    return [
        Typical(str(models[kept == job][0]), int(gpus[job]), parts(mine, job), parts(theirs, job))
        for job in middles
    ]


def _against_best(run: Run) -> AgainstBest:
    names = ["gpus", "compute_s", "input_stall_s", *INPUT_COLUMNS]
    gpus, compute, stall, *held = run.numbers("jobs", names)
    ran = measured_jobs(run, len(gpus)) & (compute > 0) & (gpus > 0)
    cpus, best_cpus, memory, best_memory = (column[ran] for column in held)
    return AgainstBest(compute[ran] / (compute + stall)[ran], cpus / best_cpus, memory / best_memory)


def _pairs(group: Replicates, baseline: Replicates) -> Iterator[tuple[Run, _Columns, _Columns]]:
    """Yield the runs of seeds that both rows have, with columns of the jobs under both."""
    others = {run.summary["seed"]: run for run in baseline.runs}
    for run in group.runs:
        if other := others.get(run.summary["seed"]):
            mine, theirs = (
                dict(zip(_COLUMNS, of.numbers("jobs", _COLUMNS), strict=True)) for of in (run, other)
            )
            yield run, mine, theirs


def _same(one: _Columns, other: _Columns) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in ("submit_s", "gpus"))
