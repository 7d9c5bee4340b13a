"""Index of the jobs that send on each link, to find the jobs that a change may affect."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar
from weakref import ref

from artist.core.cluster import Allocation
from artist.core.job import JobSpec
from artist.performance.api import Logged, Running
from netmodels.api import FULL, MAX_JOBS, Link, LinkLoad


class Freed(NamedTuple):
    """Load of a link, byte/ns, that ended with some allocations, and their number."""

    load: float = 0.0
    jobs: int = 0


class LinkUser(NamedTuple):
    """A running job that sends between machines.

    Attributes
    ----------
    spec, allocation
        Its specification and allocation.
    load
        Its load on the links.
    stretch
        Time that its GPUs compute in an iteration / that of the profile.
    compute_ns
        That time.
    waiting_ns
        Waiting in an iteration before it computes, if no other job matters.
    """

    spec: JobSpec
    allocation: Allocation
    load: LinkLoad
    stretch: float
    compute_ns: int
    waiting_ns: int


_NOTHING = Freed()
_NEARLY = 0.998  # answers where many send come in steps of 0.1 %

_T = TypeVar("_T")

LinkUserOf = Callable[[int, JobSpec, Allocation], LinkUser | None]
"""From a job's number, specification and allocation; None for a job that sends on no link."""


class LinkTable:
    """Capacity, byte/ns, and place of each link of a cluster, by its number."""

    def __init__(self, capacity: Mapping[Link, float]) -> None:
        self.most = [limit * FULL for limit in capacity.values()]
        self.places = [(link.tier == "rack", link.place) for link in capacity]  # whether an uplink of a rack


class Asked:
    """The jobs on each link, of any jobs that run: who crosses a link is asked when it is needed.

    Attributes
    ----------
    on
        Those that send there, by the number of the link.
    offered
        The most that they send there together, byte/ns, likewise.
    """

    def __init__(self, table: LinkTable, running: Running, user: LinkUserOf) -> None:
        def on(link: int) -> dict[int, LinkUser]:
            is_uplink, place = table.places[link]
            jobs = running.crossing_rack(place) if is_uplink else running.crossing_machine(place)
            there = ((job, user(job, running.spec(job), running.allocation(job))) for job in jobs)
            return {job: user for job, user in there if user and link in user.load.loads}

        users = self.on = _Answers(on)
        self.offered = _Answers(lambda link: sum(user.load.loads[link] for user in users[link].values()))


class _Answers(dict[int, _T]):
    """Answers by link, computed when first asked for."""

    def __init__(self, answer: Callable[[int], _T]) -> None:
        self._answer = answer

    def __missing__(self, link: int) -> _T:
        answer = self[link] = self._answer(link)
        return answer


class Kept:
    """The same, following the log of jobs that start and stop to cross machines."""

    def __init__(self, table: LinkTable, log: Logged, user: LinkUserOf) -> None:
        self._log = ref(log)
        self._user = user
        self._most = table.most
        self._seen = 0
        self._jobs: dict[int, LinkUser] = {}
        self.on: list[dict[int, LinkUser]] = [{} for _ in table.most]
        self.offered = [0.0] * len(table.most)
        self._busy = [0.0] * len(table.most)  # jobs that send at a time, on average, by link

    def follow(self, running: Running) -> None:
        """Add the jobs that started since, and remove those that stopped."""
        log = self._log()
        changes = log.crossed(self._seen) if log is not None else ()
        self._seen += len(changes)
        for job, held in changes:
            gone = self._jobs.pop(job, None)
            if gone is not None:
                for link in gone.load.loads:
                    del self.on[link][job]
                self._add(gone.load, -1)
            user = None if held is None else self._user(job, running.spec(job), held)
            if user is not None:
                self._jobs[job] = user
                for link in user.load.loads:
                    self.on[link][job] = user
                self._add(user.load, 1)

    def _add(self, job: LinkLoad, sign: int) -> None:
        """Add a job's load to the sums, or subtract it."""
        for link, load in job.loads.items():
            some = len(self.on[link]) > 0  # else exactly none, whatever was rounded
            self.offered[link] = some * (self.offered[link] + sign * load)
            self._busy[link] = some * (self._busy[link] + sign * job.busy)

    def added_ns(self, jobs: Iterable[int]) -> dict[int, int]:
        """Return the time that others add to the iterations of jobs at the prices in force."""
        log = self._log()
        assert log is not None
        return {job: parts.contention_ns for job in jobs if (parts := log.in_force(job))}

    def slows(self, jobs: Mapping[int, LinkUser]) -> bool:
        """Return whether jobs joined by links may take longer than alone.

        None does if none would with all others on its links sending as often as they may at no cost. If all
        send, a link leaves a job an equal share at least, and at least the capacity that others do not ask
        for; and beside b others on average, a job with rate u of the capacity is slowed at most by 1 + u b:
        none of the others has a larger share than the job (`netmodels.contention.mean_field`). Nothing is
        known of jobs that are followed in time: they are busy always.
        """
        followed = len(jobs) <= MAX_JOBS and all(job.load.busy == 1.0 for job in jobs.values())
        return followed or any(map(self._may_be_slowed, jobs.values()))

    def _may_be_slowed(self, job: LinkUser) -> bool:
        slack = _NEARLY * job.load.slack
        for link, load in job.load.loads.items():
            most, busy = self._most[link], self._busy[link] - job.load.busy
            left = max(most - (self.offered[link] - load), most / len(self.on[link]))
            if load > slack * left and most + load * busy > slack * most:
                return True
        return False


Index = Asked | Kept


def components(index: Index, most: Sequence[float], seeds: Mapping[int, Freed]) -> list[dict[int, LinkUser]]:
    """Return the jobs joined, directly or through others, to links that are offered too much.

    Each component once, if any of its jobs may be, or may have been, slower than alone; a job that crosses no
    such link any more is a component by itself.

    Parameters
    ----------
    index
        The jobs on each link.
    most
        Capacity of each link, byte/ns.
    seeds
        The links to begin at, and the load that ended there.
    """
    result: list[dict[int, LinkUser]] = []
    seen: set[int] = set()
    done: set[int] = set()
    on, offered = index.on, index.offered
    for seed, gone in seeds.items():
        if seed in seen or offered[seed] + gone.load <= most[seed]:
            continue
        for job, user in on[seed].items():
            if job in done:
                continue
            component, known = {job: user}, 0
            while known < len(component):
                others = [*islice(component.values(), known, None)]
                known = len(component)
                for other in others:
                    for link in other.load.loads:
                        if link not in seen and offered[link] > most[link]:
                            seen.add(link)
                            component.update(on[link])
            done.update(component)
            if any(_may_be_slower(member, index, most, seeds) for member in component.values()):
                result.append(component)
    return result


def _may_be_slower(job: LinkUser, index: Index, most: Sequence[float], gone: Mapping[int, Freed]) -> bool:
    """Return whether a job's communication may outlast the computing that hides it, if all send at once.

    On a link that n jobs share each gets its part of the capacity, as of the load of all, or 1 / n of it, for
    its load on its busiest link.
    """
    slack = job.load.slack
    for link in job.load.loads:
        left = gone.get(link, _NOTHING)
        offered, jobs = index.offered[link] + left.load, len(index.on[link]) + left.jobs
        if max(offered, jobs * job.load.max_load) > slack * most[link]:
            return True
    return False
