"""Configuration of the machines: number, types, racks, pools and failures."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from artist.bad_input.records import Strict

DEFAULT_RACKS = 2
MAX_MACHINES = 100_000  # built in a second and 200 MB; more is a slip, and would eat all memory
_MAX_DAYS = 36_500.0

Count = Annotated[int, Field(gt=0, le=MAX_MACHINES, strict=True)]


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
    """

    type: str
    count: Count
    pool: str = "default"


class FailureConfig(Strict):
    """Random failures (`artist.datacenter.failures`).

    Attributes
    ----------
    mtbf_h, repair_h
        Mean hours of a machine between failures, and of a repair.
    days
        Days in which machines fail, from the start of the simulation.
    """

    mtbf_h: float = Field(ge=0.1)
    repair_h: float = Field(12.0, gt=0, le=_MAX_DAYS * 24)
    days: float = Field(365.0, gt=0, le=_MAX_DAYS)
    seed: int = Field(0, ge=0)


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
    events
        CSV file of machines that fail, join and leave (`artist.datacenter.events`).
    failures
        Random failures instead of a file.
    """

    racks: Count | None = None
    machines: Count | Annotated[list[MachineGroup], Field(min_length=1)] | None = None
    machines_per_rack: Count | None = None
    machine_type: str | None = None
    events: Path | None = None
    failures: FailureConfig | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.events is not None and self.failures is not None:
            raise ValueError(
                "cluster.events names a file, so cluster.failures cannot hold too; "
                "leave one of the two out (null)"
            )
        if isinstance(self.machines, list) and self.machine_type is not None:
            raise ValueError(
                "cluster.machines is a list that names its types, so cluster.machine_type cannot hold too; "
                "leave one of the two out (null)"
            )
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
        return groups
