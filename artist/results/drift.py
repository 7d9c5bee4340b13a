"""Growth of the queue while jobs arrive: with it there is no steady state to measure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from artist.results.jobcolumns import measured_jobs
from artist.results.measures import SEEN, estimated
from artist.results.run import Run
from artist.results.steps import Floats, thin_steps

MIN_MEASURED = 30  # fewer measured jobs have no thirds to compare
MIN_WAITING = 1.0  # fewer waiting jobs in the last third are no queue
GROWTH = 0.5  # least growth, of the mean queue, if its interval over replicates is above 0
GROWTH_ALONE = 1.0  # with fewer than 3 replicates, so no interval; a queue that grows from 0 on has 1.33


@dataclass(frozen=True, slots=True)
class Drift:
    """Waiting jobs in the first and the last third of the time in which measured jobs arrive.

    The number of waiting jobs is averaged over time, and over replicates. It shows growth under any order of
    service: a policy that starves some jobs delays early ones as much as late ones, so queueing times alone
    do not.

    Attributes
    ----------
    grows
        Whether it grows by more than GROWTH of its mean and the 95 % interval of the growth lies above 0; by
        more than GROWTH_ALONE of its mean with fewer than 3 replicates.
    """

    first: float
    last: float
    grows: bool


def drift(runs: Sequence[Run]) -> Drift | None:
    """Return the drift of replicates; None if jobs are few, arrive at once, or queued up on the site too.

    Raises
    ------
    InputError
        If a table of theirs is damaged.
    """
    if SEEN in runs[0].summary and _grew_on_site(runs[0]):
        return None
    every = [_thirds(run) for run in runs]
    thirds = [of_run for of_run in every if of_run is not None]
    if len(thirds) < len(every):
        return None
    first, middle, last = np.mean(thirds, axis=0)
    growth = estimated([float(of_run[2] - of_run[0]) for of_run in thirds])
    least = GROWTH_ALONE if growth.low is None else GROWTH
    enough = last - first > least * (first + middle + last) / 3
    above = growth.low is None or growth.low > 0
    return Drift(float(first), float(last), bool(last >= MIN_WAITING and enough and above))


def drained(run: Run) -> bool:
    """Return whether the last jobs of a window finish after the last arrival, in an emptying cluster."""
    submit, finish = run.numbers("jobs", ["submit_s", "finish_s"])
    measured = measured_jobs(run, len(submit))
    return not measured.all() and bool(np.any(finish[measured] > submit.max()))


def mean_queue_length(run: Run) -> float | None:
    """Return the mean of the queue length over the time in which the measured jobs arrive.

    Over the whole run if they arrive all at once; None if nothing was recorded.
    """
    (submit,) = run.numbers("jobs", ["submit_s"])
    times, queue = run.numbers("timeline", ["time_s", "queue_length"])
    arrivals = submit[measured_jobs(run, len(submit))]
    span = (float(arrivals.min()), float(arrivals.max())) if len(arrivals) else (0.0, 0.0)
    start, end = span if span[0] < span[1] else (span[0], float(times.max(initial=0.0)))
    return float(thin_steps(times, queue, np.array([start, end]))[0][0]) if end > start else None


def _grew_on_site(run: Run) -> bool:
    """Return whether the site's own queue grew, so that a growing one is right."""
    (queue,) = run.numbers("seen", ["queue_seen"])
    if len(queue) < 3:
        return False
    first, middle, last = (part.mean() for part in np.array_split(queue, 3))
    return bool(last - first > GROWTH_ALONE * (first + middle + last) / 3)


def _thirds(run: Run) -> Floats | None:
    """Return the mean queue length in each third of the measured arrivals; None if there are no thirds."""
    (submit,) = run.numbers("jobs", ["submit_s"])
    times, queue = run.numbers("timeline", ["time_s", "queue_length"])
    arrivals = submit[measured_jobs(run, len(submit))]
    if len(arrivals) < MIN_MEASURED or not len(times):
        return None
    start, end = float(arrivals.min()), min(float(arrivals.max()), float(times[-1]))
    if end <= start:
        return None
    return thin_steps(times, queue, np.linspace(start, end, 4))[0]
