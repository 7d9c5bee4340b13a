"""Stages and replicas of plans in racks, by any placement policy: racks of 12 GPUs, on machines of 4."""

import numpy as np
import pytest

from artist.core.buckets import set_of
from artist.core.cluster import Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.gandiva.growth import _max_gpus
from artist.policies.parts.placement import CHOOSERS
from artist.policies.parts.placer import placer_of
from artist.testing.tiny import on, tiny_cluster

THREE_RACKS = tiny_cluster(9, 4, per_rack=3)  # m0 to m2 | m3 to m5 | m6 to m8
STAGES_OF_8 = Demand(24, unit=4, pipeline_stages=3, replica_gpus=12)


def free_gpus(gpus, cluster=THREE_RACKS):
    """Return free GPUs by machine, without CPUs and memory."""
    none = np.zeros(len(cluster), np.int64)
    return Free(cluster, np.array(gpus), none, none)


def by_rack(gpus, demand, name="consolidate", align="stages", cluster=THREE_RACKS, among=-1, split="packed"):
    """Return the GPUs by rack that a shipped placement policy gives, None for a refusal."""
    placer = placer_of(name, "proportional", split=split, align=align)
    allocation = placer.place(free_gpus(gpus, cluster), demand, among)
    if allocation is None:
        return None
    racks = np.bincount(cluster.rack[list(allocation.machines)], [s.gpus for s in allocation.slices])
    return racks.astype(int).tolist()


def test_each_stage_is_in_one_rack():
    """24 GPUs in 3 stages of 8: the fewest racks are 12 | 12, which split the second stage 4 | 4."""
    assert by_rack([4] * 9, STAGES_OF_8, align="none") == [12, 12]
    assert by_rack([4] * 9, STAGES_OF_8) == [8, 8, 8]


def test_replicas_or_stages_are_aligned_as_asked():
    """Replicas of 12 GPUs fit 12 | 12; stages of 8 do not. A plan without a pipeline has replicas alone."""
    assert by_rack([4] * 9, STAGES_OF_8, align="replicas") == [12, 12]
    experts = Demand(24, replica_gpus=8)
    assert by_rack([4] * 9, experts, align="stages") == by_rack([4] * 9, experts, align="replicas") == [8] * 3


def test_racks_of_unequal_size_hold_as_many_whole_stages_as_they_can():
    """12, 8 and 4 GPUs: 16 in stages of 8 are 12 | 0 | 4 at the fewest racks; 8 | 8 are both whole."""
    cluster = Cluster([Machine(f"m{i}", rack, "box", 4) for i, rack in enumerate((0, 0, 0, 1, 1, 2))])
    demand = Demand(16, unit=4, pipeline_stages=2, replica_gpus=8)
    assert by_rack([4] * 6, demand, align="none", cluster=cluster) == [12, 0, 4]
    assert by_rack([4] * 6, demand, cluster=cluster) == [8, 8]


def test_units_of_machines_with_unequal_free_gpus_count():
    """7 + 7 + 7 | 4 + 7 + 4 free of 8 are 3 | 3 units of 4: no more than a stage of 8 each, whatever is free.

    A third stage lies on 4 | 4, as it does by the policy alone.
    """
    cluster = tiny_cluster(6, 8, per_rack=3)
    assert by_rack([7, 7, 7, 4, 7, 4], STAGES_OF_8, cluster=cluster) == [12, 12]
    pair = Demand(16, unit=4, pipeline_stages=2, replica_gpus=8)
    assert by_rack([7, 7, 7, 4, 7, 4], pair, align="none", cluster=cluster) == [12, 4]
    assert by_rack([7, 7, 7, 4, 7, 4], pair, cluster=cluster) == [8, 8]


def test_what_no_rack_holds_whole_goes_where_the_policy_places_it():
    """First fit takes 4 | 4 | 4 | 12 of 4, 4, 4 and 16 free GPUs: one stage of 8 is whole.

    The last rack holds two, and the third stage is first fit's 4 | 4.
    """
    cluster = tiny_cluster(16, 4, per_rack=4)
    gpus = [4, 0, 0, 0] * 3 + [4] * 4
    assert by_rack(gpus, STAGES_OF_8, "first_fit", "none", cluster) == [4, 4, 4, 12]
    assert by_rack(gpus, STAGES_OF_8, "first_fit", "stages", cluster) == [4, 4, 0, 16]


def test_a_job_stays_where_the_policy_placed_it_unless_fewer_stages_are_split():
    """With 12 | 12 | 4 free one of three stages is split in any case, and so is one larger than a rack."""
    assert by_rack([4] * 7 + [0, 0], STAGES_OF_8) == [12, 12]
    assert by_rack([4] * 9, Demand(32, unit=4, pipeline_stages=2, replica_gpus=8)) == [12, 12, 8]


def test_a_job_never_waits_for_alignment_nor_gets_gpus_that_its_policy_refuses():
    """24 GPUs are free in parts, and all are used; 20 are refused in any case, as by a limit to one rack."""
    assert by_rack([4, 0, 0, 4, 4, 4, 0, 4, 4], Demand(20, unit=4, pipeline_stages=5)) is not None
    assert by_rack([4, 4, 0] * 3, STAGES_OF_8) == [8, 8, 8]
    assert by_rack([4, 4, 0] * 2 + [4, 0, 0], STAGES_OF_8) is None
    assert (
        by_rack([4, 4, 0] * 3, Demand(12, unit=4, pipeline_stages=3, replica_gpus=12), "consolidate_rack")
        is None
    )


