"""Classic preemption: jobs of the queue and of its cohort that are stopped for one that waits."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from artist.policies.kueue.queues import Job, Queue
from artist.policies.kueue.quotas import Key, Node


class _Candidate(NamedTuple):
    """A job that may be stopped.

    Attributes
    ----------
    path
        Its queue and the cohorts above it, below the first that is also above the waiting job.
    while_borrowing
        Whether it may be stopped for a job that borrows.
    """

    job: Job
    path: tuple[Node, ...] = ()
    while_borrowing: bool = True

    def order(self) -> tuple[float, int, int]:
        """Its place among candidates: the lowest priority first, then the last admitted."""
        return self.job.priority, -self.job.admitted_ns, -self.job.number


def victims(
    job: Job,
    usage: Mapping[Key, float],
    contested: Collection[Key],
    queues: Mapping[Node, Queue],
    room: Callable[[Sequence[Job]], bool] = lambda removed: True,
) -> list[Job]:
    """Return jobs to stop so that a waiting one fits; none if no such jobs are enough.

    Candidates are removed in order until the job fits; then, the last first, those are restored without which
    it fits as well. Jobs of other queues are candidates only while their queue borrows.

    Parameters
    ----------
    usage
        Amounts that the job would use.
    contested
        Flavors and resources of which too little is left.
    room
        Whether there are machines for the job without those of some others.
    """
    rules, node = job.queue.rules.preemption, job.queue.node
    near, beside = _of_cohort(job, usage, contested, queues)
    within = [_Candidate(other) for other in _allowed(job, job.queue, rules.withinClusterQueue)]
    order = [one for group in (near, beside, within) for one in sorted(group, key=_Candidate.order)]

    def fits(removed: Sequence[Job], borrowing: bool) -> bool:
        enough = all(value <= node.available(key) for key, value in usage.items())
        return enough and (borrowing or node.fits(usage)[0]) and room(removed)

    below = all(node.used(key) < node.total(key) for key in contested)
    attempts = [True, False] if below or rules.borrowWithinCohort.policy != "Never" else [True]
    choices = (_removed(order, contested, borrowing, fits) for borrowing in attempts)
    return next(filter(None, choices), [])


def _removed(
    order: Sequence[_Candidate],
    contested: Collection[Key],
    borrowing: bool,
    fits: Callable[[Sequence[Job], bool], bool],
) -> list[Job]:
    """Return the victims of a job that borrows, or must not; none if it does not fit without any of them."""
    removed, enough = list[Job](), False
    for one in order:
        borrows = all(any(above.exceeds(key) for key in contested) for above in one.path)
        if borrows and (one.while_borrowing or not borrowing):
            removed.append(one.job)
            one.job.queue.node.add(one.job.usage, -1)
            if enough := fits(removed, borrowing):
                break
    for other in removed:
        other.queue.node.add(other.usage)
    for other in removed[-2::-1] if enough else ():
        fewer = [job for job in removed if job is not other]
        with removed_from(fewer):
            removed = fewer if fits(fewer, borrowing) else removed
    return removed if enough else []


@contextmanager
def removed_from(jobs: Sequence[Job]) -> Iterator[None]:
    """Count the quota of admitted jobs as free for a while."""
    for job in jobs:
        job.queue.node.add(job.usage, -1)
    yield
    for job in jobs:
        job.queue.node.add(job.usage)


def _of_cohort(
    job: Job, usage: Mapping[Key, float], contested: Collection[Key], queues: Mapping[Node, Queue]
) -> tuple[list[_Candidate], list[_Candidate]]:
    """Return the candidates of other queues: users of quota that is nearer to the job, and the others."""
    near, beside = list[_Candidate](), list[_Candidate]()
    rules, child = job.queue.rules.preemption, job.queue.node
    is_near, rest = child.fits(usage)
    threshold = rules.borrowWithinCohort.maxPriorityThreshold
    for cohort in child.above() if rules.reclaimWithinCohort != "Never" else ():
        for path in _borrowing(cohort, child, contested):
            for other in _allowed(job, queues[path[0]], rules.reclaimWithinCohort):
                low = rules.borrowWithinCohort.policy != "Never" and other.priority < job.priority
                low = low and (threshold is None or other.priority <= threshold)
                (near if is_near else beside).append(_Candidate(other, path, is_near or low))
        fits, rest = cohort.fits(rest)
        is_near, child = is_near or fits, cohort
    return near, beside


def _borrowing(node: Node, visited: Node, contested: Collection[Key]) -> Iterator[tuple[Node, ...]]:
    """Yield the queues below a cohort that borrow, each with the cohorts between the two."""
    for child in node.children:
        if child is not visited and any(child.exceeds(key) for key in contested):
            below = _borrowing(child, visited, contested) if child.children else iter([()])
            yield from ((*path, child) for path in below)


def _allowed(job: Job, queue: Queue, policy: str) -> list[Job]:
    """Return the admitted jobs of a queue that a job may preempt under a preemption policy."""

    def allowed(other: Job) -> bool:
        if policy in ("Never", "Any"):
            return policy == "Any"
        newer = policy == "LowerOrNewerEqualPriority" and other.since_ns > job.since_ns
        return other.priority < job.priority or (newer and other.priority == job.priority)

    return list(filter(allowed, queue.admitted.values()))
