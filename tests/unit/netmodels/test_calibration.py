"""Calibration by hand, and what it refuses."""

import pytest

from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of
from netmodels.calibration.fit import calibrate, overhead
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.zero import ZeroModel

RING = Dimension("ring", 100, 1.0)
FABRIC = Fabric("rings", (RING,), (RING,), (RING,))
SYSTEM = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=10)
MODEL = AnalyticalModel()
PAIR = shape_of([(0, "a", 2)])
# Compute 50 + 50 us, then 6000 B with nothing to hide behind: 2 steps of 100 + 3000 and 3 delays, 6230 ns.
ONE = Profile("one", (Layer("a", 50_000, 0, 50_000, 6000),))


def fitted(method, measured, profile=ONE, shape=PAIR, network=MODEL):
    """Return the fit on two GPUs of a machine."""
    return calibrate(method, measured, network, profile, shape, FABRIC, SYSTEM)


def test_before_calibration_the_time_is_the_models():
    """6230 ns of 100 us."""
    assert overhead(MODEL, ONE, PAIR, FABRIC, SYSTEM) == 0.0623


@pytest.mark.parametrize(("measured", "scale"), [(0.623, 0.1), (0.0623 / 4, 4.0), (6.23, 0.01)])
def test_scaled_compute_by_hand(measured, scale):
    """6230 / (100,000 x scale) is the overhead; the all-reduce stays, so a tenth of it takes 10 times it."""
    fit = fitted("scale_compute", measured)
    assert fit.compute_scale == pytest.approx(scale, rel=1e-4)
    assert fit.profile == ONE.scaled(fit.compute_scale)
    assert (fit.launch_ns, fit.before) == (0, 0.0623)
    assert fit.achieved == pytest.approx(measured, rel=1e-4)
    assert overhead(MODEL, fit.profile, PAIR, FABRIC, SYSTEM) == fit.achieved


@pytest.mark.parametrize(("measured", "launch_ns"), [(0.1, 3770), (0.0624, 10), (5.0, 493_770)])
def test_a_launch_by_hand(measured, launch_ns):
    """(6230 + launch) / 100,000 is the overhead; compute stays as it was."""
    fit = fitted("launch_overhead", measured)
    assert (fit.compute_scale, fit.launch_ns, fit.achieved) == (1.0, launch_ns, measured)
    assert fit.profile == ONE.with_launch(launch_ns)


def test_calibration_methods_scale_to_slower_links():
    """Both give 0.623 in a machine; between racks, 10 us a link, an all-reduce takes 2 x 13,000 + 30 ns.

    Scaled: 26,030 of 10,000. Launched: 26,030 + 56,070 of 100,000, for 0.623 x 100,000 - 6230 = 56,070.
    """
    slow = Fabric("slow", (RING,), (RING,), (Dimension("ring", 10_000, 1.0),))
    racks = shape_of([(0, "a", 1), (1, "a", 1)])
    results = {
        method: overhead(MODEL, fitted(method, 0.623).profile, racks, slow, SYSTEM)
        for method in ("scale_compute", "launch_overhead")
    }
    assert results["scale_compute"] == pytest.approx(2.603, rel=1e-4)
    assert results["launch_overhead"] == 0.821


@pytest.mark.parametrize("method", ["scale_compute", "launch_overhead"])
def test_rows_that_fit_already_are_not_changed(method):
    """No scale of 0.9999999 where 1 will do, and no launch of 0 ns where there is one."""
    launched = ONE.with_launch(100)
    assert fitted(method, 0.0623).profile is ONE
    assert fitted(method, 0.0633, launched).profile is launched


def test_a_scale_is_on_top_of_the_speed_of_the_gpus():
    """At a quarter of the speed compute takes 400 us; 0.623 still needs 10 us: a scale of 1/40."""
    fit = fitted("scale_compute", 0.623, ONE.scaled(4.0))
    assert fit.compute_scale == pytest.approx(0.025, rel=1e-4)
    assert fit.profile == ONE.scaled(4.0 * fit.compute_scale)


@pytest.mark.parametrize(
    ("method", "measured", "told"),
    [
        ("scale_compute", -0.1, "fraction >= 0"),
        ("launch_overhead", float("nan"), "fraction >= 0"),
        ("scale_compute", float("inf"), "fraction >= 0"),
        ("scale_compute", 1e-5, "6.23e-05"),  # 6230 ns of 1000 x 100 us
        ("launch_overhead", 0.05, "0.0623"),  # less than without any launch
        ("launch_overhead", 1e6, "1e+05"),  # more than 10 s of 100 us
        ("scale", 0.1, "did you mean"),
    ],
)
def test_impossible_overheads_are_refused(method, measured, told):
    """With the overhead that was asked for, and the ones that can be had."""
    with pytest.raises(InputError, match="allowed") as error:
        fitted(method, measured)
    assert told in str(error.value)


@pytest.mark.parametrize("method", ["scale_compute", "launch_overhead"])
def test_without_traffic_nothing_can_be_fitted(method):
    """One GPU, a model without gradients, no network: neither a scale nor a launch makes an overhead."""
    silent = Profile("silent", (Layer("a", 50, 0, 50, 0),))
    for profile, shape, network in (
        (ONE, shape_of([(0, "a", 1)]), MODEL),
        (silent, PAIR, MODEL),
        (ONE, PAIR, ZeroModel()),
    ):
        with pytest.raises(InputError, match="gives this overhead"):
            fitted(method, 0.1, profile, shape, network)


def test_a_gap_between_whole_nanoseconds_is_reported():
    """Of 1 + 1 ns remain 2, 4, 6 ns: 6230 / 2 = 3115 or 6230 / 4 = 1557.5, and nothing near 2300 between."""
    tiny = Profile("tiny", (Layer("a", 1, 0, 1, 6000),))
    assert fitted("scale_compute", 1560, tiny).achieved == 1557.5
    with pytest.raises(InputError, match="the nearest gives 1558"):
        fitted("scale_compute", 2300, tiny)
