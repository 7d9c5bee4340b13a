"""Orders of jobs. Shared by policies.

An order computes a key per job; the smallest key is first, and jobs with equal keys are in order of arrival.
Keys depend on the durations that the policy believes (`estimates`). A policy takes the name of a shipped
order, or an order of the user's own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from pydantic import PlainValidator

from artist.core.arrays import Floats, Ints
from artist.core.checked import AnswerError
from artist.core.view import JobColumns, Policy
from artist.policies.parts.alone import in_turns
from artist.policies.parts.parameters import check_part, checked_part

Keys = Ints | Floats


class Order(Protocol):
    """Ranks jobs. Attributes such as `knows_durations` declare its knowledge, like those of a policy.

    If keys change while jobs wait, it declares `ages = True`.
    """

    def key(self, jobs: JobColumns) -> Keys:
        """Return keys of shape (n,) for n jobs, the smallest for the first."""


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """A shipped order.

    Attributes
    ----------
    key
        Keys of shape (n,) for n jobs.
    knows_durations, knows_iterations, knows_performance
        Whether the key needs them.
    ages
        Whether the key of a job changes while it waits.
    """

    key: Callable[[JobColumns], Keys]
    knows_durations: bool = False
    knows_iterations: bool = False
    knows_performance: bool = False
    ages: bool = False


_ROUNDING_NS = 2


def sensitivity(jobs: JobColumns) -> Floats:
    """Return iterations done x compute time / time held, shape (n,): 1 without overhead, 0 before a start.

    Up to 2 ns per iteration are not overhead but the rounding of an iteration's parts, and of the policy's
    knowledge of them; so jobs that the network does not slow down tie.
    """
    done = jobs.iterations_done * jobs.compute_ns.astype(np.float64)
    kept = np.divide(done, jobs.held_ns, out=np.zeros(len(done)), where=jobs.held_ns > 0)
    rounded = np.abs(jobs.held_ns - done) <= _ROUNDING_NS * jobs.iterations_done
    return np.where(rounded & (jobs.iterations_done > 0), 1.0, kept)


def sensitivity_as_printed(jobs: JobColumns) -> Floats:
    """Return `sensitivity` x GPUs asked, shape (n,): time computed as on a single GPU / time held.

    Source: Chaudhary et al., Dally, section 4.3.1, where n GPUs complete n iterations of a single one.
    """
    return sensitivity(jobs) * np.maximum(jobs.gpus, 1)


def _remaining_service(jobs: JobColumns) -> Keys:
    return jobs.remaining_ns.astype(np.float64) * np.maximum(jobs.gpus, 1)


def finish_time_fairness(jobs: JobColumns) -> Floats:
    """Return each job's time from arrival to finish over that on its share of the GPUs, shape (n,).

    rho = (time since arrival + rest of the work) / (whole work x max(1, GPUs asked x N / GPUs there)), both
    times as believed for the proportional share, with N the number of unfinished jobs, averaged over the
    job's stay as in `artist.policies.themis.policy`. Source: Mahajan et al., Themis, NSDI 2020, section 3.
    Differs from Synergy's program (github.com/msr-fiddle/synergy, MIT), which leaves out N and runs the job
    with the smallest rho first; the paper's rule is the most unfairly treated first.
    """
    stay_ns = (jobs.now_ns - jobs.submit_ns) + jobs.remaining_ns.astype(np.float64)
    return stay_ns / (jobs.ideal_ns * in_turns(jobs))


def _shares(jobs: JobColumns) -> Floats:
    """Return the GPUs, CPUs and memory of each job's best case over those there, shape (n, 3)."""
    return np.stack([jobs.gpus, jobs.best_cpus, jobs.best_memory_bytes], axis=1) / jobs.capacity


def dominant_share(jobs: JobColumns) -> Floats:
    """Return the largest of each job's shares of the GPUs, CPUs and memory there, shape (n,).

    Demands are the job's own best case, as in Synergy, section 5.7: demands of jobs, not holdings of users.
    Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011.
    """
    dominant: Floats = _shares(jobs).max(axis=1)
    return dominant


def remaining_volume(jobs: JobColumns) -> Floats:
    """Return the sum of each job's shares of GPUs, CPUs and memory x its remaining time, shape (n,).

    Demands are the job's best case; the time is that at its proportional share. Source: Grandl et al.,
    Tetris, SIGCOMM 2014 (multi-resource SRTF). Its alignment score, the match of a demand with free resources
    of a machine, is left out, as in Synergy's program, where the time is that in the best case under tune.
    """
    volume: Floats = _shares(jobs).sum(axis=1) * jobs.remaining_ns
    return volume


FIFO = KeyOrder(lambda jobs: jobs.job)
ORDERS: Mapping[str, Order] = {
    "fifo": FIFO,  # first come, first served
    "sjf": KeyOrder(lambda jobs: jobs.ideal_ns, knows_durations=True),  # shortest job
    "srtf": KeyOrder(lambda jobs: jobs.remaining_ns, knows_durations=True),  # shortest remaining time
    "srsf": KeyOrder(_remaining_service, knows_durations=True),  # shortest remaining service: time x GPUs
    "las": KeyOrder(lambda jobs: jobs.held_ns),  # least attained time
    "las2d": KeyOrder(lambda jobs: jobs.attained_gpu_ns),  # least attained time x GPUs
    "ftf": KeyOrder(lambda jobs: -finish_time_fairness(jobs), knows_durations=True, ages=True),  # worst off
    "drf": KeyOrder(dominant_share, knows_performance=True),  # least dominant share of the best case
    "tetris": KeyOrder(remaining_volume, knows_durations=True, knows_performance=True),  # least work left
    "sensitivity": KeyOrder(sensitivity, knows_iterations=True),  # slowed down most by the network (Dally)
    "sensitivity_as_printed": KeyOrder(sensitivity_as_printed, knows_iterations=True),  # x GPUs
}
AnyOrder = Annotated[str | Order, PlainValidator(lambda value: check_part(value, ORDERS, "key"))]


def _checked_keys(answer: object, jobs: JobColumns) -> Keys:
    """Return an order's answer as keys of shape (n,) for n jobs."""
    for_jobs = f"for {len(jobs)} jobs"
    try:
        keys: Keys = np.asarray(answer)
    except ValueError:  # rows of several lengths
        raise AnswerError(f"{answer!r} {for_jobs}") from None
    if keys.shape != (len(jobs),):
        raise AnswerError(f"shape {keys.shape} {for_jobs}")
    if keys.dtype.kind not in "biuf":
        raise AnswerError(f"{keys.dtype} instead of numbers {for_jobs}")
    if np.isnan(keys).any():
        raise AnswerError(f"NaN {for_jobs}")
    return keys


def order_of(policy: object, order: str | Order) -> Order:
    """Return a shipped order by name, one of the user's own checked; the policy declares its knowledge."""
    part = ORDERS[order] if isinstance(order, str) else checked_part(order, "order", key=_checked_keys)
    adopt_knowledge(policy, part)
    return part


def adopt_knowledge(policy: object, part: object) -> None:
    """Declare for a policy the knowledge that its order, or another part, declares."""
    for name in Policy.__annotations__:
        if name.startswith("knows_") and getattr(part, name, False):
            setattr(policy, name, True)


def ranking(keys: Keys) -> Ints:
    """Return the indices of n jobs from first to last, shape (n,); equal keys keep their order."""
    return np.asarray(keys).argsort(kind="stable")
