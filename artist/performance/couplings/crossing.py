"""Which jobs send on which links: an index, to find the jobs that a change may affect."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol
from weakref import ref

from artist.core.cluster import Allocation
from artist.core.job import JobSpec
from artist.performance.api import Logged, Running
from netmodels.api import FULL, MOST_JOBS, Link, Sending


class Sender(NamedTuple):
    """What a job does to links where it is placed, at the compute time of its profile.

    Attributes
    ----------
    iteration
        Its iteration alone.
    alone_ns
        What that takes.
    slack
        How many times as long it may send before its iteration takes longer.
    busy
        The largest share of its time that it sends as long as its iteration takes no longer.
    loads
        The most that it sends on each link that has a capacity, byte/ns, by the number of the link.
    most
        The largest of these.
    """

    iteration: Sending
    alone_ns: float
    slack: float
    busy: float
    loads: Mapping[int, float]
    most: float


class Gone(NamedTuple):
    """What was sent on a link, byte/ns, by how many allocations that are gone."""

    load: float = 0.0
    jobs: int = 0


class Crosser(NamedTuple):
    """A running job that sends between machines.

    Attributes
    ----------
    spec, allocation
        What it is and holds.
    sender
        What it sends.
    stretch
        Time that its GPUs compute in an iteration / that of the profile.
    compute_ns
        That time.
    waiting_ns
        What it waits in an iteration before it computes, if no other job matters.
    """

    spec: JobSpec
    allocation: Allocation
    sender: Sender
    stretch: float
    compute_ns: int
    waiting_ns: int


_NOBODY = Gone()
_NEARLY = 0.998  # answers where many send are found to 0.1 %

CrosserOf = Callable[[int, JobSpec, Allocation], Crosser | None]
"""From the number of a job, what it is and what it holds; None for a job that sends on no link."""


class LinkTable:
    """Numbers of the links in use, what each carries, and where it is."""

    def __init__(self, capacity: Mapping[Link, float]) -> None:
        self._capacity = capacity
        self._numbers: dict[Link, int] = {}
        self.most: list[float] = []
        self.places: list[tuple[bool, int]] = []  # whether it is the uplink of a rack, and its place

    def number(self, link: Link) -> int:
        """Return the number of a link."""
        number = self._numbers.setdefault(link, len(self._numbers))
        if number == len(self.most):
            self.most.append(self._capacity[link] * FULL)
            self.places.append((link.tier == "rack", link.place))
        return number


class Index(Protocol):
    """The jobs on each link."""

    def on(self, link: int) -> Mapping[int, Crosser]:
        """Return the jobs that send on a link."""

    def offered(self, link: int) -> float:
        """Return the most that they send there together, byte/ns."""


class Asked:
    """An index of any running jobs, which asks who crosses a link when it is needed."""

    def __init__(self, table: LinkTable, running: Running, crosser: CrosserOf) -> None:
        self._table = table
        self._running = running
        self._crosser = crosser
        self._on: dict[int, dict[int, Crosser]] = {}

    def on(self, link: int) -> Mapping[int, Crosser]:
        """Return the jobs that send on a link."""
        found = self._on.get(link)
        if found is None:
            found = self._on[link] = {}
            is_uplink, place = self._table.places[link]
            running = self._running
            for job in running.crossing_rack(place) if is_uplink else running.crossing_machine(place):
                crosser = self._crosser(job, running.spec(job), running.allocation(job))
                if crosser is not None and link in crosser.sender.loads:
                    found[job] = crosser
        return found

    def offered(self, link: int) -> float:
        """Return the most that they send there together, byte/ns."""
        return sum(each.sender.loads[link] for each in self.on(link).values())


class Kept:
    """An index that follows the log of jobs that start and stop to cross machines."""

    def __init__(self, table: LinkTable, log: Logged, crosser: CrosserOf) -> None:
        self._table = table
        self._log = ref(log)
        self._crosser = crosser
        self._most = table.most
        self._seen = 0
        self._jobs: dict[int, Crosser] = {}
        self._on: list[dict[int, Crosser]] = []
        self._offered: list[float] = []
        self._busy: list[float] = []  # likewise the sums of what jobs offer on average, and
        self._senders: list[float] = []  # of how many send

    def follow(self, running: Running) -> None:
        """Add what came since, and remove what left."""
        log = self._log()
        changes = log.crossed(self._seen) if log is not None else ()
        self._seen += len(changes)
        for job, held in changes:
            gone = self._jobs.pop(job, None)
            if gone is not None:
                busy = gone.sender.busy
                for link, load in gone.sender.loads.items():
                    del self._on[link][job]
                    some = len(self._on[link]) > 0  # else exactly none, whatever was rounded
                    self._offered[link] = some * (self._offered[link] - load)
                    self._busy[link] = some * (self._busy[link] - load * busy)
                    self._senders[link] = some * (self._senders[link] - busy)
            crosser = None if held is None else self._crosser(job, running.spec(job), held)
            if crosser is not None:
                self._jobs[job] = crosser
                missing = len(self._table.most) - len(self._on)
                self._on += [{} for _ in range(missing)]
                for sums in (self._offered, self._busy, self._senders):
                    sums += [0.0] * missing
                busy = crosser.sender.busy
                for link, load in crosser.sender.loads.items():
                    self._on[link][job] = crosser
                    self._offered[link] += load
                    self._busy[link] += load * busy
                    self._senders[link] += busy

    def on(self, link: int) -> Mapping[int, Crosser]:
        """Return the jobs that send on a link."""
        return self._on[link] if link < len(self._on) else {}

    def offered(self, link: int) -> float:
        """Return the most that they send there together, byte/ns."""
        return self._offered[link] if link < len(self._on) else 0.0

    def added_ns(self, jobs: Iterable[int]) -> dict[int, int]:
        """Return how much longer others make the iterations of jobs at the prices in force."""
        log = self._log()
        assert log is not None
        return {job: parts.contention_ns for job in jobs if (parts := log.in_force(job))}

    def slows(self, jobs: Mapping[int, Crosser]) -> bool:
        """Return whether jobs joined by links may take longer than alone.

        None does if none would with all others on its links sending as often as they may at no cost.
        """
        may = self._slowed_by_few if len(jobs) <= MOST_JOBS else self._slowed_by_many
        return any(map(may, jobs.values()))

    def _slowed_by_many(self, job: Crosser) -> bool:
        """Likewise of a job where what all send adds up (`netmodels.sharing.crowd`)."""
        _, _, slack, busy, loads, _ = job.sender
        for link, load in loads.items():
            others, senders = self._busy[link] - load * busy, self._senders[link] - busy
            if min(load + others, load * (1 + senders)) > _NEARLY * slack * self._most[link]:
                return True
        return False

    def _slowed_by_few(self, job: Crosser) -> bool:
        """Likewise of a job that meets each choice of others with its chance (`netmodels.sharing.average`).

        Rates on the busiest links grow evenly, so beside k others a full link leaves it 1 / (k + 1) of that
        at least, and it takes longer by no more than the sum of what it would on each alone. Nothing is known
        where others' phases count: they are busy always.
        """
        _, _, slack, busy, loads, most = job.sender
        if busy == 1.0:
            return True
        longer = 1.0
        for link in loads:
            share = most / self._most[link]
            if len(self._on[link]) * share > 1:
                chances = [1.0]  # of 0, 1, ... others
                for other in self._on[link].values():
                    if other is not job:
                        busy = other.sender.busy
                        none, one = [*chances, 0.0], [0.0, *chances]
                        chances = [a * (1 - busy) + b * busy for a, b in zip(none, one, strict=True)]
                longer += sum(p * max(share * k - 1, 0.0) for k, p in enumerate(chances, 1))
        return longer > slack


def components(index: Index, most: Sequence[float], seeds: Mapping[int, Gone]) -> list[dict[int, Crosser]]:
    """Return the jobs joined, directly or through others, to links that are offered too much.

    Each component once, if any of its jobs may be, or may have been, slower than alone; a job that crosses no
    such link any more is a component by itself.

    Parameters
    ----------
    index
        The jobs on each link.
    most
        What each link carries, byte/ns.
    seeds
        The links to begin at, and what was sent there besides.
    """
    found: list[dict[int, Crosser]] = []
    seen: set[int] = set()
    done: set[int] = set()
    for seed, gone in seeds.items():
        if seed in seen or index.offered(seed) + gone.load <= most[seed]:
            continue
        for job, crosser in index.on(seed).items():
            if job in done:
                continue
            component, todo = {job: crosser}, [crosser]
            while todo:
                for link in todo.pop().sender.loads:
                    if link not in seen and index.offered(link) > most[link]:
                        seen.add(link)
                        for other, its in index.on(link).items():
                            if other not in component:
                                component[other] = its
                                todo.append(its)
            done.update(component)
            if any(_may_be_slower(each, index, most, seeds) for each in component.values()):
                found.append(component)
    return found


def _may_be_slower(job: Crosser, index: Index, most: Sequence[float], gone: Mapping[int, Gone]) -> bool:
    """Return whether a job's communication may outlast what hides it, if all send at once.

    On a link that n jobs share each gets its part of the capacity, as of what all offer, or 1 / n of it, for
    what it sends on its busiest link.
    """
    slack = job.sender.slack
    for link in job.sender.loads:
        left = gone.get(link, _NOBODY)
        offered, jobs = index.offered(link) + left.load, len(index.on(link)) + left.jobs
        if max(offered, jobs * job.sender.most) > slack * most[link]:
            return True
    return False
