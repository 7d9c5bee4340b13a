"""Random failures by cause: machines, racks or the cluster fail and are repaired, whatever runs on them.

They depend on the seed and the machines alone, so all policies meet the same failures.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace

import numpy as np

from artist.core.arrays import Floats
from artist.core.cluster import CapacityEvent, Cluster
from artist.datacenter.causes import Cause
from artist.errors import InputError
from artist.randomness import child_generator
from artist.units import seconds_to_ns

_MAX_PER_S = 1.0  # failures of a cluster; more is a slip of a unit


class Failures:
    """Failures as capacity events with their repairs, in order of time, without end.

    A unit of a cause - a machine, a rack or the cluster - works for an exponential time; then its machines
    are down, slow or drained; after the time of the repair it works again, and so on. Machines that are not
    present at first are spares. Each unit has a generator of its own for each cause, so more machines or
    causes leave the others as they are.

    Parameters
    ----------
    causes
        With distinct names.
    seed
        The seed of the run.
    check_s
        Time of the health check after each repair of a machine that was out of service.

    Raises
    ------
    InputError
        If there is more than one failure per second.
    """

    def __init__(self, causes: Sequence[Cause], cluster: Cluster, seed: int, check_s: float = 0) -> None:
        self._causes, self._cluster, self._seed = causes, cluster, seed
        self._check_ns = seconds_to_ns(check_s)
        self._units = [_units(cause.scope, cluster) for cause in causes]
        self._mean_s = [self._means(number) for number in range(len(causes))]
        per_s = sum(float((1 / mean_s).sum()) for mean_s in self._mean_s)
        if per_s > _MAX_PER_S:
            rate = f"{per_s:.3g} failures per second of {len(cluster)} machines"
            allowed = "a smaller per_1000_days, for one per second or fewer"
            raise InputError("too many failures", where="cluster.failures", found=rate, allowed=allowed)

    def of_gpus_per_s(self, gpus: int) -> float:
        """Return the rate, per second, at which failures stop a job on the fewest machines and racks.

        Of units among which the lemons are not known.
        """
        machines = -(-gpus // max(self._cluster.largest_machine, 1)) or 1
        per_rack = max(map(len, self._cluster.machines_of))
        units = {"machine": machines, "rack": -(-machines // per_rack), "cluster": 1}
        return sum(units[c.scope] * c.per_s * c.lemons.mean for c in self._causes if c.effect == "fail")

    def __iter__(self) -> Iterator[CapacityEvent]:
        spares = [machine for machine, facts in enumerate(self._cluster.machines) if not facts.present]
        yield from (CapacityEvent(0, "spare", machine) for machine in spares)
        generators: dict[tuple[int, int], np.random.Generator] = {}
        due = self._first()
        heapify(due)
        while due:
            time_ns, number, unit = due[0]
            cause, (name, machines) = self._causes[number], self._units[number][unit]
            if (number, unit) not in generators:
                generators[number, unit] = self._generator(cause, name)
            rng = generators[number, unit]
            repair_ns = seconds_to_ns(cause.repair_s(rng))
            facts = cause.cause, cause.slow or 1.0, repair_ns, self._check_ns
            yield from (CapacityEvent(time_ns, cause.effect, m, 0, *facts, machines) for m in machines)
            works_s = rng.exponential(self._mean_s[number][unit])
            heapreplace(due, (time_ns + repair_ns + seconds_to_ns(works_s), number, unit))

    def _first(self) -> list[tuple[int, int, int]]:
        """Return the first failure of each unit: its time, cause and unit."""
        due = []
        for number, (cause, mean_s) in enumerate(zip(self._causes, self._mean_s, strict=True)):
            times_s = self._generator(cause, "first").standard_exponential(len(mean_s)) * mean_s
            due += [(seconds_to_ns(time_s), number, unit) for unit, time_s in enumerate(times_s.tolist())]
        return due

    def _means(self, number: int) -> Floats:
        """Return the mean time between failures of each unit of a cause, seconds, shape (n_units,)."""
        cause, units = self._causes[number], self._units[number]
        lemons = child_generator(self._seed, f"lemons.{cause.scope}").random(len(units)) < cause.lemons.share
        means = np.full(len(units), 1 / cause.per_s)
        return np.where(lemons, means / cause.lemons.times, means)

    def _generator(self, cause: Cause, name: str) -> np.random.Generator:
        return child_generator(self._seed, f"failures.{cause.cause}.{name}")


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
