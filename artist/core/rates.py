"""Prices and power of machines, and the carbon intensity of their electricity."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

GpuKind = tuple[str, str]  # machine type and GPU type: `Machine.hardware`


@dataclass(frozen=True, slots=True)
class Watts:
    """Power of a GPU with its part of host and cooling: idle or in use."""

    idle: float
    busy: float


class Intensity:
    """Carbon intensity over time: each value holds until the next one, the last one to the end.

    Parameters
    ----------
    times_ns
        Rising, from 0 on.
    g_per_kwh
        Grams of CO2 per kWh from these times on.
    """

    def __init__(self, times_ns: Sequence[int], g_per_kwh: Sequence[float]) -> None:
        self.times_ns, self._values = list(times_ns), list(g_per_kwh)
        spans_ns = (after - before for before, after in pairwise(self.times_ns))
        products = (value * ns for value, ns in zip(self._values, spans_ns, strict=False))
        self._totals = list(accumulate(products, initial=0.0))

    def until(self, time_ns: int) -> float:
        """Return the integral from 0 to a time, in g/kWh x ns."""
        at = bisect_right(self.times_ns, time_ns) - 1
        return self._totals[at] + self._values[at] * (time_ns - self.times_ns[at])


@dataclass(frozen=True, slots=True)
class Rates:
    """Costs of GPUs.

    Attributes
    ----------
    prices
        Money per GPU-hour, by machine type and GPU type; None where money is not counted.
    watts
        Power of a GPU; None where energy is not counted.
    intensity
        None where CO2 is not counted.
    """

    prices: Mapping[GpuKind, float] | None
    watts: Mapping[GpuKind, Watts] | None
    intensity: Intensity | None
