"""Groups: jobs on the same GPUs, packed, each at its own rate, or interleaved.

Packed jobs run independently and fill each other's idle time (`packed`). Interleaved jobs run stage by stage
under one clock (`interleaved`): every iteration of every member takes the same time. The plan says which mode
a group has. If jobs need CPUs and memory, the group is fed as one (`feeding`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec, Stages
from artist.performance.api import Changed, Running
from artist.performance.couplings.api import Alone
from artist.performance.couplings.feeding import InputOf, with_group
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.couplings.member import Member
from artist.performance.couplings.packed import Packed

StagesOf = Callable[[JobSpec, Allocation, Cluster], Stages]


class Groups:
    """Members of a group share its GPUs.

    Parameters
    ----------
    packed, interleaved
        The two modes of a group.
    stages
        How long an iteration of a job uses each resource where it is placed.
    input_ns
        How long it takes to feed an iteration of a job where it is placed; None if jobs need no CPUs.
    """

    def __init__(
        self, packed: Packed, interleaved: Interleaved, stages: StagesOf, input_ns: InputOf | None = None
    ) -> None:
        self._packed = packed
        self._interleaved = interleaved
        self._stages = stages
        self._input_ns = input_ns

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the changed jobs and the members of their groups, group by group; none without a group."""
        for _, before, after in changed:
            if (before is not None and before.group) or (after is not None and after.group):
                break
        else:
            return ()
        jobs: dict[int, None] = {}
        for job in members_touched(changed, running):
            group = running.allocation(job).group
            jobs.update(dict.fromkeys(running.members(group.name) if group else (job,)))
        return jobs

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the parts of those jobs that are in groups; each group is priced once."""
        longer: dict[int, IterationParts] = {}
        for job in prices:
            group = running.allocation(job).group
            if group is None or job in longer:
                continue
            jobs = list(running.members(group.name))
            members = [
                self._member(running, member, prices[member] if member in prices else alone(member))
                for member in jobs
            ]
            if self._input_ns is not None:
                members = self._fed(self._input_ns, members, jobs, running)
            mode = self._interleaved if group.mode == "interleaved" else self._packed
            longer |= zip(jobs, mode.parts(members, group), strict=True)
        return {job: parts for job, parts in longer.items() if job in prices}

    def _member(self, running: Running, job: int, alone: IterationParts) -> Member:
        spec, allocation = running.spec(job), running.allocation(job)
        stages = self._stages(spec, allocation, running.cluster)
        return Member(allocation, alone, stages, spec.gpu_utilization)

    @staticmethod
    def _fed(
        input_ns: InputOf, members: Sequence[Member], jobs: Sequence[int], running: Running
    ) -> list[Member]:
        """Return members whose waits for input are those of a job alone with all that the group has."""
        fed, cluster = [], running.cluster
        places = with_group([member.allocation for member in members], cluster)
        for job, member, place in zip(jobs, members, places, strict=True):
            takes_ns, alone = input_ns(running.spec(job), place, cluster), member.alone
            stall_ns = alone.input_stall_ns + max(0, takes_ns - alone.compute_ns)
            fed.append(member._replace(alone=alone._replace(input_stall_ns=stall_ns), input_ns=takes_ns))
        return fed


def members_touched(changed: Sequence[Changed], running: Running) -> dict[int, None]:
    """Return the running changed jobs and the members of the groups that they are or were in, each once."""
    jobs: dict[int, None] = {}
    for job, before, after in changed:
        if after is not None:
            jobs[job] = None
        for held in (before, after):
            if held is not None and held.group is not None:
                jobs.update(dict.fromkeys(running.members(held.group.name)))
    return jobs
