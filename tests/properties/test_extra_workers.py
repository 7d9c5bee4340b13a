"""Whatever runs, dividing GPUs takes no base worker of a job, and gives no job more than its most."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artist.core.cluster import Cluster, Machine
from artist.core.events import Change, Start, Stop
from artist.policies.lyra.policy import Lyra
from artist.policies.lyra.scaling import SCALINGS
from artist.policies.parts.base_demand import counts_from
from artist.testing.tiny import job, run_checked

V100 = [Machine(f"v{i}", 0, "v100", 4, "V100") for i in range(3)]
T4 = [Machine(f"t{i}", 0, "t4", 4, "T4", speed=1 / 3, worth=0.5) for i in range(3)]
CLUSTER = Cluster([*V100, *T4])


@st.composite
def workloads(draw):
    """Return jobs of workers of 1 or 2 GPUs, most of them elastic, some for V100 only."""
    jobs = []
    for n in range(draw(st.integers(1, 12))):
        step, workers, more = draw(st.sampled_from([1, 2])), draw(st.integers(1, 2)), draw(st.integers(0, 3))
        elastic = {"min_gpus": step * workers, "max_gpus": step * (workers + more)} if more else {}
        where = draw(st.sampled_from([{"fungible": True}, {"gpu_types": ("V100",)}]))
        asked, at = step * (workers + draw(st.integers(0, more))), draw(st.integers(0, 40))
        jobs.append(job(f"j{n}", asked, draw(st.integers(1, 60)), at, step=step, **elastic, **where))
    return sorted(jobs, key=lambda spec: spec.submit_ns)


@pytest.mark.parametrize("scaling", list(SCALINGS))
@settings(max_examples=25)
@given(jobs=workloads(), requested=st.booleans())
def test_base_workers_stay_and_no_job_exceeds_its_most(scaling, jobs, requested):
    """On one type, in steps from base to most; what a job has on its machines at all times makes its base.

    Say base 2 of V100: never fewer than one on m0 and one on m1, or two on one of them. None is ever
    stopped, and the recount of every instant sees to it that no GPU is given twice.
    """
    policy = Lyra(scaling=scaling, base="requested" if requested else "least", loaning=False)
    _, events = run_checked(jobs, CLUSTER, policy)
    kept = {}
    for event in events:
        assert not isinstance(event, Stop)
        if isinstance(event, Start | Change):
            held, demand = event.allocation.gpu_map(), jobs[event.job].demand
            (worth,) = {CLUSTER.machines[machine].worth for machine in held}
            counts = demand.targets()
            if demand.elastic and (requested or scaling != "none"):
                counts = counts_from(demand, requested=requested)
            assert event.allocation.gpus in {demand.gpus_at(worth, count) for count in counts}
            before = kept.get(event.job, held)
            kept[event.job] = {m: min(before[m], gpus) for m, gpus in held.items() if m in before}
            assert sum(kept[event.job].values()) >= demand.gpus_at(worth, counts[0])
