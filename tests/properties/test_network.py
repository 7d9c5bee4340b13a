"""What must hold for every profile, shape and fabric."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netmodels.analytical import AnalyticalModel, iteration_on
from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of

MODEL = AnalyticalModel()
times_ns = st.integers(0, 10**6)
layers = st.builds(
    Layer, st.just("layer"), times_ns, times_ns, times_ns, st.one_of(st.just(0), st.integers(1, 10**8))
)
profiles = st.lists(layers, min_size=1, max_size=6).map(lambda each: Profile("any", tuple(each)))
dimensions = st.builds(
    Dimension,
    st.sampled_from(["ring", "switch", "fully_connected"]),
    st.integers(0, 50_000).map(float),
    st.floats(0.5, 500),
    st.just(0),
    st.sampled_from(["one", "members"]),
)
fabrics = st.builds(
    lambda slot, machine, rack, network: Fabric("any", (replace(slot, size=4), machine), (rack,), (network,)),
    dimensions,
    dimensions,
    dimensions,
    dimensions,
)
systems = st.builds(
    SystemSettings,
    st.integers(0, 100),
    st.sampled_from([0.0, 1600.0]),
    st.sampled_from(["bandwidth_aware", "baseline"]),
    st.sampled_from(["one", "per_dimension"]),
    st.sampled_from(["issue", "lowest_layer_first"]),
)
slices = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "b"]), st.integers(1, 8)), min_size=1, max_size=12
)


@given(profiles, fabrics, systems)
def test_one_gpu_sends_nothing(profile, fabric, system):
    """Whatever the fabric, a job alone on its GPU takes its compute time."""
    answer = MODEL.iteration(profile, shape_of([(0, "a", 1)]), fabric, system)
    assert (answer.total_ns, answer.comm_ns, answer.spans) == (profile.compute_ns, 0, ())


@given(st.data(), slices)
def test_names_do_not_matter(data, placement):
    """Renaming racks and reordering machines must give the same shape, which is the cache key."""
    names = data.draw(st.permutations(range(4)))
    relabelled = [(names[rack], kind, gpus) for rack, kind, gpus in data.draw(st.permutations(placement))]
    assert shape_of(relabelled) == shape_of(placement)


@given(profiles, slices, fabrics, systems)
def test_accounts_add_up(profile, placement, fabric, system):
    """Compute is the profile's on any shape; exposed <= communicated; tiers and spans tell the same story."""
    answer = MODEL.iteration(profile, shape_of(placement), fabric, system)
    assert answer.compute_ns == profile.compute_ns
    assert 0 <= answer.exposed_ns <= answer.comm_ns
    busy_ns = dict.fromkeys((tier for tier, _ in answer.tiers), 0)
    for span in answer.spans:
        assert 0 <= span.start_ns <= span.end_ns <= answer.total_ns
        busy_ns[span.tier] += span.end_ns - span.start_ns
    assert busy_ns == dict(answer.tiers)
    assert answer.comm_ns <= sum(busy_ns.values())
    assert list(answer.spans) == sorted(answer.spans, key=lambda span: span.start_ns)
    if system.collective_queue == "one":
        assert answer.comm_ns == sum(busy_ns.values())  # one collective at a time, one tier at a time


@given(profiles, slices, fabrics, systems, st.floats(1, 100))
def test_more_bandwidth_is_never_slower(profile, placement, fabric, system, factor):
    """True of one queue; several queues with priorities may have Graham's scheduling anomalies."""
    system = replace(system, collective_queue="one")
    faster = Fabric(
        "faster",
        *(
            tuple(
                replace(each, bandwidth_bytes_per_ns=each.bandwidth_bytes_per_ns * factor)
                for each in dimensions_
            )
            for _, dimensions_ in fabric.tiers()
        ),
    )
    shape = shape_of(placement)
    slow, fast = (MODEL.iteration(profile, shape, each, system) for each in (fabric, faster))
    assert fast.comm_ns <= slow.comm_ns
    assert fast.exposed_ns <= slow.exposed_ns


@given(profiles, st.integers(2, 64), dimensions, dimensions, systems)
def test_a_wider_span_is_never_faster(profile, members, inner, outer, system):
    """The same members one tier further out, where links are no better: never faster.

    Not true of splitting a ring in two levels (8 against 4 + 4), which takes fewer steps: 6 + 2 for 14.
    """
    outer = replace(
        inner,
        latency_ns=max(inner.latency_ns, outer.latency_ns),
        bandwidth_bytes_per_ns=min(inner.bandwidth_bytes_per_ns, outer.bandwidth_bytes_per_ns),
    )
    near = iteration_on(profile, [("machine", inner, members)], system)
    far = iteration_on(profile, [("network", outer, members)], system)
    assert near.exposed_ns <= far.exposed_ns


@given(profiles, st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), fabrics, systems)
def test_irregular_lies_between_its_regular_neighbours(profile, gpus, machines, racks, fabric, system):
    """One GPU more on one machine: between none more and one more on every machine (one queue)."""
    system = replace(system, collective_queue="one")
    flat = Fabric("flat", fabric.machine[1:], fabric.rack, fabric.network)
    low = [(rack, "a", gpus) for rack in range(racks) for _ in range(machines)]
    high = [(rack, kind, gpus + 1) for rack, kind, gpus in low]
    some = [high[0], *low[1:]]
    below, between, above = (
        MODEL.iteration(profile, shape_of(each), flat, system).comm_ns for each in (low, some, high)
    )
    # phases are rounded to 1 ns each, and a dimension of one member has one delay more or less per collective
    slack_ns = 10 * len(profile.layers) * (1 + system.endpoint_delay_ns)
    assert min(below, above) - slack_ns <= between <= max(below, above) + slack_ns


@pytest.mark.parametrize("factor", [0.5, 2.0])
@given(profile=profiles, placement=slices, fabric=fabrics, system=systems)
def test_compute_alone_scales(factor, profile, placement, fabric, system):
    """A slower GPU changes compute and hides more or less, but the time communicated in one queue stays."""
    system = replace(system, collective_queue="one")
    shape = shape_of(placement)
    usual = MODEL.iteration(profile, shape, fabric, system)
    scaled = MODEL.iteration(profile.scaled(factor), shape, fabric, system)
    assert scaled.comm_ns == usual.comm_ns
    assert scaled.compute_ns == profile.scaled(factor).compute_ns