def test_machines_stay_as_few_as_the_policy_or_the_job_allow():
    """Stages of 10 in racks of 12: 12 | 8 on 5 machines, 10 | 10 on 6.

    Not by `consolidate_machine`, which keeps a job on as few as possible, nor for a job of at most 5.
    """
    demand = Demand(20, pipeline_stages=2, replica_gpus=4)
    limited = Demand(20, pipeline_stages=2, replica_gpus=4, max_machines=5)
    assert by_rack([4] * 6 + [0] * 3, demand) == [10, 10]
    for split in ("packed", "even"):
        assert by_rack([4] * 6 + [0] * 3, demand, "consolidate_machine", split=split) == [12, 8]
    assert by_rack([4] * 6 + [0] * 3, limited) == [12, 8]


def test_whole_stages_come_before_fewer_racks_in_locality():
    """12 | 12 on two racks is nearer than 8 | 8 | 8 unless stages are aligned: no job moves there."""
    packed, whole = on(*((m, 4) for m in range(6))), on(*((m, 4) for m in (0, 1, 3, 4, 6, 7)))
    for align, nearer, other in (("none", packed, whole), ("stages", whole, packed)):
        placer = placer_of("consolidate", "proportional", align=align)
        assert placer.span(STAGES_OF_8, THREE_RACKS, nearer) < placer.span(STAGES_OF_8, THREE_RACKS, other)


def test_segments_are_kept_beside_stages():
    """Segments of 8 with stages of 12: 8 | 8 | 8 has no whole stage, and the least whole in both is 24.

    First fit takes 8 of each rack; the last one has 24 free.
    """
    demand = Demand(24, unit=4, segment=8, pipeline_stages=2, replica_gpus=8)
    assert by_rack([4] * 9, demand) == [8, 8, 8]
    cluster = Cluster([Machine(f"m{i}", min(i // 2, 2), "box", 4) for i in range(10)])
    assert by_rack([4] * 10, demand, "first_fit", "none", cluster) == [8, 8, 8]
    assert by_rack([4] * 10, demand, "first_fit", "stages", cluster) == [0, 0, 24]


def test_closed_and_excluded_machines_serve_no_stage():
    """Without the third rack's machines, excluded or closed, stages stay on 12 | 12."""
    without = set_of(range(6))
    assert by_rack([4] * 9, STAGES_OF_8, among=without) == [12, 12]
    closed = np.array([True] * 6 + [False] * 3)
    none = np.zeros(9, np.int64)
    free = Free(THREE_RACKS, np.full(9, 4), none, none, closed)
    gpus = placer_of("consolidate", "proportional", align="stages").place(free, STAGES_OF_8).gpu_map()
    assert gpus == dict.fromkeys(range(6), 4)


def test_gpus_are_of_the_types_that_the_policy_chose():
    """New GPUs come first, 12 | 4 of them; no stage moves to the old ones, of which a rack has 16."""
    racks = [(0, "new")] * 3 + [(1, "new")] + [(2, "old")] * 4
    cluster = Cluster([Machine(f"m{i}", rack, "box", 4, kind) for i, (rack, kind) in enumerate(racks)])
    demand = Demand(16, unit=4, gpu_types=("new", "old"), pipeline_stages=2, replica_gpus=8)
    assert by_rack([4] * 8, demand, cluster=cluster) == [12, 4]


def test_an_elastic_job_is_aligned_at_the_size_that_it_gets():
    """20 GPUs are there, 12 | 8: of 24 by 8 the job gets 16, in stages of 8 and not of 12."""
    cluster = tiny_cluster(5, 4, per_rack=3)
    demand = Demand(24, min_gpus=8, max_gpus=24, step=8, unit=4, pipeline_stages=2, replica_gpus=8)
    assert by_rack([4] * 5, demand, align="none", cluster=cluster) == [12, 4]
    assert by_rack([4] * 5, demand, cluster=cluster) == [8, 8]


def test_gandivas_growth_splits_no_stage():
    """A job of 8 | 8 in two stages may have 24, in stages of 12: 8 more in one rack would split one.

    With 4 free beside each it grows to 12 | 12.
    """
    demand = Demand(16, min_gpus=16, max_gpus=24, step=8, pipeline_stages=2, replica_gpus=8)
    cluster, held = tiny_cluster(4, 16, per_rack=2), on((0, 8), (2, 8))
    aligned, plain = (placer_of("best_fit", "proportional", align=align) for align in ("stages", "none"))
    beside = free_gpus([8, 0, 0, 0], cluster)
    assert _max_gpus(beside, demand, held, plain) == {0: 16, 2: 8}
    assert _max_gpus(beside, demand, held, aligned) is None
    assert _max_gpus(free_gpus([4, 0, 4, 0], cluster), demand, held, aligned) == {0: 12, 2: 12}


@pytest.mark.parametrize("name", CHOOSERS)
def test_jobs_without_a_plan_are_placed_as_before(name):
    """Each placement policy, that by chance included, draws and places the same."""
    aligned, plain = (placer_of(name, "proportional", 3, align=align) for align in ("stages", "none"))
    for gpus in (20, 17, 5, 24, 13):
        free = free_gpus([4, 3, 4, 2, 4, 4, 1, 4, 4])
        assert aligned.place(free, Demand(gpus)) == plain.place(free, Demand(gpus))
