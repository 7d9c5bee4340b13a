"""The sources of iteration times that are shipped, and those of the tests, run their suite."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from artist.core.iteration import IterationParts
from artist.performance.api import Changed, Performance, Running
from artist.performance.couplings.packed import Packed
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.placed import PlacedPerformance
from artist.run.sensitivity import read_sensitivities
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import PlainPerformance
from netmodels.api import IterationTime


@cache
def sensitivities(name):
    """Return the sensitivities of a table that ships; the suite makes hundreds of sources."""
    return read_sensitivities(Path(name))


class Network:
    """Exposes 30 % of the compute time inside a rack and 80 % beyond."""

    version = "1"

    def iteration(self, profile, shape, fabric, system):
        slices = sum(len(rack) for rack in shape)
        exposed = 0 if slices == 1 else 30_000 if len(shape) == 1 else 80_000
        return IterationTime(100_000, exposed, exposed)


class Profile:
    skew, program = 0.5, None

    def scaled(self, factor):
        return self


class TestPlain(PerformanceConformance):
    def make_performance(self) -> Performance:
        return PlainPerformance()


class TestPlaced(PerformanceConformance):
    models = ("", "net", "other")

    def make_performance(self) -> Performance:
        return PlacedPerformance(Network(), None, None, lambda model: Profile())


class TestPackedWithInterference(PerformanceConformance):
    models = ("", "net", "VGG16", "A2C")

    def make_performance(self) -> Performance:
        profile = lambda model: Profile()  # noqa: E731
        return PlacedPerformance(Network(), None, None, profile, packed=Packed(0.2))


class Stall:
    """Adds a third of compute over the job's CPUs and GB of memory, per GPU."""

    part = "input_stall_ns"

    def ns(self, spec, allocation, cluster, compute_ns):
        cpus = sum(s.cpus for s in allocation.slices)
        memory = sum(s.memory_bytes for s in allocation.slices)
        return compute_ns * max(allocation.gpus, 1) // (3 * (cpus + memory // 10**9 + 1))

    def on_grid(self, spec, allocation, cluster, compute_ns, cpus, memory_bytes):
        return compute_ns * max(allocation.gpus, 1) // (3 * (cpus + memory_bytes // 10**9 + 1))


class TestWithAnEffectOfResources(PerformanceConformance):
    models = ("", "net", "other")

    def make_performance(self) -> Performance:
        return PlacedPerformance(Network(), None, None, lambda model: Profile(), effects=[Stall()])


class TestWithInputStall(PerformanceConformance):
    """CPUs that starve, that do and that are plenty; 20 GiB a GPU, or too little."""

    models = ("", "ResNet18", "M5", "GNMT", "AlexNet")

    def make_performance(self) -> Performance:
        compute = Compute()
        stall = InputStall(sensitivities("synergy"), compute)
        profile = lambda model: Profile()  # noqa: E731
        return PlacedPerformance(Network(), None, None, profile, compute=compute, input_stall=stall)


class TestOnSharedMachines(PerformanceConformance):
    """Jobs that mind the memory bandwidth that others draw, that crowd PCIe, that do both and neither."""

    models = ("", "AlexNet", "BAT", "ResNet50", "DeepSpeech", "Transformer")

    def make_performance(self) -> Performance:
        compute = Compute()
        stall = InputStall(sensitivities("coda"), compute)
        profile = lambda model: Profile()  # noqa: E731
        return PlacedPerformance(Network(), None, None, profile, compute=compute, input_stall=stall)


def test_suite_catches_a_grid_that_forgets_memory() -> None:
    """Or a new effect would be wrong in `at_resources` only, where no run shows it."""

    class Forgetful(Stall):
        def on_grid(self, spec, allocation, cluster, compute_ns, cpus, memory_bytes):
            return super().on_grid(spec, allocation, cluster, compute_ns, cpus, 0 * memory_bytes)

    class Suite(PerformanceConformance):
        def make_performance(self) -> Performance:
            return PlacedPerformance(Network(), None, None, lambda model: Profile(), effects=[Forgetful()])

    with pytest.raises(AssertionError):
        Suite().test_a_grid_of_cpus_and_memory_equals_single_questions()


def test_suite_catches_a_forgotten_neighbour() -> None:
    """A source that prices only the jobs named in the question leaves group members at a wrong speed."""

    class Forgetful(PlainPerformance):
        def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
            named = {c.job for c in changed}
            return {j: parts for j, parts in super().reprice(changed, running).items() if j in named}

    class Suite(PerformanceConformance):
        def make_performance(self) -> Performance:
            return Forgetful()

    with pytest.raises(AssertionError):
        Suite().test_answers_along_the_way_equal_prices_from_nothing()
