"""Policies that keep the stages of plans in racks: 3 racks of 3 machines of 4 GPUs."""

import pytest

from artist.core.cluster import Allocation, Cluster
from artist.core.events import Start
from artist.core.plan import Plan
from artist.errors import InputError
from artist.policies.basic.ordered import Ordered
from artist.policies.network_aware.alternatives import Alternatives
from artist.policies.network_aware.policy import NetworkAware
from artist.policies.partitions.policy import Partitions
from artist.run.parts import part
from artist.run.pools import check_aligned
from artist.testing.tiny import job, on, run_checked, tiny_cluster
from tests.conformance.test_policies import preset
from tests.unit.policies.test_alternatives import view_of

RACKS = tiny_cluster(9, 4, per_rack=3)
STAGES = {"unit": 4, "pipeline_stages": 3, "replica_gpus": 12}
ALIGNING = (
    *("fifo", "fifo_backfill", "srtf", "tiresias", "dally", "gandiva", "gandiva_slicing", "themis"),
    *("themis_gavel", "muri_s", "antman", "coda", "coda_drf"),
)


def of_racks(allocation: Allocation, cluster: Cluster = RACKS) -> list[int]:
    """Return the GPUs of an allocation by rack."""
    racks = [0] * cluster.n_racks
    for s in allocation.slices:
        racks[cluster.rack_of[s.machine]] += s.gpus
    return racks


def starts(jobs, policy, number=0):
    """Return the GPUs by rack of each start of a job."""
    _, events = run_checked(jobs, RACKS, policy)
    return [of_racks(e.allocation) for e in events if isinstance(e, Start) and e.job == number]


@pytest.mark.parametrize("name", ALIGNING)
def test_each_policy_keeps_stages_of_8_gpus_in_racks(name):
    """Packed, 24 GPUs are 12 | 12; a job without a plan starts where it does without alignment."""
    policy = {**preset(name), "align": "stages"}
    assert starts([job("a", 24, 10, **STAGES)], part(policy, "policy", ("decide",))) == [[8, 8, 8]]
    plain = [job("a", 24, 10, unit=4)]
    before = starts(plain, part(preset(name), "policy", ("decide",)))
    assert starts(plain, part(policy, "policy", ("decide",))) == before


@pytest.mark.parametrize("name", ["slurm", "kueue", "lyra", "synergy", "pollux"])
def test_a_policy_that_places_by_rules_of_its_own_refuses_it_by_name(name):
    """It has no such setting."""
    with pytest.raises(InputError, match=r"policy\.align: unknown option"):
        part({**preset(name), "align": "stages"}, "policy", ("decide",))


@pytest.mark.parametrize(
    "policy",
    [
        NetworkAware(of=Ordered(order="fifo", align="stages")),
        Partitions(lambda: Ordered(order="fifo", align="stages"), by=None),
    ],
)
def test_policies_around_another_keep_its_alignment(policy):
    """The policy inside has the setting."""
    assert starts([job("a", 24, 10, **STAGES)], policy) == [[8, 8, 8]]


def test_a_preempted_job_restarts_in_racks():
    """At 5 the shorter b takes all 36 GPUs; at 7 a gets 8 of each rack again, not the first 24."""
    jobs = [job("a", 24, 100, **STAGES), job("b", 36, 2, 5, unit=4)]
    policy = Ordered(order="srtf", preemptive=True, align="stages")
    assert starts(jobs, policy) == [[8, 8, 8], [8, 8, 8]]
    assert starts(jobs, Ordered(order="srtf", preemptive=True)) == [[12, 12, 0], [12, 12, 0]]


def test_no_alternative_of_network_aware_splits_more_stages():
    """8 | 8 | 8 has all stages whole; 12 | 12, in fewer racks, only where stages are not aligned."""
    demand, chosen = job("a", 24, **STAGES).demand, on(*((m, 4) for m in (0, 1, 3, 4, 6, 7)))
    racks = {}
    for align in ("none", "stages"):
        view = view_of(RACKS, [4] * 9, demand)
        others = Alternatives(view, Plan({0: chosen}, {}), {0: chosen}, align).of(0, chosen, 10)
        racks[align] = [sorted(of_racks(other)) for other in others]
    assert [0, 12, 12] in racks["none"]
    assert racks["stages"]
    assert all(of_all == [8, 8, 8] for of_all in racks["stages"])


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (Ordered(order="fifo", align="stages"), "policy.align"),
        (NetworkAware(of=Ordered(order="fifo", align="replicas")), "policy.of.align"),
    ],
)
def test_alignment_without_plans_is_refused(policy, field):
    """Jobs without plans, and those whose every GPU is a replica, have nothing to align; one other has."""
    plain = [job("a", 4), job("b", 4, pipeline_stages=1, replica_gpus=1)]
    check_aligned(Ordered(order="fifo"), plain)
    check_aligned(policy, [*plain, job("c", 4, pipeline_stages=2, replica_gpus=2)])
    with pytest.raises(InputError, match=rf"{field}: no job has a plan"):
        check_aligned(policy, plain)
