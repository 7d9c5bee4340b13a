"""GPUs that starve for CPUs, rule by rule, and against a count from scratch."""

from typing import Any

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand
from artist.recording.starved import Starved


def machine(gpus: int = 4, cpus: int = 8, gpu_type: str = "v", worth: float = 1.0, **facts: Any) -> Machine:
    """Return a machine; of a type of its own, if its GPUs are."""
    return Machine("m", 0, gpu_type, gpus, gpu_type=gpu_type, cpus=cpus, worth=worth, **facts)


def starved(*machines: Machine, waiting: Demand, least: float | None = None) -> int:
    """Return the GPUs of empty machines that starve while a job waits."""
    counter = Starved(Cluster(machines), least)
    counter.wait(waiting)
    return counter.count()


@pytest.mark.parametrize(("cpus", "expected"), [(8, 0), (9, 4)])
def test_a_job_needs_the_cpus_that_it_asks_for(cpus: int, expected: int) -> None:
    """A machine of 8 CPUs has enough for 8, not for 9: then all its 4 GPUs starve."""
    assert starved(machine(), waiting=Demand(1, cpus=cpus)) == expected


def test_a_job_that_lacks_gpus_starves_none() -> None:
    """2 of 4 GPUs are idle: a job of 3 and 9 CPUs does not starve them, one of 2 does."""
    for gpus, expected in ((3, 0), (2, 2)):
        counter = Starved(Cluster([machine()]))
        counter.take(0, 2, 0)
        counter.wait(Demand(gpus, cpus=9))
        assert counter.count() == expected


@pytest.mark.parametrize(("cpus", "expected"), [(16, 0), (17, 4)])
def test_a_large_job_needs_its_part_on_each_machine(cpus: int, expected: int) -> None:
    """8 GPUs are two whole machines of 4: 16 CPUs are 8 on each, 17 are 9, rounded up."""
    assert starved(machine(), waiting=Demand(8, cpus=cpus)) == expected


def test_a_large_job_starves_no_machine_that_is_not_empty() -> None:
    """It needs all 4 GPUs of a machine, of which 3 are idle."""
    counter = Starved(Cluster([machine()]))
    counter.take(0, 1, 0)
    counter.wait(Demand(8, cpus=99))
    assert counter.count() == 0


@pytest.mark.parametrize(("most", "expected"), [(1, 0), (2, 4), (0, 4)])
def test_a_job_on_fewer_machines_than_it_takes_starves_none(most: int, expected: int) -> None:
    """8 GPUs are 2 machines of 4; 0 means any number."""
    assert starved(machine(), waiting=Demand(8, cpus=99, max_machines=most)) == expected


def test_gpus_of_another_type_do_not_starve() -> None:
    """2 GPUs of type t, 4 of type v, and a machine without GPUs: those of the type that the job allows."""
    machines = machine(), machine(2, gpu_type="t"), machine(0)
    for types, expected in ((("t",), 2), (("v",), 4), (("x",), 0), ((), 6)):
        assert starved(*machines, waiting=Demand(1, cpus=9, gpu_types=types)) == expected


def test_an_elastic_job_needs_its_least() -> None:
    """Asks for 4 GPUs and 16 CPUs, but starts on 1 with 4: 8 are enough, 3 are not."""
    waiting = Demand(4, min_gpus=1, max_gpus=4, cpus=16)
    assert starved(machine(), waiting=waiting) == 0
    assert starved(machine(cpus=3), waiting=waiting) == 4


def test_a_fungible_job_needs_the_gpus_that_replace_its_own() -> None:
    """2 GPUs of worth 1 and 9 CPUs: 4 of worth 1/2 need 9 CPUs, too; they are not all idle on the second.

    Where there are 9 CPUs none starve.
    """
    assert starved(machine(cpus=9, worth=0.5), waiting=Demand(2, cpus=9, fungible=True)) == 0
    counter = Starved(Cluster([machine(worth=0.5), machine(worth=0.5)]))
    counter.take(1, 1, 0)
    counter.wait(Demand(2, cpus=9, fungible=True))
    assert counter.count() == 4


def test_a_job_that_asks_for_no_cpus_starves_none() -> None:
    """On a machine without a free CPU."""
    assert starved(machine(cpus=0), waiting=Demand(1)) == 0


@pytest.mark.parametrize(("least", "expected"), [(2, 0), (2.1, 4)])
def test_cpus_enough_to_start_count_instead_of_the_demand(least: float, expected: int) -> None:
    """4 GPUs at 2 CPUs are 8, at 2.1 are 9, rounded up; the job asks for 99."""
    assert starved(machine(), waiting=Demand(4, cpus=99), least=least) == expected


def test_none_starve_when_no_job_waits() -> None:
    """Nor after the last has gone; and again, when the next one waits."""
    counter, demand = Starved(Cluster([machine()])), Demand(1, cpus=9)
    counts = [counter.count()]
    for change in (counter.wait, counter.go, counter.wait):
        change(demand)
        counts.append(counter.count())
    assert counts == [0, 4, 0, 4]


def test_the_neediest_waiting_job_counts() -> None:
    """9 and 5 CPUs on 8, twice 9: the first of the two that goes changes nothing, the second does."""
    counter, much, little = Starved(Cluster([machine()])), Demand(1, cpus=9), Demand(1, cpus=5)
    for demand in (much, little, much):
        counter.wait(demand)
    counts = []
    for demand in (much, much):
        counter.go(demand)
        counts.append(counter.count())
    assert counts == [4, 0]


def test_closed_machines_do_not_starve() -> None:
    """One takes no work from the start, one for a while."""
    counter = Starved(Cluster([machine(), machine(2, present=False)]))
    counter.wait(Demand(1, cpus=9))
    counts = [counter.count()]
    for number, takes_work in ((1, True), (0, False), (0, True)):
        counter.open(number, takes_work)
        counts.append(counter.count())
    assert counts == [4, 6, 2, 6]


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_from_scratch(seed: int) -> None:
    """400 random changes: after each the count is that of a new observer told only what holds then."""
    random = np.random.default_rng(seed)
    machines = [machine(int(g), 8, "vt"[i % 2]) for i, g in enumerate(random.integers(0, 5, 6))]
    cluster = Cluster(machines)
    counter, taken, waiting = Starved(cluster), [(0, 0)] * 6, list[Demand]()
    for _ in range(400):
        number = int(random.integers(6))
        if random.random() < 0.5:
            held = int(random.integers(machines[number].gpus + 1)), int(random.integers(9))
            counter.take(number, held[0] - taken[number][0], held[1] - taken[number][1])
            taken[number] = held
        elif waiting and random.random() < 0.5:
            counter.go(waiting.pop(int(random.integers(len(waiting)))))
        else:
            gpus, cpus = int(random.integers(1, 9)), int(random.integers(12))
            waiting.append(Demand(gpus, cpus=cpus, gpu_types=("v",) * int(random.integers(2))))
            counter.wait(waiting[-1])
        if random.random() < 0.7:
            assert counter.count() == from_scratch(machines, taken, waiting)


def from_scratch(machines: list[Machine], taken: list[tuple[int, int]], waiting: list[Demand]) -> int:
    """Count by the definition."""
    total = 0
    for m, (gpus, cpus) in zip(machines, taken, strict=True):
        idle, free = m.gpus - gpus, m.cpus - cpus
        needs = ((min(d.gpus, m.gpus), d) for d in waiting if d.gpu_types in ((), (m.gpu_type,)))
        if any(n <= idle and free * d.gpus < d.cpus * n for n, d in needs):
            total += idle
    return total
