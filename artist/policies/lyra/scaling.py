"""Scaling: the workers of elastic jobs beyond their base demand. For Lyra and the schemes beside it.

A policy takes the name of a shipped rule, or a rule of the user's own. Workers are counted in steps of the
demand: on GPUs of half the replacement ratio, one worker of a fungible job takes twice the GPUs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np
from pydantic import PlainValidator

from artist.core.arrays import Floats, Ints
from artist.core.checked import AnswerError
from artist.policies.lyra.knapsack import multiple_choice
from artist.policies.parts.parameters import check_part, checked_part


class Growing(NamedTuple):
    """An elastic job that holds its base demand, on GPUs of one type.

    Attributes
    ----------
    job
        Its number.
    held
        Workers, not GPUs, that it holds now beyond its base demand.
    base_ns
        Believed time of its remaining work at base demand, in ns.
    gpus
        GPUs that 1, 2, ... workers beyond its base demand take together, up to its maximum, shape (most,).
    reduction_ns
        Time by which these shorten `base_ns`, in ns, shape (most,).
    """

    job: int
    held: int
    base_ns: float
    gpus: Ints
    reduction_ns: Floats


class Scaling(Protocol):
    """A rule for the workers of jobs beyond base demand."""

    def extra(self, capacity: int, jobs: Sequence[Growing], *, pending: bool) -> list[int]:
        """Return the workers, not GPUs, of each job beyond its base demand, including those that it holds.

        A number for each of `jobs`, in their order; job j with k of them takes `j.gpus[k - 1]` GPUs.

        Parameters
        ----------
        capacity
            GPUs that they may take together, of one type, on machines for training and on loan: idle ones,
            and those that jobs hold beyond base demand.
        jobs
            On GPUs of this type, in order of arrival.
        pending
            Whether a job waits for its base demand.
        """


@dataclass(frozen=True, slots=True)
class ShippedScaling:
    """A shipped rule, as a function of capacity, jobs and whether a job waits.

    Attributes
    ----------
    heeds_pending
        Whether it matters to the rule that a job waits.
    """

    rule: Callable[[int, Sequence[Growing], bool], list[int]]
    heeds_pending: bool = False

    def extra(self, capacity: int, jobs: Sequence[Growing], *, pending: bool) -> list[int]:
        """Return the workers of each job beyond its base demand."""
        return self.rule(capacity, jobs, pending)


def _knapsack(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Shorten the remaining time of all jobs together as much as possible; ties as in `multiple_choice`.

    Source: Lyra, section 5.2, phase two.
    """
    return [item + 1 for item in multiple_choice(capacity, [(j.gpus, j.reduction_ns) for j in jobs])]


def _marginal_gain(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Give one worker at a time to the job that gains most throughput per GPU; ties to the earlier job.

    Throughput is relative to that of the job at base demand because iterations of several models have no
    common unit. A job whose next worker does not fit, or would slow it down, gets no more.

    Source: Hwang et al., AFS, NSDI 2021, as described in Lyra, section 7.1: base demands are given first.
    """
    extra = [0] * len(jobs)
    gains = [_gains_per_gpu(job) for job in jobs]
    heap = [(-of_job[0], place) for place, of_job in enumerate(gains) if of_job]
    heapify(heap)
    while heap:
        gain, place = heappop(heap)
        gpus, count = jobs[place].gpus, extra[place]
        more = int(gpus[count] - gpus[count - 1]) if count else int(gpus[0])
        if more > capacity or gain >= 0:
            continue
        capacity -= more
        extra[place] = count + 1
        if count + 1 < len(gpus):
            heappush(heap, (-gains[place][count + 1], place))
    return extra


def _gains_per_gpu(job: Growing) -> list[float]:
    """Return the throughput that each worker adds, over that at base demand, for each of its GPUs."""
    if not job.base_ns:
        return [0.0] * len(job.gpus)
    throughput = job.base_ns / (job.base_ns - job.reduction_ns)
    more_gpus = np.maximum(np.diff(job.gpus, prepend=0), 1)
    gains: list[float] = (np.diff(throughput, prepend=1.0) / more_gpus).tolist()
    return gains


def _idle(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Give jobs all they may have, in order of arrival; nothing while a job waits.

    Source: Gandiva, as described in Lyra, section 7.1.
    """
    extra = []
    for job in jobs:
        count = 0 if pending else int(np.searchsorted(job.gpus, capacity, side="right"))
        extra.append(count)
        capacity -= int(job.gpus[count - 1]) if count else 0
    return extra


SCALINGS: Mapping[str, Scaling] = {
    "knapsack": ShippedScaling(_knapsack),  # Lyra
    "marginal_gain": ShippedScaling(_marginal_gain),  # AFS
    "idle": ShippedScaling(_idle, heeds_pending=True),  # Gandiva
    "none": ShippedScaling(lambda capacity, jobs, pending: [0] * len(jobs)),  # all stay at base demand
}
AnyScaling = Annotated[str | Scaling, PlainValidator(lambda value: check_part(value, SCALINGS, "extra"))]


def _checked_extra(answer: Any, capacity: int, jobs: Sequence[Growing], *, pending: bool) -> list[int]:
    """Return a rule's answer as workers by job, at most those that the job may have and the GPUs there."""
    extra = list(answer)
    if len(extra) != len(jobs):
        raise AnswerError(f"{len(extra)} numbers for {len(jobs)} jobs")
    for job, count in zip(jobs, extra, strict=True):
        if not (isinstance(count, int | np.integer) and 0 <= count <= len(job.gpus)):
            raise AnswerError(f"{count!r} workers for job {job.job}, 0 to {len(job.gpus)} are allowed")
    gpus = sum(int(job.gpus[count - 1]) for job, count in zip(jobs, extra, strict=True) if count)
    if gpus > capacity:
        raise AnswerError(f"workers of {gpus} GPUs, {capacity} are there")
    return [int(count) for count in extra]


def scaling_of(scaling: str | Scaling) -> Scaling:
    """Return a shipped rule by name; one of the user's own with its answers checked."""
    return (
        SCALINGS[scaling]
        if isinstance(scaling, str)
        else checked_part(scaling, "scaling", extra=_checked_extra)
    )
