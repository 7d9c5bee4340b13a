"""The frame of the configuration. What a part takes is declared, and judged, by the part itself."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from artist.performance.interleaving import MEASURED_CONTENTION, Loading
from artist.performance.placed import NetworkStage

DEFAULT_RACKS = 2
MOST_MACHINES = 100_000  # built in a second and 200 MB; more is a slip, and would eat all memory
MOST_S = 4e9  # as of a trace (artist.workload.table): beyond, sums leave the 64 bits of nanoseconds
_MOST_DAYS = 36_500.0

Factor = Annotated[float, Field(ge=1, le=100)]
Count = Annotated[int, Field(gt=0, le=MOST_MACHINES, strict=True)]
NAME_RULE = "letters, digits, `_`, `.` and `-`, not beginning with `.` or `-`; such as first"


def checked_name(name: object) -> str:
    """Return the name of a sweep, which becomes a folder; raise ValueError if it is none."""
    text = str(name) if isinstance(name, str | int) else ""
    if re.fullmatch(r"\w[\w.-]*", text) is None:
        raise ValueError(f"not the name of a folder; {NAME_RULE}")
    return text


def _needs_target(part: object) -> object:
    if not isinstance(part, dict) or not isinstance(part.get("_target_"), str):
        raise ValueError(
            "a part names its class as `_target_: module.Class`; choose one of its group's files"
        )
    return part


Part = Annotated[dict[str, Any], BeforeValidator(_needs_target)]


class Frame(BaseModel):
    """Base of all records of the frame: frozen, no unknown key, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class MachineGroup(Frame):
    """Some equal machines.

    Attributes
    ----------
    type
        A machine type of the topology.
    count
        How many.
    pool
        Their owner at the start.
    """

    type: str
    count: Count
    pool: str = "default"


class FailureConfig(Frame):
    """Random failures (`artist.failures`).

    Attributes
    ----------
    mtbf_h, repair_h
        Mean hours of a machine between failures, and of a repair.
    days
        For how long machines fail, from the start of the simulation.
    """

    mtbf_h: float = Field(ge=0.1)
    repair_h: float = Field(12.0, gt=0, le=_MOST_DAYS * 24)
    days: float = Field(365.0, gt=0, le=_MOST_DAYS)
    seed: int = Field(0, ge=0)


class ClusterConfig(Frame):
    """Machines fill racks one after another, `machines_per_rack` each; the last rack may be short.

    Attributes
    ----------
    racks, machines
        Size; one follows from the other, and with neither there are DEFAULT_RACKS. `machines` may also
        be a list of groups.
    machines_per_rack
        None for what the topology says.
    machine_type
        None for the topology's default.
    events
        CSV file of machines that fail, join and leave (`artist.capacity`).
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
            As it holds: this record's, or the topology's.
        default_type
            The topology's default machine type.

        Raises
        ------
        ValueError
            If `racks` and `machines` cannot both hold, or there are too many machines; says why.
        """
        if isinstance(self.machines, list):
            total = sum(group.count for group in self.machines)
        else:
            total = self.machines or (self.racks or DEFAULT_RACKS) * machines_per_rack
        if total > MOST_MACHINES:
            raise ValueError(f"{total} machines are too many; at most {MOST_MACHINES} in all")
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


class NetworkConfig(Frame):
    """Who answers for the communication of a job.

    Attributes
    ----------
    model
        The network model.
    cache
        Folder of answers on disk; None keeps them in memory only.
    system
        Settings that replace those of the topology; None keeps the topology's.
    profiles
        File of calibrated profiles, or the name of a calibration that ships; None for profiles as they are.
    fallback
        Who answers where the model cannot; None: the run ends with the model's error.
    ahead
        Processes that ask foreseeable questions before the clock starts; 0 asks when they come up.
    """

    model: Part
    cache: Path | None = None
    profiles: Path | None = None
    fallback: Literal["analytical"] | None = None
    ahead: int = Field(default=0, ge=0, le=1024)
    system: dict[str, Any] = Field(default_factory=dict)


class PerformanceConfig(Frame):
    """What jobs do to each other.

    Attributes
    ----------
    packing_interference
        By what share of its iteration a job that is packed on shared GPUs gets slower, beyond waiting.
    sharing
        How members of a group share its GPUs: packed, each at its own rate, or interleaved under one clock.
        None for what the policy does with its groups.
    contention
        By how much interleaved groups of 2, 3, 4 jobs take longer than the formula says.
    loading
        Whether members of interleaved groups wait for each other between reading samples and preparing them.
    network_stage
        Where the network stage of an interleaved job comes from: the network model, or trace and table.
    """

    packing_interference: float = Field(0.0, ge=0, le=100)
    sharing: Literal["packed", "interleaved"] | None = None
    contention: tuple[Factor, Factor, Factor] = MEASURED_CONTENTION
    loading: Loading = "whole"
    network_stage: NetworkStage = "model"


class StopConfig(Frame):
    """When a run ends before all jobs have finished.

    Attributes
    ----------
    jobs
        End when jobs first <= number < last, in order of arrival, have finished.
    time_s
        End at this time.
    """

    jobs: tuple[int, int] | None = None
    time_s: float | None = Field(default=None, gt=0, le=MOST_S)

    @model_validator(mode="after")
    def _window(self) -> Self:
        if self.jobs is not None and not 0 <= self.jobs[0] < self.jobs[1]:
            raise ValueError("stop.jobs is [first, last] with 0 <= first < last, in order of arrival")
        return self


class OutputConfig(Frame):
    """Where results go and what is written. Not part of the run key.

    Attributes
    ----------
    dir
        Folder of all run folders.
    name
        Name of a sweep's folder; None for the experiment's.
    rates
        Whether events.parquet has changes of iteration time too; there are many.
    resources
        Whether resources.parquet says what is in use, and how blocked those are that wait. A run that was
        made without it is made again.
    progress
        Whether to show a progress bar; None for "if stderr is a terminal".
    """

    dir: Path
    name: Annotated[str, BeforeValidator(checked_name)] | None = None
    rates: bool = False
    resources: bool = Field(default=False, strict=True)
    progress: bool | None = None


class Config(Frame):
    """The whole configuration of one run."""

    seed: Annotated[int, Field(ge=0, strict=True)]
    topology: dict[str, Any]
    cluster: ClusterConfig
    workload: Part
    arrivals: Part
    policy: Part
    network: NetworkConfig
    performance: PerformanceConfig = PerformanceConfig()
    estimates: Part
    overheads: Part
    stop: StopConfig
    output: OutputConfig
