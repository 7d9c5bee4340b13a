"""The frame of the configuration. What a part takes is declared, and judged, by the part itself."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from artist.bad_input.records import Strict
from artist.datacenter.config import ClusterConfig
from artist.performance.effects.compute import MixedTypes
from artist.performance.effects.input_stall import MeasuredWith
from artist.performance.effects.stages import NetworkStage
from artist.performance.formulas.interleaving import MEASURED_SLOWDOWN, Loading

MAX_S = 4e9  # as of a trace (artist.workload.table): beyond, sums leave the 64 bits of nanoseconds

CONTENTION_PACKETS = 1_000_000

Factor = Annotated[float, Field(ge=1, le=100)]
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


class NetworkConfig(Strict):
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
        Answers if the model cannot; None: the run ends with the model's error.
    ahead
        Processes that ask foreseeable questions before the clock starts; 0 asks when they come up.
    """

    model: Part
    cache: Path | None = None
    profiles: Path | None = None
    fallback: Literal["analytical"] | None = None
    ahead: int = Field(default=0, ge=0, le=1024)
    system: dict[str, Any] = Field(default_factory=dict)


class PerformanceConfig(Strict):
    """How iteration times scale, and what jobs do to each other.

    Attributes
    ----------
    packing_interference
        By what share of its iteration a job that is packed on shared GPUs gets slower, beyond waiting.
    group_slowdown
        By how much interleaved groups of 2, 3, 4 jobs take longer than the formula says.
    loading
        Whether members of interleaved groups wait for each other between reading samples and preparing them.
    network_stage
        Where the network stage of an interleaved job comes from: the network model, or trace and table.
    mixed_types, mixed_efficiency, scaling_loss
        As for `artist.performance.effects.compute.Compute`.
    tuned_jobs
        Whether elastic jobs train with the batch size that suits their workers
        (`artist.performance.effects.tuned`).
    sensitivity
        What CPUs and memory do for the models: synergy, coda, or a file like their
        traces/measured/input_sensitivity.yaml and cpu_side_coda.yaml; None where jobs need none.
    measured_with
        Whether run times of a trace hold for the share of CPUs and memory that goes with a job's GPUs, or for
        those that the job asks for (if it asks for none: for the share).
    stall
        Whether CPUs and memory below the best case count by the curve, or as the proportional share.
    contention
        What jobs on the same links do to each other: nothing, or what `netmodels.contention.contention` finds
        on average, or by following them in time.
    contention_packets
        How many packets of a component, the jobs joined by links, are followed for an answer of `phases`,
        about; if it sends more it is followed more coarsely, or as fluids
        (`netmodels.contention.packet_phases`). None: all are followed. Has a meaning only where messages are
        packets in rings (`netmodels.contention.traffic.in_rings`).
    whole_iterations_s
        As `round_ns` of `artist.performance.whole_iterations.WholeIterations`, in seconds.
    effects, couplings
        Parts of the user's own, after those that are always there (`artist.performance.effects.api`,
        `artist.performance.couplings.api`).
    """

    packing_interference: float = Field(0.0, ge=0, le=100)
    group_slowdown: tuple[Factor, Factor, Factor] = MEASURED_SLOWDOWN
    loading: Loading = "whole"
    network_stage: NetworkStage = "model"
    mixed_types: MixedTypes = "slowest"
    mixed_efficiency: float = Field(1.0, gt=0, le=1)
    scaling_loss: float = Field(0.0, ge=0, lt=1)
    tuned_jobs: bool = Field(default=False, strict=True)
    sensitivity: Path | None = None
    measured_with: MeasuredWith = "share"
    stall: Literal["curve", "step"] = "curve"
    contention: Literal["none", "average", "phases"] = "none"
    contention_packets: Annotated[int, Field(strict=True, ge=1)] | None = CONTENTION_PACKETS
    whole_iterations_s: float | None = Field(default=None, gt=0, le=MAX_S)
    effects: tuple[Part, ...] = ()
    couplings: tuple[Part, ...] = ()

    @field_validator("sensitivity", mode="before")
    @classmethod
    def _names_a_table(cls, value: object) -> object:
        if value is None or isinstance(value, str | Path):
            return value
        raise ValueError("must name a table; synergy, coda, a path, or null so that jobs need none")

    @model_validator(mode="after")
    def _needs_a_curve(self) -> Self:
        for field, usual in (("stall", "curve"), ("measured_with", "share")):
            found = getattr(self, field)
            if found != usual and self.sensitivity is None:
                raise ValueError(
                    f"{field}={found} does nothing without a sensitivity; "
                    f"performance.sensitivity=synergy (or coda, or a file), or performance.{field}={usual}"
                )
        return self

    @model_validator(mode="after")
    def _needs_phases(self) -> Self:
        if self.contention_packets != CONTENTION_PACKETS and self.contention != "phases":
            raise ValueError(
                f"contention_packets does nothing with contention={self.contention}; "
                f"performance.contention=phases, or performance.contention_packets={CONTENTION_PACKETS}"
            )
        return self


class StopConfig(Strict):
    """When a run ends before all jobs have finished.

    Attributes
    ----------
    jobs
        End when jobs first <= number < last, in order of arrival, have finished.
    time_s
        End at this time.
    """

    jobs: tuple[int, int] | None = None
    time_s: float | None = Field(default=None, gt=0, le=MAX_S)

    @model_validator(mode="after")
    def _window(self) -> Self:
        if self.jobs is not None and not 0 <= self.jobs[0] < self.jobs[1]:
            raise ValueError("not a window; [first, last] with 0 <= first < last, in order of arrival")
        return self


class OutputConfig(Strict):
    """Place and content of results. Not part of the run key.

    Attributes
    ----------
    dir
        Folder of all run folders.
    name
        Name of a sweep's folder; None for the experiment's.
    rates
        Whether events.parquet has changes of iteration time too; there are many.
    resources
        Whether resources.parquet says what is in use, of the cluster's CPUs and memory too where jobs need
        them, and how blocked those are that wait. A run that was made without it is made again.
    progress
        Whether to show a progress bar; None for "if stderr is a terminal".
    """

    dir: Path
    name: Annotated[str, BeforeValidator(checked_name)] | None = None
    rates: bool = False
    resources: bool = Field(default=False, strict=True)
    progress: bool | None = None


class Config(Strict):
    """The whole configuration of one run."""

    seed: Annotated[int, Field(ge=0, strict=True)]
    topology: dict[str, Any]
    cluster: ClusterConfig
    workload: Part
    arrivals: Part
    policy: Part
    network: NetworkConfig
    performance: PerformanceConfig = PerformanceConfig()
    signals: Part
    estimates: Part
    overheads: Part
    stop: StopConfig
    output: OutputConfig
