"""GPUs of elastic jobs over time, against the least and the most that they take."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from artist.results.jobcolumns import Codes
from artist.results.machines import replacement_ratios
from artist.results.occupancy import Stays, read_stays
from artist.results.run import Run
from artist.results.steps import Floats

LEVELS = ("at the least", "in between", "at the most")
_COLUMNS = ("min_gpus", "max_gpus")
_TOLERANCE = 1e-9  # ratios such as 1/3 are not exact in binary


@dataclass(frozen=True, slots=True)
class Elastic:
    """The elastic jobs of a run, in order of arrival, and stretches of time in which one held the same GPUs.

    GPUs are counted as the cluster's own: two that replace one of them count as one.

    Attributes
    ----------
    jobs
        Names.
    least, most, submit_s, finish_s : ndarray, shape (n_jobs,)
        `finish_s` is NaN where the job has not finished.
    job, level : ndarray, shape (n,)
        Of each stretch, in order of job and start: indices into `jobs` and LEVELS.
    gpus, start_s, end_s : ndarray, shape (n,)
    """

    jobs: tuple[str, ...]
    least: Floats
    most: Floats
    submit_s: Floats
    finish_s: Floats
    job: Codes
    level: Codes
    gpus: Floats
    start_s: Floats
    end_s: Floats

    def shares(self) -> Floats:
        """Return the part of the time in which jobs ran that they spent at each of LEVELS."""
        spent_s = np.bincount(self.level, self.end_s - self.start_s, len(LEVELS))
        shares: Floats = spent_s / (spent_s.sum() or 1.0)
        return shares

    def running(self) -> tuple[Floats, Floats]:
        """Return a step function: times, and how many jobs ran at each of LEVELS, shape (len(LEVELS), n)."""
        times, at = np.unique(np.concatenate([self.start_s, self.end_s]), return_inverse=True)
        changes = np.zeros((len(LEVELS), len(times)))
        np.add.at(changes, (np.tile(self.level, 2), at), np.repeat([1.0, -1.0], len(self.level)))
        return times, changes.cumsum(axis=1)

    def held(self, number: int) -> tuple[Floats, Floats]:
        """Return a step function of one job: times, and the GPUs that it holds from then on."""
        mine = self.job == number
        start_s, end_s, gpus = self.start_s[mine], self.end_s[mine], self.gpus[mine]
        times = np.unique(np.concatenate([start_s, end_s]))
        values = np.zeros(len(times))
        values[np.searchsorted(times, start_s)] = gpus
        return times, values


def have_elastic(runs: Sequence[Run]) -> bool:
    """Return whether all runs state between which numbers of GPUs their jobs may change."""
    return all(set(_COLUMNS) <= set(run.columns("jobs")) for run in runs)


def read_elastic(run: Run) -> Elastic:
    """Read the GPUs of elastic jobs, if the run names these.

    Raises
    ------
    InputError
        If the jobs or the events are damaged.
    """
    least, most, submit_s, finish_s = run.numbers("jobs", [*_COLUMNS, "submit_s", "finish_s"])
    elastic = np.flatnonzero(most > least)
    (ids,) = run.words("jobs", ["job_id"])
    names = np.array(ids.names, dtype=object)[ids.codes[elastic]]
    stays = read_stays(run)
    number = {name: i for i, name in enumerate(names)}
    of_stay = np.array([number.get(name, -1) for name in stays.jobs], dtype=np.int64)[stays.job]
    ratio = replacement_ratios(run.config, stays.machines)[stays.machine]
    job, gpus, start_s, end_s, step = _stretches(stays, of_stay, ratio)
    least, most = least[elastic], most[elastic]
    level = np.where(gpus >= most[job] - _TOLERANCE, 2, np.where(gpus - least[job] < step - _TOLERANCE, 0, 1))
    return Elastic(
        jobs=tuple(names),
        least=least,
        most=most,
        submit_s=submit_s[elastic],
        finish_s=finish_s[elastic],
        job=job,
        level=level.astype(np.int64),
        gpus=gpus,
        start_s=start_s,
        end_s=end_s,
    )


def _stretches(stays: Stays, job: Codes, ratio: Floats) -> tuple[Codes, Floats, Floats, Floats, Floats]:
    """Return job, GPUs, start, end and least ratio of a GPU; one entry for all that a job holds at once."""
    kept = np.flatnonzero(job >= 0)
    kept = kept[np.lexsort((stays.start_s[kept], job[kept]))]
    job, start_s = job[kept], stays.start_s[kept]
    new = np.ones(len(kept), dtype=bool)
    new[1:] = (job[1:] != job[:-1]) | (start_s[1:] != start_s[:-1])
    first = np.flatnonzero(new)
    if not len(first):
        return job, start_s, start_s, start_s, start_s
    gpus = np.add.reduceat(stays.gpus[kept] * ratio[kept], first)
    least = np.minimum.reduceat(ratio[kept], first)
    return job[first], gpus, start_s[first], stays.end_s[kept][first], least
