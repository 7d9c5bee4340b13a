"""A job alone: on GPUs close together, or with its share of their time. Shared by policies."""

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.events import Arrival, Finish
from artist.core.view import ClusterView, JobColumns


def in_turns(jobs: JobColumns) -> Floats:
    """Return each job's time on its share of the GPUs over that alone, shape (n,): at least 1.

    A job whose demand exceeds the share 1/N, with N the average number of jobs that it met, would run in
    turns.
    """
    return np.maximum(1.0, jobs.gpus * jobs.mean_unfinished / jobs.capacity.gpus)


class Alone:
    """Believed iteration times, asked for once per job."""

    def __init__(self) -> None:
        self._iteration_ns: dict[int, int] = {}

    def follow(self, view: ClusterView) -> None:
        """Track arrivals and finishes."""
        for event in view.news:
            if isinstance(event, Arrival):
                self._enter(view, event.job)
            elif isinstance(event, Finish):
                del self._iteration_ns[event.job]

    def _enter(self, view: ClusterView, job: int) -> None:
        """Record the time of a job on the GPUs it asks for, as far as they exist; of a CPU job, its own."""
        cpu_only = not view.demand(job).gpus
        times = view.columns([job]).compute_ns if cpu_only else view.performance.as_asked([job])
        self._iteration_ns[job] = int(times[0])

    def iteration_ns(self, jobs: JobColumns) -> Ints:
        """Return the iteration time of each job, shape (n,)."""
        return np.array([self._iteration_ns[job] for job in jobs.job.tolist()], dtype=np.int64)
