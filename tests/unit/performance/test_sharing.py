"""The plan decides how a group shares its GPUs; the configuration decides the times."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from artist.core.cluster import Group
from artist.core.events import Start
from artist.core.iteration import IterationParts
from artist.core.job import Stages
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.couplings.member import Member
from artist.policies.muri.policy import Muri
from artist.run.config import PerformanceConfig
from artist.testing.tiny import job, on, run_checked, tiny_cluster
from artist.units import seconds_to_ns


@pytest.mark.parametrize("ordering", ["best", "worst"])
def test_groups_of_muri_are_marked_as_interleaved_with_their_ordering(ordering):
    """Two jobs of one GPU, 1 s on each resource: 4 s together instead of 8 in turn, in whichever ordering."""
    second = Stages(*[seconds_to_ns(1)] * 4)
    jobs = [replace(job(name, iteration_s=4), stages=second) for name in "ab"]
    policy = Muri(order="srsf", ordering=ordering, on_events=True)
    _, events = run_checked(jobs, tiny_cluster(1, 1), policy)
    groups = [event.allocation.group for event in events if isinstance(event, Start)]
    assert [(group.mode, group.ordering) for group in groups] == [("interleaved", ordering)] * 2


def test_groups_run_in_their_ordering():
    """Two jobs of CPU 3, GPU 1 and CPU 1, GPU 3: shifted by one 1 + 3 + 1 = 5 at best, 8 in turn at worst."""
    for ordering, period_ns in (("best", 5), ("worst", 8)):
        group = Group("g", ((0, 1),), mode="interleaved", ordering=ordering)
        members = [
            Member(on((0, 1), group=group), IterationParts(4), Stages(0, cpu, gpu, 0), 1.0)
            for cpu, gpu in ((3, 1), (1, 3))
        ]
        assert [sum(parts) for parts in Interleaved().parts(members, group)] == [period_ns] * 2


def test_a_factor_below_one_is_no_slowdown():
    """Sharing makes no job faster than the formula, which has all resources to itself."""
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        PerformanceConfig(group_slowdown=(0.9, 1, 1))
