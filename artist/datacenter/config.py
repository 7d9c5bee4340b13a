"""Configuration of the machines: number, types, racks, pools and failures."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, NaiveDatetime, model_validator

from artist.bad_input.records import NoneIfEmpty, Strict
from artist.core.arrays import Ints
from artist.datacenter.causes import Causes
from artist.datacenter.costs import ByType, PowerOrName

DEFAULT_RACKS = 2
MAX_MACHINES = 100_000  # built in a second and 200 MB; more is a slip, and would eat all memory

Count = Annotated[int, Field(gt=0, le=MAX_MACHINES, strict=True)]
_Change = Annotated[int, Field(ge=-MAX_MACHINES, le=MAX_MACHINES, strict=True)]


class MachineGroup(Strict):
    """Some equal machines.

    Attributes
    ----------
    type
        A machine type of the topology.
    count
        Number of machines.
    pool
        Their pool at the start.
    names
        Their names; None for m0, m1, ... by their number. More machines are named for the last: n8+1, ...
    rack
        Their rack; None to fill racks one after another.
    """

    type: str
    count: Count
    pool: str = "default"
    names: tuple[str, ...] | None = None
    rack: Annotated[int, Field(ge=0, lt=MAX_MACHINES, strict=True)] | None = None

    @model_validator(mode="after")
    def _one_name_each(self) -> Self:
        if self.names is not None and len(self.names) != self.count:
            raise ValueError(f"{len(self.names)} names for {self.count} machines; as many names as `count`")
        return self


class ClusterConfig(Strict):
    """Machines fill racks one after another, `machines_per_rack` each; the last rack may be short.

    Attributes
    ----------
    racks, machines
        Size; one follows from the other, and with neither there are DEFAULT_RACKS. `machines` may also
        be a list of groups.
    machines_per_rack
        None for the topology's value.
    machine_type
        None for the topology's default.
    shares
        Machines by pool instead of `racks` and `machines`: a file of counts by date
        (`artist.datacenter.shares`), or `largest`, the most GPUs that a pool had in use in the trace.
    shares_since
        Time of second 0 in that file; None for its first date.
    pools
        Pools of the file, or of the trace, to take; None for all.
    scale
        Factor of the number of machines, pool by pool.
    more
        Machines more than that, or fewer if negative: a number for each pool, or one for all, shared in
        proportion to their machines.
    partition_by
        Column of the jobs that names the pool on whose machines alone they run; None where they run on all.
    one_pool
        Whether the machines of all partitions serve all jobs after all.
    whole_machines
        Jobs that take the fewest machines that hold their GPUs, if they have no `max_machines`: all, or None
        for none. (Jobs of whole machines: `workload.unit=machine`.)
    events
        CSV file of machines that fail, join and leave (`artist.datacenter.events`).
    failures
        Causes of random failures, or the name of published ones, instead of a file.
    spares
        Machines of each rack that serve only in place of others that failed; kept free without failures, too.
    health_check_h
        Time in hours for which a machine that was out of service is checked, after its repair.
    prices
        Money per GPU-hour, by GPU type or for all; None where money is not counted.
    power
        Power of machines, or `data_sheets`; None where energy is not counted.
    """

    racks: Count | None = None
    machines: Count | Annotated[list[MachineGroup], Field(min_length=1)] | None = None
    machines_per_rack: Count | None = None
    machine_type: str | None = None
    shares: Literal["largest"] | Path | None = None
    shares_since: NaiveDatetime | None = None
    pools: tuple[str, ...] | None = None
    scale: float = Field(1.0, gt=0, le=1000)
    more: _Change | dict[str, _Change] = 0
    partition_by: Literal["vc", "partition"] | None = None
    one_pool: bool = Field(default=False, strict=True)
    whole_machines: Literal["all"] | None = None
    events: Path | None = None
    failures: NoneIfEmpty[Causes] = None
    spares: int = Field(0, ge=0, le=MAX_MACHINES, strict=True)
    health_check_h: float = Field(0.0, ge=0, le=876_000)
    prices: ByType | None = None
    power: PowerOrName = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.events is not None and self.failures is not None:
            raise ValueError(
                "cluster.events names a file, so cluster.failures cannot hold too; "
                "leave one of the two out (null)"
            )
        if self.spares and (self.events or isinstance(self.shares, Path)):
            file = "events" if self.events else "shares"
            raise ValueError(
                f"cluster.{file} names a file, whose events no spare answers; "
                "cluster.failures instead, or cluster.spares=0"
            )
        names = [cause.cause for cause in self.failures or ()]
        if len(set(names)) < len(names):
            raise ValueError("cluster.failures has two causes of one name; a name for each cause")
        if isinstance(self.machines, list) and self.machine_type is not None:
            raise ValueError(
                "cluster.machines is a list that names its types, so cluster.machine_type cannot hold too; "
                "leave one of the two out (null)"
            )
        return self

    @model_validator(mode="after")
    def _pools_agree(self) -> Self:
        size = next((n for n in ("racks", "machines") if getattr(self, n) is not None), None)
        by_date = isinstance(self.shares, Path)
        if self.shares is not None and size:
            raise ValueError(
                f"cluster.shares says how many machines there are, so cluster.{size} cannot hold too; "
                "leave one of the two out (null)"
            )
        if by_date and (self.events or self.failures):
            raise ValueError(
                "cluster.shares names a file by date, so cluster.events and cluster.failures cannot hold; "
                "leave one of them out (null)"
            )
        if self.shares_since is not None and not by_date:
            raise ValueError("cluster.shares_since is a date of a file; cluster.shares=FILE, or null")
        if self.shares == "largest" and self.partition_by is None:
            raise ValueError("cluster.shares=largest is by partition; cluster.partition_by=vc or partition")
        if self.one_pool and self.partition_by is None:
            raise ValueError("cluster.one_pool joins partitions; cluster.partition_by=vc or partition")
        return self

    def groups(self, machines_per_rack: int, default_type: str) -> tuple[MachineGroup, ...]:
        """Return the machines as groups.

        Parameters
        ----------
        machines_per_rack
            The value in force: this record's, or the topology's.
        default_type
            The topology's default machine type.

        Raises
        ------
        ValueError
            If `racks` and `machines` contradict each other, or there are too many machines; with the reason.
        """
        if isinstance(self.machines, list):
            total = sum(group.count for group in self.machines)
        else:
            total = self.machines or (self.racks or DEFAULT_RACKS) * machines_per_rack
        if total > MAX_MACHINES:
            raise ValueError(f"{total} machines are too many; at most {MAX_MACHINES} in all")
        if isinstance(self.machines, list):
            groups = tuple(self.machines)
        else:
            groups = (MachineGroup(type=self.machine_type or default_type, count=total),)
        needed = -(-total // machines_per_rack)
        if self.racks is not None and self.racks != needed:
            raise ValueError(
                f"{total} machines at {machines_per_rack} to a rack fill {needed} racks, not {self.racks}; "
                "leave out cluster.racks or cluster.machines, or change cluster.machines_per_rack"
            )
        return tuple(group.model_copy(update={"count": scaled(group.count, self.scale)}) for group in groups)

    def max_machines(self, machine_gpus: int) -> Callable[[Ints], Ints] | None:
        """Return the rule for the maximum number of machines by a job's GPUs, 0 for any; None for no rule."""
        if self.whole_machines is None or not machine_gpus:
            return None
        return lambda gpus: -(-gpus // machine_gpus)


def scaled(count: int, factor: float) -> int:
    """Return a number of machines times a factor: rounded, half up, and at least one.

    >>> scaled(26, 0.85), scaled(1, 0.1)
    (22, 1)
    """
    return max(1, int(count * factor + 0.5))
