"""The sources of iteration times that are shipped, and those of the tests, run their suite."""

from collections.abc import Mapping, Sequence

import pytest

from artist.core.iteration import IterationParts
from artist.performance.api import Changed, Performance, Running
from artist.performance.couplings.packed import Packed
from artist.performance.placed import PlacedPerformance
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import PlainPerformance
from netmodels.api import IterationTime


class Network:
    """Exposes 30 % of the compute time inside a rack and 80 % beyond."""

    version = "1"

    def iteration(self, profile, shape, fabric, system):
        slices = sum(len(rack) for rack in shape)
        exposed = 0 if slices == 1 else 30_000 if len(shape) == 1 else 80_000
        return IterationTime(100_000, exposed, exposed)


class Profile:
    skew = 0.5

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
