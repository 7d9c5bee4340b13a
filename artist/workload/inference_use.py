"""Signals drawn from published figures: the use of their machines by inference services over time."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from artist.bad_input.records import Strict, validated
from artist.core.arrays import Floats
from artist.core.view import NEXT
from artist.errors import InputError
from artist.randomness import child_generator
from artist.units import MAX_S, seconds_to_ns
from artist.workload.signals import Series

USE = "inference"
_GROUP = "signals"
_DAY_S = 86_400
_DAYS_REPEATED = 7
_MAX_BEND = 50.0  # of the daily curve, up or down
_TOLERANCE = 1e-6


class InferenceUse:
    """Signals `inference` and `inference.next`: the fraction of their machines that inference services use.

    A daily curve falls from the evening's peak to a trough before dawn and rises until the evening, in
    straight lines, raised to a power. Every sample gets independent noise, uniform within bounds, so that
    each day approaches peak and trough. Power, noise and an affine map are such that the first `days` have
    exactly the given minimum, maximum and mean value and median step. Days differ only in their noise. After
    them the last week (or the days that exist) repeats for `repeat_days`; then the last value stays.

    Source: the Lyra paper, section 2.1 and figure 1 (5-minute steps, 42 to 95 %, mean 65 %, 2.2 from peak to
    trough within a day, a peak of four hours at night, the trough before dawn) and section 7.1 (median burst
    within five minutes: 2 % of the capacity). The hours, and the form of curve and noise, are assumptions.
    """

    class Parameters(Strict):
        """Shape of the series: shares of the pool, and hours of the day, at one of which the run starts."""

        days: PositiveInt = 15
        repeat_days: Annotated[int, Field(ge=0)] = 45
        step_s: Annotated[int, Field(gt=0, le=3600)] = 300
        trough: Annotated[float, Field(ge=0, lt=1)] = 0.42
        peak: Annotated[float, Field(gt=0, le=1)] = 0.95
        mean: Annotated[float, Field(gt=0, lt=1)] = 0.65
        burst: Annotated[float, Field(gt=0, lt=1)] = 0.02
        trough_hour: Annotated[float, Field(ge=0, lt=24)] = 5.0
        peak_hour: Annotated[float, Field(ge=0, lt=24)] = 20.0
        peak_hours: Annotated[float, Field(ge=0, le=12)] = 4.0
        start_hour: Annotated[float, Field(ge=0, lt=24)] = 0.0
        seed: Annotated[int, Field(ge=0)] = 0

        @model_validator(mode="after")
        def _possible(self) -> Self:
            if not self.trough < self.mean < self.peak:
                raise ValueError("mean must be between trough and peak")
            if _DAY_S % self.step_s:
                raise ValueError(f"a day, {_DAY_S} s, must be a multiple of step_s")
            if (self.trough_hour - self.peak_hour) % 24 <= self.peak_hours:
                raise ValueError("trough_hour must be after the end of the peak, peak_hours after peak_hour")
            if (self.days + self.repeat_days) * _DAY_S > MAX_S:
                raise ValueError(f"days and repeat_days must be {MAX_S / _DAY_S:.0f} days or less together")
            return self

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, _GROUP)

    def series(self) -> Mapping[str, Series]:
        """Draw the series.

        Raises
        ------
        InputError
            If no such curve and noise have the mean and the median step.
        """
        p = self.parameters
        per_day = _DAY_S // p.step_s
        drawn = self._drawn(p.days * per_day)
        week = drawn[-_DAYS_REPEATED * per_day :]
        values = np.append(drawn, np.resize(week, p.repeat_days * per_day))
        times_ns = np.arange(len(values), dtype=np.int64) * seconds_to_ns(p.step_s)
        for column in (times_ns, values):
            column.flags.writeable = False
        inference = Series(times_ns, values)
        return {USE: inference, USE + NEXT: inference.ahead()}

    def describe(self) -> str:
        """Return the use in a clause, for a report."""
        p = self.parameters
        return f"inference uses {p.trough:.0%} to {p.peak:.0%} of its machines, {p.mean:.0%} on average"

    def _drawn(self, n: int) -> Floats:
        """Return the values of the first days, shape (n,)."""
        p = self.parameters
        curve = _daily_curve(np.arange(n) * p.step_s / 3600 + p.start_hour, p)
        even = child_generator(p.seed, "inference use").uniform(-1, 1, n)

        def fitted(noise: float) -> Floats:
            return _with_mean(curve, noise * even, p)

        max_noise = 3 * p.burst / (p.peak - p.trough)  # the step of noise alone, of range 1, is about itself
        values = fitted(_root(lambda noise: _burst(fitted(noise)) - p.burst, 0.0, max_noise))
        for name, wanted, closest in (
            ("mean", p.mean, float(values.mean())),
            ("burst", p.burst, _burst(values)),
        ):
            if abs(closest - wanted) > _TOLERANCE:
                problem, allowed = "no such inference use", f"{closest:.3g} is the nearest with the rest"
                raise InputError(problem, where=f"{_GROUP}.{name}", found=wanted, allowed=allowed)
        return values


def _burst(values: Floats) -> float:
    """Return the median step."""
    return float(np.median(np.abs(np.diff(values))))


def _daily_curve(hours: Floats, p: InferenceUse.Parameters) -> Floats:
    """Return the curve in [0, 1] at hours, counted from some midnight."""
    since_peak = (hours - p.peak_hour) % 24
    trough = (p.trough_hour - p.peak_hour) % 24
    phase = np.where(
        since_peak < trough,
        (since_peak - p.peak_hours).clip(0) / (trough - p.peak_hours),  # 0 at the peak, 1 at the trough
        (24 - since_peak) / (24 - trough),
    )
    curve: Floats = 1 - phase
    return curve


def _with_mean(curve: Floats, noise: Floats, p: InferenceUse.Parameters) -> Floats:
    """Return the curve to a power, and noise, from trough to peak, that have the mean."""

    def scaled(bend: float) -> Floats:
        raw = curve**bend + noise
        part: Floats = (raw - raw.min()) / np.ptp(raw)
        return p.trough + (p.peak - p.trough) * part

    def mean_beyond(bend: float) -> float:
        return float(scaled(bend).mean()) - p.mean

    return scaled(_root(mean_beyond, 1 / _MAX_BEND, _MAX_BEND))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of a function, or the end with the smaller value if there is none between."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high > 0:
        return low if abs(at_low) < abs(at_high) else high
    while low < (middle := (low + high) / 2) < high:  # to the last digit: half a second sooner than scipy's
        low, high = (middle, high) if function(middle) * at_low > 0 else (low, middle)
    return low
