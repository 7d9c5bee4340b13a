"""Schema of the configuration; the parameters of a part are declared and validated by the part itself."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from artist.bad_input.records import NoneIfEmpty, Strict
from artist.datacenter.config import ClusterConfig
from artist.performance.effects.compute import MixedTypes
from artist.performance.effects.stages import NetworkStage
from artist.performance.formulas.interleaving import MEASURED_SLOWDOWN, Loading
from artist.policies.partitions.quotas import Quotas

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
    """The network model and its settings.

    Attributes
    ----------
    model
        The network model.
    cache
        Folder of answers on disk; None keeps them in memory only.
    system
        Settings that replace those of the topology; None keeps the topology's.
    profiles
        File of calibrated profiles, or the name of a shipped calibration; None for the shipped profiles.
    fallback
        Model for questions that the first cannot answer; None: the run ends with the model's error.
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
    """Scaling of iteration times, and interference between jobs.

    Attributes
    ----------
    packing_interference
        Slowdown of a job packed on shared GPUs beyond waiting, as a share of its iteration.
    group_slowdown
        Ratios of the time of interleaved groups of 2, 3, 4 jobs to that of the formula.
    loading
        Whether members of interleaved groups wait for each other between reading samples and preparing them.
    network_stage
        Source of the network stage of an interleaved job: the network model, or trace and table.
    mixed_types, mixed_efficiency, scaling_loss
        As for `artist.performance.effects.compute.Compute`.
    tuned_jobs
        Whether elastic jobs train with the batch size that suits their workers
        (`artist.performance.effects.tuned`).
    sensitivity
        Effect of CPUs and memory on the models: synergy, coda, or a file like their
        traces/measured/input_sensitivity.yaml and cpu_side_coda.yaml; None where jobs need none.
    measured_with
        CPUs and memory for which run times of a trace hold: `share`, in proportion to a job's GPUs on the
        cluster's own machines; a machine type of the topology, the share on such machines; `request`, those
        that the job asks for (if it asks for none: the share).
    contention
        Slowdown of jobs on the same links: none, or by how often the others send (`mean_field`), or followed
        packet by packet (`netmodels.contention.contention`).
    contention_packets
        Packets of a component, the jobs joined by links, that are followed for an answer of `packets`, about;
        if it sends more it is followed more coarsely, or at flow level (`netmodels.contention.packet_level`).
        None: all are followed; 0: none. Has a meaning only where collectives are rings
        (`netmodels.contention.traffic.in_rings`).
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
    measured_with: str = "share"
    contention: Literal["none", "mean_field", "packets"] = "none"
    contention_packets: Annotated[int, Field(strict=True, ge=0)] | None = CONTENTION_PACKETS
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
        if self.measured_with != "share" and self.sensitivity is None:
            raise ValueError(
                f"measured_with={self.measured_with} does nothing without a sensitivity; "
                "performance.sensitivity=synergy (or coda, or a file), or performance.measured_with=share"
            )
        return self

    @model_validator(mode="after")
    def _needs_packets(self) -> Self:
        if self.contention_packets != CONTENTION_PACKETS and self.contention != "packets":
            raise ValueError(
                f"contention_packets does nothing with contention={self.contention}; "
                f"performance.contention=packets, or performance.contention_packets={CONTENTION_PACKETS}"
            )
        return self


class StopConfig(Strict):
    """End of a run before all jobs have finished.

    Attributes
    ----------
    jobs
        End when jobs first <= number < last, in order of arrival, have finished.
    time_s
        End at this time.
    """

    jobs: NoneIfEmpty[tuple[int, int]] = None
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
        Whether resources.parquet records the use of resources, with the cluster's CPUs and memory where jobs
        need them, and the blocking of waiting jobs. A run made without it is repeated.
    progress
        Whether to show a progress bar; None for "if stderr is a terminal".
    """

    dir: Path
    name: Annotated[str, BeforeValidator(checked_name)] | None = None
    rates: bool = False
    resources: bool = Field(default=False, strict=True)
    progress: bool | None = None


def _name_of_variant(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("variants are run by a sweep; -m, or leave them out")
    return value


class Config(Strict):
    """The whole configuration of one run.

    Attributes
    ----------
    quotas
        Limits of accounts, users and QOS around the policy.
    variant
        Name of the variant of a sweep that the run is; None without variants.
    """

    seed: Annotated[int, Field(ge=0, strict=True)]
    variant: Annotated[str, BeforeValidator(_name_of_variant)] | None = None
    topology: dict[str, Any]
    cluster: ClusterConfig
    workload: Part
    arrivals: Part
    policy: Part
    quotas: Quotas = Quotas()
    network: NetworkConfig
    performance: PerformanceConfig = PerformanceConfig()
    signals: Part
    estimates: Part
    overheads: Part
    stop: StopConfig
    output: OutputConfig
