"""No job is slower, on the GPUs that it is given, than with its share there: input stall, two kinds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artist.core.cluster import Allocation, Cluster, Machine
from artist.core.events import Change, Start
from artist.core.job import JobSpec
from artist.core.view import Policy
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.policy import Synergy
from artist.testing.tiny import job, run_checked
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

GIB = 1 << 30
MODELS = {  # not as measured
    "GNMT": Sensitivity((0.5, 1), (1, 1), 1, 0, None, 20 * GIB, 10 * GIB),
    "ResNet18": Sensitivity((1, 3, 9), (1, 3, 6), 1, 150 * GIB, 3.0, 10 * GIB, 10 * GIB),
    "BAT": Sensitivity((2.7,), (1,), beyond=0.04, max_beyond=0.2, across=2),
    "AlexNet": Sensitivity((1, 2), (1, 1.5), 1, 300 * GIB, 0.4, 5 * GIB, 5 * GIB),
}
POINTS = [[20.0, 62.5, 125.0, 187.5, 250.0], [1.0]]
POLICIES: dict[str, Callable[[Sequence[float]], Policy]] = {
    **{
        name: lambda points, name=name: Synergy(mechanism=name, memory_points_gib=points, interval_s=5)
        for name in ("proportional", "tune", "opt")
    },
    "split": lambda points: Synergy(split="when_faster", memory_points_gib=points, interval_s=5),
    "fifo, tuned": lambda points: CpuTuned(Ordered(order="fifo", backfill=True, placement="spread"), "tune"),
    "srtf, opt": lambda points: CpuTuned(Ordered(order="srtf", preemptive=True, backfill=True), "opt"),
}


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Return two or three machines of two kinds, with one GPU type or two."""
    other = draw(st.sampled_from(["A", "B"]))
    few = Machine("few", 0, "few", 4, "A", 1.0, 12, 260 * GIB)
    many = Machine("many", 0, "many", draw(st.sampled_from([4, 8])), other, 1.0, 48, 400 * GIB)
    if other == "B":
        many = replace(many, speed=draw(st.sampled_from([0.5, 2.0])), worth=0.0)
    kinds = draw(st.lists(st.sampled_from([few, many]), min_size=2, max_size=3))
    return Cluster([replace(kind, name=f"m{i}") for i, kind in enumerate(kinds)])


@st.composite
def jobs(draw: st.DrawFn, most: int) -> list[JobSpec]:
    """Return jobs that ask for up to so many GPUs, some of which may mix GPU types."""
    drawn = []
    for i in range(draw(st.integers(1, 8))):
        gpus, mixed = draw(st.integers(1, most)), draw(st.booleans())
        spec = job(f"j{i}", gpus, draw(st.integers(2, 20)), draw(st.integers(0, 20)), mixed_types=mixed)
        drawn.append(replace(spec, model=draw(st.sampled_from(sorted(MODELS)))))
    return drawn


@settings(deadline=None)
@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_no_job_is_slower_than_with_its_share_there(policy: str, data: st.DataObject) -> None:
    """At each start and change, what it holds against what goes with the same GPUs; a ns is rounding."""
    cluster = data.draw(clusters())
    has: dict[str, int] = {}
    for m in cluster.machines:
        has[m.gpu_type] = has.get(m.gpu_type, 0) + m.gpus
    specs = data.draw(jobs(max(has.values())))
    compute = Compute()
    stall = InputStall(MODELS, compute)
    performance = PlacedPerformance(ZeroModel(), None, None, get_profile, compute=compute, input_stall=stall)

    def iteration_ns(spec: JobSpec, allocation: Allocation) -> int:
        compute_ns = compute.ns(spec, allocation, cluster)
        return compute_ns + stall.ns(spec, allocation, cluster, compute_ns)

    points = data.draw(st.sampled_from(POINTS))
    _, events = run_checked(specs, cluster, POLICIES[policy](points), performance)
    by_number = sorted(specs, key=lambda spec: spec.submit_ns)
    for event in events:
        if isinstance(event, Start | Change):
            slices = tuple(cluster.share(piece.machine, piece.gpus) for piece in event.allocation.slices)
            share = replace(event.allocation, slices=slices)
            spec = by_number[event.job]
            assert iteration_ns(spec, event.allocation) <= iteration_ns(spec, share) + 1
