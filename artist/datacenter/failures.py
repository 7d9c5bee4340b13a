"""Random failures by cause: machines, racks or the cluster fail and are repaired, whatever runs on them.

They depend on the seed and the machines alone, so all policies meet the same failures.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from artist.core.arrays import Floats
from artist.core.cluster import CapacityEvent, Cluster
from artist.datacenter.causes import Cause
from artist.errors import InputError
from artist.randomness import child_generator
from artist.units import seconds_to_ns

_DAY_S = 86_400.0
_MAX_PER_S = 1.0  # failures of a cluster; more is a slip of a unit


class Failures:
    """Failures and repairs as capacity events, in order of time, without end.

    A unit of a cause - a machine, a rack or the cluster - works for an exponential time; then its machines
    are down, or slow, until it is repaired, and so on. A machine is down while any of its causes lasts, and
    as slow as the worst of them. Machines that are not present at first are spares: one takes the place of a
    machine of its rack, hardware and pool that fails, and the first of these to be repaired becomes a spare.
    Each unit has a generator of its own for each cause, so more machines or causes leave the others as they
    are.

    Parameters
    ----------
    causes
        With distinct names.
    seed
        The seed of the run.

    Raises
    ------
    InputError
        If there is more than one failure per second.
    """

    def __init__(self, causes: Sequence[Cause], cluster: Cluster, seed: int) -> None:
        self._causes, self._cluster, self._seed = causes, cluster, seed
        self._units = [_units(cause.scope, cluster) for cause in causes]
        self._mean_s = [self._means(number) for number in range(len(causes))]
        per_s = sum(float((1 / mean_s).sum()) for mean_s in self._mean_s)
        if per_s > _MAX_PER_S:
            rate = f"{per_s:.3g} failures per second of {len(cluster)} machines"
            allowed = "a smaller per_1000_days, for one per second or fewer"
            raise InputError("too many failures", where="cluster.failures", found=rate, allowed=allowed)

    def of_gpus_per_s(self, gpus: int) -> float:
        """Return the rate, per second, at which failures stop a job on the fewest machines and racks."""
        machines = -(-gpus // max(self._cluster.largest_machine, 1)) or 1
        per_rack = max(map(len, self._cluster.machines_of))
        units = {"machine": machines, "rack": -(-machines // per_rack), "cluster": 1}
        pairs = zip(self._causes, self._mean_s, strict=True)
        return sum(units[c.scope] * float((1 / mean_s).mean()) for c, mean_s in pairs if c.slow is None)

    def __iter__(self) -> Iterator[CapacityEvent]:
        service = _Service(self._cluster)
        spares = [machine for machine, facts in enumerate(self._cluster.machines) if not facts.present]
        yield from (CapacityEvent(0, "spare", machine) for machine in spares)
        slow = defaultdict[int, list[float]](list)  # factors by machine
        generators: dict[tuple[int, int], np.random.Generator] = {}
        due = self._first()
        heapify(due)
        while due:
            time_ns, number, unit, fails = heappop(due)
            cause, (name, machines) = self._causes[number], self._units[number][unit]
            if (number, unit) not in generators:
                generators[number, unit] = self._generator(cause, name)
            rng = generators[number, unit]
            for machine in machines:
                if cause.slow is None:
                    yield from (service.fail if fails else service.repair)(time_ns, machine, cause.cause)
                else:
                    (slow[machine].append if fails else slow[machine].remove)(cause.slow)
                    factor = max(slow[machine], default=1.0)
                    yield CapacityEvent(time_ns, "slow", machine, cause=cause.cause, factor=factor)
            after_s = cause.repair_s(rng) if fails else rng.exponential(self._mean_s[number][unit])
            heappush(due, (time_ns + seconds_to_ns(after_s), number, unit, not fails))

    def _first(self) -> list[tuple[int, int, int, bool]]:
        """Return the first failure of each unit: its time, cause and unit, and True."""
        due = []
        for number, (cause, mean_s) in enumerate(zip(self._causes, self._mean_s, strict=True)):
            times_s = self._generator(cause, "first").standard_exponential(len(mean_s)) * mean_s
            due += [
                (seconds_to_ns(time_s), number, unit, True) for unit, time_s in enumerate(times_s.tolist())
            ]
        return due

    def _means(self, number: int) -> Floats:
        """Return the mean time between failures of each unit of a cause, seconds, shape (n_units,)."""
        cause, units = self._causes[number], self._units[number]
        means = np.full(len(units), 1000 * _DAY_S / cause.per_1000_days)
        lemons = child_generator(self._seed, f"lemons.{cause.scope}").random(len(units)) < cause.lemons.share
        return np.where(lemons, means / cause.lemons.times, means)

    def _generator(self, cause: Cause, name: str) -> np.random.Generator:
        return child_generator(self._seed, f"failures.{cause.cause}.{name}")


class _Service:
    """The machines that serve, are spare or down."""

    def __init__(self, cluster: Cluster) -> None:
        self._like = [(m.rack, m.hardware, m.pool) for m in cluster.machines]  # equal: replace each other
        self._spares = defaultdict[object, list[int]](list)
        for machine, facts in enumerate(cluster.machines):
            if not facts.present:
                self._spares[self._like[machine]].append(machine)
        self._missing = Counter[object]()
        self._down = [0] * len(cluster)  # causes that last

    def fail(self, time_ns: int, machine: int, cause: str) -> Iterator[CapacityEvent]:
        self._down[machine] += 1
        if self._down[machine] > 1:
            return
        yield CapacityEvent(time_ns, "fail", machine, cause=cause)
        like = self._like[machine]
        spares = self._spares[like]
        if machine in spares:
            spares.remove(machine)
        elif spares:
            yield CapacityEvent(time_ns, "join", spares.pop(0))
        else:
            self._missing[like] += 1

    def repair(self, time_ns: int, machine: int, _: str) -> Iterator[CapacityEvent]:
        self._down[machine] -= 1
        if self._down[machine]:
            return
        like = self._like[machine]
        if self._missing[like]:
            self._missing[like] -= 1
            yield CapacityEvent(time_ns, "join", machine)
        else:
            self._spares[like].append(machine)
            yield CapacityEvent(time_ns, "spare", machine)


def _units(scope: str, cluster: Cluster) -> list[tuple[str, list[int]]]:
    """Return the units of a scope: their names and machines, spares first, which then replace no other."""
    machines = sorted(range(len(cluster)), key=lambda m: (cluster.machines[m].present, m))
    if scope == "cluster":
        return [("cluster", machines)]
    if scope == "machine":
        return [(facts.name, [machine]) for machine, facts in enumerate(cluster.machines)]
    racks: list[list[int]] = [[] for _ in range(cluster.n_racks)]
    for machine in machines:
        racks[cluster.rack_of[machine]].append(machine)
    return [(f"rack {rack}", members) for rack, members in enumerate(racks)]
