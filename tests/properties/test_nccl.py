"""NCCL's collectives on any placement: positive, and never faster for more bytes or less bandwidth."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netmodels.api import NcclFabric, NcclTier, collective_us

PLACES = st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=4).map(tuple), min_size=1, max_size=3).map(
    tuple
)
COLLECTIVES = st.sampled_from(["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"])
STEPS = st.floats(0.01, 100)
SPEEDS = st.floats(0.1, 1000)
TIERS = st.builds(NcclTier, STEPS, SPEEDS, SPEEDS | st.just(0.0), SPEEDS | st.just(0.0))
FABRICS = st.builds(
    NcclFabric,
    *(TIERS, TIERS, TIERS),
    start_us=STEPS,
    skew=st.floats(0, 1),
    pipeline=st.floats(0, 3),
    ll_pipeline=st.floats(0, 3),
    bulk=st.floats(0.1, 20),
    ll_share=st.floats(0.01, 1),
    switch_gb_s=SPEEDS | st.just(0.0),
    channels_gb_s=SPEEDS | st.just(0.0),
    ring_from_mb=st.floats(0, 100),
)
SIZES = np.geomspace(1, 1e11, 60)


def several(place):
    """Return whether a placement has two GPUs."""
    return sum(map(sum, place)) > 1


@given(COLLECTIVES, PLACES.filter(several), FABRICS)
def test_more_bytes_never_take_less_time(collective, place, nccl):
    """Every form is the least of several that grow with bytes, and more than its start."""
    times = collective_us(collective, SIZES, place, nccl)
    assert times.shape == SIZES.shape
    assert (times > 0).all()
    assert np.isfinite(times).all()
    assert (np.diff(times) >= -1e-9 * times[1:]).all()


def faster(tier, factor):
    """Return a tier with all bandwidths multiplied."""
    return NcclTier(tier.step_us, tier.gpu_gb_s * factor, tier.machine_gb_s * factor, tier.rack_gb_s * factor)


@given(COLLECTIVES, PLACES.filter(several), FABRICS, st.floats(1, 100))
def test_more_bandwidth_never_takes_more_time(collective, place, nccl, factor):
    """Whichever tier has it: links inside a machine, of the rack, of the network."""
    before = collective_us(collective, SIZES, place, nccl)
    for tier in ("machine", "rack", "network"):
        wider = replace(nccl, **{tier: faster(getattr(nccl, tier), factor)})
        assert (collective_us(collective, SIZES, place, wider) <= before * (1 + 1e-9)).all()
