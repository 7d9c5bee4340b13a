"""Drawn use of an inference pool: the published figures whatever the seed, and what comes after."""

from functools import partial
from operator import sub
from typing import Any

import numpy as np
import pytest

from artist.errors import InputError
from artist.units import NS_PER_S
from artist.workload.inference_use import InferenceUse, _root


def drawn(**parameters: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the values of a drawn series `inference`."""
    return InferenceUse(**parameters).series()["inference"].values


@pytest.mark.parametrize("seed", range(5))
def test_drawn_use_has_the_published_figures(seed: int) -> None:
    """15 days of 288 steps: 42 to 95 %, mean 65 %, median step 2 % for every seed; 2.2 within each day."""
    values = drawn(seed=seed)[: 15 * 288]
    assert (values.min(), values.max()) == pytest.approx((0.42, 0.95), abs=1e-9)
    assert (values.mean(), np.median(np.abs(np.diff(values)))) == pytest.approx((0.65, 0.02), abs=1e-6)
    days = values.reshape(15, 288)
    assert (np.abs(days.max(axis=1) / days.min(axis=1) - 2.2) < 0.1).all()


def test_drawn_use_peaks_at_night_and_is_least_before_dawn() -> None:
    """Means by hour: greatest in the four from 20 on, all above the others; least in one next to 5."""
    by_hour = drawn()[: 15 * 288].reshape(15, 24, 12).mean(axis=(0, 2))
    assert sorted(np.argsort(by_hour)[-4:].tolist()) == [20, 21, 22, 23]
    assert np.argmin(by_hour) in (4, 5, 6)
    late = drawn(start_hour=20)[: 15 * 288].reshape(15, 24, 12).mean(axis=(0, 2))
    assert sorted(np.argsort(late)[-4:].tolist()) == [0, 1, 2, 3]


def test_drawn_use_goes_on_after_its_days() -> None:
    """After 2 days 3 more repeat them: 0 1 0 1 0. After 8 days the last 7 are repeated: 1 comes again."""
    values = drawn(days=2, repeat_days=3).reshape(5, 288)
    assert (values[2:] == values[[0, 1, 0]]).all()
    values = drawn(days=8, repeat_days=1).reshape(9, 288)
    assert (values[8] == values[1]).all()
    series = InferenceUse(days=1, repeat_days=0).series()
    times, then = series["inference.next"].up_to(10**18)
    assert times[:2].tolist() == [0, 300 * NS_PER_S]
    assert then[:-1].tolist() == series["inference"].values[1:].tolist()
    assert then[-1] == series["inference"].values[-1]
    for signal in series.values():
        assert not any(column.flags.writeable for column in signal.up_to(10**18))


def test_a_seed_is_a_series() -> None:
    """The same again for one seed, another for the next."""
    assert (drawn(seed=3) == drawn(seed=3)).all()
    assert (drawn(seed=3)[:288] != drawn(seed=4)[:288]).all()


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"mean": 0.3}, ["mean must be between trough and peak"]),
        ({"step_s": 7}, ["multiple of step_s"]),
        ({"peak_hour": 2}, ["trough_hour must be after the end"]),
        ({"days": 40_000, "repeat_days": 40_000}, ["together"]),
        ({"mean": 0.94}, ["signals.mean", "0.94", "is the nearest"]),
        ({"burst": 0.001}, ["signals.burst", "0.001", "is the nearest"]),
    ],
)
def test_a_drawn_series_that_cannot_be_is_refused(parameters: dict[str, Any], told: list[str]) -> None:
    """By field, with the rule, or with the value that is the nearest possible."""
    with pytest.raises(InputError) as error:
        drawn(**parameters)
    for words in told:
        assert words in str(error.value)


def test_a_root_is_found_to_the_last_digit() -> None:
    """X^2 - 2 has its root at 1.41421356...; without a change of sign the end nearer to 0 is the answer."""
    assert _root(lambda x: x * x - 2, 0, 8) == pytest.approx(2**0.5, rel=1e-15)
    assert _root(lambda x: 2 - x * x, 0, 8) == pytest.approx(2**0.5, rel=1e-15)
    assert [_root(partial(sub, end), 0, 8) for end in (-1, 0, 8, 9)] == pytest.approx([0, 0, 8, 8])
