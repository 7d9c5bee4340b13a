"""Assembly of a run from its configuration; no other module imports every concrete part."""

import gc
import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artist.bad_input.records import validated
from artist.core.cluster import CapacityEvent, Cluster
from artist.core.events import Observer
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.core.memory import release
from artist.core.rates import Rates
from artist.core.result import RunResult
from artist.core.view import Signal
from artist.data import data_path
from artist.datacenter.costs import rates_of
from artist.datacenter.events import machine_of
from artist.datacenter.failures import Failures
from artist.datacenter.gpus import gpus_of
from artist.engine.consolidated import Consolidated
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.errors import InputError, PlanError
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.couplings.packed import Packed
from artist.performance.effects.communication import Communication
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall, MeasuredWith
from artist.performance.effects.tuned import TunedCompute
from artist.performance.own_parts import checked_coupling, checked_effect
from artist.performance.placed import PlacedPerformance
from artist.run.config import CONTENTION_PACKETS, Config, NetworkConfig, PerformanceConfig
from artist.run.followed import check_signals
from artist.run.lost_time import warn_of_pace, watched
from artist.run.notes import (
    check_effects,
    log_notes,
    warn_of_memory,
    warn_of_preset,
    warn_of_requests,
    warn_of_shifts,
    warn_without_links,
    warn_without_needs,
)
from artist.run.parts import part, parts
from artist.run.pools import (
    SLURM,
    check_aligned,
    check_fits,
    check_partitions,
    check_pools,
    check_segments,
    checked_quotas,
    sized_cluster,
)
from artist.run.programs import Programs
from artist.run.setting import Setting, describe_run
from artist.units import seconds_to_ns
from netmodels.api import (
    AnalyticalModel,
    CachedModel,
    Fabric,
    NetworkModel,
    Profile,
    SystemSettings,
    Topology,
    ZeroModel,
    get_profile,
    load_topology,
    merge_system,
)
from netmodels.fabric.system import DEFAULT_PRESET

if TYPE_CHECKING:
    from artist.workload.measured import Price, Stretch
    from netmodels.api import SharedLinks

log = logging.getLogger("artist")

_UNNAMED = (AttributeError, RuntimeError, TypeError, KeyError)  # no mapping, home, path, name


@dataclass(frozen=True, slots=True)
class Simulation:
    """Everything that a run needs, checked, before its clock starts."""

    config: Config
    jobs: Sequence[JobSpec]
    cluster: Cluster
    capacity_events: Sequence[CapacityEvent]
    failures: Failures | None
    policy: Any
    network: CachedModel
    performance: PlacedPerformance
    overheads: Any
    estimates: Any
    stop: StopRule
    signals: Mapping[str, Signal]
    rates: Rates | None
    enforce_limits: bool
    input_files: tuple[Path, ...]
    setting: Setting

    def run(self, observers: Sequence[Observer]) -> RunResult:
        """Run to the end.

        Raises
        ------
        InputError
            If a job can never fit the cluster.
        PlanError, StuckError
            If the policy is at fault.
        """
        with _seldom_collecting():
            return self._run(tuple(observers))

    def _run(self, observers: Sequence[Observer]) -> RunResult:
        engine = Engine(
            self.jobs,
            self.cluster,
            self.policy,
            self.performance,
            overheads=self.overheads,
            estimates=self.estimates,
            stop=self.stop,
            capacity_events=self.capacity_events,
            failures=self.failures or (),
            signals=self.signals,
            enforce_limits=self.enforce_limits,
            observers=observers,
        )
        with watched(engine.jobs):
            return engine.run()


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Collect garbage rarely: the engine makes none, and there may be hundred thousands of jobs to search.

    New objects are searched 20,000 at a time, which adds 10 ms to some decision. The engine's columns are
    garbage afterwards: half the memory of a million jobs, before results are written.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 250, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.collect()
        gc.unfreeze()
        release()


def check_config(raw: Mapping[str, Any]) -> Config:
    """Return the resolved configuration as a checked record.

    Raises
    ------
    InputError
        For the first bad field.
    """
    if "experiment" in raw:
        what = "an experiment file without `# @package _global_`"
        allowed = "`# @package _global_` as its first line"
        raise InputError(what, where="experiment", found=raw["experiment"], allowed=allowed)
    return validated(Config, raw)


def with_site(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with the values of the files of Slurm that it names, if there are any.

    Those of `quotas.conf` are limits around a policy, and all of Slurm's settings for `policy=slurm`.

    Raises
    ------
    InputError
        If they cannot be read, or hold settings that are not simulated.
    """
    section, files = _site_files(raw)
    if not files:
        return raw
    from artist.site.machines import with_slurm  # most runs do without

    if section == "policy" and not raw["policy"].get("conf"):
        raw = {**raw, "policy": {**raw["policy"], "conf": files}, "quotas": {**raw["quotas"], "conf": None}}
    return with_slurm(raw, section)


def _site_files(raw: Mapping[str, Any]) -> tuple[str, object]:
    """Return the part of a configuration that takes files of Slurm, its policy or `quotas`, and the files."""
    policy, quotas = (
        one if isinstance(one := raw.get(name), Mapping) else {} for name in ("policy", "quotas")
    )
    if policy.get("_target_") != SLURM:
        return "quotas", quotas.get("conf")
    return "policy", policy.get("conf") or quotas.get("conf")


def build(config: Config, named: Collection[str] = ()) -> Simulation:
    """Build all parts of a run.

    Parameters
    ----------
    named
        Fields that the command line sets: those without effect are refused.

    Raises
    ------
    InputError
        For the first fault, with file, row or field, value and allowed values.
    """
    from artist.workload.api import observed
    from artist.workload.load import load_jobs  # other commands do without
    from artist.workload.measured import log_requests

    topology = load_topology(config.topology, config.cluster.machines_per_rack)
    source = part(config.workload, "workload", ("table",))
    cluster, capacity_events, table = sized_cluster(config.cluster, topology, source)
    network, system = build_network(config.network, topology, named)
    policy = part(config.policy, "policy", ("decide",))
    overheads = part(config.overheads, "overheads", ("delay_ns",))
    causes, check_s = config.cluster.failures or (), 3600 * config.cluster.health_check_h
    failures = None
    if causes or config.cluster.spares:  # these are kept, and counted, without failures, too
        failures = Failures(causes, cluster, config.seed, check_s)
    if causes and failures is not None and isinstance(overheads, Overheads):
        overheads = overheads.under(failures.of_gpus_per_s)
    estimates = part(config.estimates, "estimates", ("factors", "performance", "first_delays_ns"))
    warn_without_needs(config.performance, policy, estimates)
    usual = network_profiles(config.network, topology, system, network.model)
    programs = Programs(usual, cluster, topology, network, system, config.performance.contention)
    profiles = programs.profile
    measured_with = _measured_with(config.performance, topology)
    compute, stall = build_compute(config.performance, measured_with, programs.between_sizes)
    communication = Communication(network, topology.fabric, system, profiles, compute)
    arrivals = part(config.arrivals, "arrivals", ("apply",))
    jobs = load_jobs(
        *(source, arrivals, cluster.default_gpus),
        lambda model: programs.shipped(model).compute_ns,
        gpus_of(cluster, topology),
        _stretch(stall, cluster),
        _price(communication, cluster) if observed(source) else None,
        config.cluster.max_machines(cluster.largest_machine),
        cluster.largest_machine,
        table,
        programs.step_s,
    )
    programs.check(jobs)
    del table
    release()  # the tables: a fifth of the memory of a million jobs
    if config.performance.measured_with == "request":
        log_requests(jobs)
    warn_of_requests(policy, jobs)
    warn_of_pace(config.policy, overheads, jobs)
    warn_without_links(config.performance, policy)
    warn_of_shifts(config.performance, policy, jobs, profiles)
    series = part(config.signals, "signals", ("series",))
    signals: Mapping[str, Signal] = series.series()
    check_signals(policy, cluster, signals)
    check_segments(policy, jobs)
    check_aligned(policy, jobs)
    by = None if config.cluster.one_pool else config.cluster.partition_by
    if by is None:
        check_pools(policy, cluster)
        check_fits(policy, cluster, jobs, capacity_events, signals)
    else:
        check_partitions(policy, by, cluster, jobs, capacity_events, signals)
    quotas = checked_quotas(config.quotas, policy, by, cluster)
    if quotas or by:
        from artist.policies.partitions.policy import Partitions  # most runs do without

        policy = Partitions(lambda: part(config.policy, "policy", ("decide",)), by, quotas)
    log_notes(policy, cluster, jobs)
    stop = _stop(config, len(jobs))
    types = dict.fromkeys(machine.type for machine in cluster.machines)
    warn_of_memory(jobs, profiles, [topology.machine_types[name] for name in types])
    contention = build_contention(config.performance, network, topology.fabric, system, cluster)
    performance = build_performance(
        config.performance, network, topology.fabric, system, profiles, compute, stall, contention
    )
    described = {
        "policy": policy,
        "workload": source,
        "arrivals": arrivals,
        "signals": series,
        "overheads": overheads,
        "estimates": estimates,
        "network": network.model,
    }
    return Simulation(
        config,
        jobs,
        cluster,
        capacity_events,
        failures,
        policy,
        network,
        performance,
        overheads,
        estimates,
        stop,
        signals,
        rates_of(config.cluster.prices, config.cluster.power, cluster, signals),
        source.parameters.limits.enforced,
        _files_of((*described.values(), *performance.own_parts), config.model_dump()),
        describe_run(config, described, jobs, cluster, topology, system, performance.own_parts),
    )


def input_files(raw: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the input files that the parts of a configuration declare; none of an invalid part."""
    users: list[Any] = []
    for field in ("policy", "workload", "arrivals", "signals", "overheads", "estimates", "network.model"):
        with suppress(Exception, SystemExit):  # the run itself reports the fault
            users.append(part(reduce(getitem, field.split("."), raw), field, ()))
    for field in ("effects", "couplings"):
        with suppress(Exception, SystemExit):
            users += parts(raw["performance"][field], f"performance.{field}", ())
    with suppress(Exception):
        _, conf = _site_files(raw)
        if conf:
            from artist.site.machines import files_of

            return (*_files_of(users, raw), *files_of(conf))
    return _files_of(users, raw)


def _files_of(parts: Sequence[Any], raw: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the input files that parts, and parts of these, declare, and the calibrated profiles."""
    inner = [value for user in parts for value in getattr(user, "__dict__", {}).values()]
    files = [Path(path) for user in (*parts, *inner) for path in getattr(user, "input_files", ())]
    with suppress(*_UNNAMED):
        files.append(_profiles_file(Path(raw["network"].get("profiles")), str(raw["topology"]["name"])))
    with suppress(*_UNNAMED):
        table = Path(raw["performance"]["sensitivity"])
        from artist.run.sensitivity import sensitivity_file

        files.append(sensitivity_file(table))
    return tuple(files)


def build_network(
    config: NetworkConfig, topology: Topology, named: Collection[str] = ()
) -> tuple[CachedModel, SystemSettings]:
    """Build the network model, and the settings of its questions.

    Parameters
    ----------
    named
        Fields that the command line sets: those without effect are refused.

    Raises
    ------
    InputError
        If a setting or a parameter is not allowed, or the folder of its cache cannot be made.
    """
    settings = {name: value for name, value in config.system.items() if value is not None}
    preset = settings.pop("preset", DEFAULT_PRESET)
    system = _system(topology, preset, settings)
    if "network.system.preset" in named:
        warn_of_preset(preset, topology)
    model = part(config.model, "network.model", ("iteration",))
    check_effects(model, system, settings, named)
    fallback = AnalyticalModel() if config.fallback else None
    try:
        return CachedModel(model, config.cache, fallback), system
    except InputError as error:
        if error.where != "network.cache" or os.environ.get("ARTIST_CACHE") != str(config.cache):
            raise
        where = "environment variable ARTIST_CACHE"
        raise InputError(error.what, where=where, found=error.found, allowed=error.allowed) from None


def network_profiles(
    config: NetworkConfig, topology: Topology, system: SystemSettings, model: NetworkModel
) -> Callable[[str], Profile]:
    """Return the profiles for the network model, by name.

    A job's compute time never comes from a calibrated profile: it is the trace's, or the shipped profile's.

    Raises
    ------
    InputError
        If their file is invalid.
    """
    if config.profiles is None:
        return get_profile
    from netmodels.calibration.calibrated import read_calibrated

    calibrated = read_calibrated(_profiles_file(config.profiles, topology.name))
    if isinstance(model, ZeroModel):  # whose answers have nothing of the layers
        return calibrated
    if calibrated.topology not in ("", topology.name):
        note = "the profiles of %s were calibrated for topology %s, not %s"
        log.warning(note, config.profiles, calibrated.topology, topology.name, extra={"note": True})
    for name in ("collectives", "bucket_cap_mb"):  # within one machine, where profiles are fitted
        then, now = calibrated.system.get(name), getattr(system, name)
        if name in calibrated.system and then != now:
            note = "the profiles of %s were calibrated with network.system.%s=%s, not %s"
            values = ("null" if value is None else value for value in (then, now))
            log.warning(note, config.profiles, name, *values, extra={"note": True})
    return calibrated


def _profiles_file(profiles: Path, topology: str) -> Path:
    """Return the file of profiles: the named one, or that of a shipped calibration for the topology."""
    shipped = data_path("traces", "calibrated") / profiles
    if len(profiles.parts) != 1 or not shipped.is_dir():
        return profiles.expanduser()
    file = shipped / f"{topology}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in shipped.glob("*.yaml")))
        allowed = f"topology={known}"
        if data_path("traces", f"measured/{profiles}.csv").is_file():
            command = f"artist-calibrate measured={profiles} topology=NAME out=FILE"
            allowed += f"; for another: {command}, then that FILE"
        what = f"it ships for other topologies than {topology}"
        raise InputError(what, where="network.profiles", found=str(profiles), allowed=allowed)
    return file


def _system(topology: Topology, preset: str, settings: Mapping[str, Any]) -> SystemSettings:
    try:
        return merge_system(topology.system(preset), settings)
    except InputError as error:
        where = f"network.{error.where}"
        raise InputError(error.what, where=where, found=error.found, allowed=error.allowed) from None


def _measured_with(config: PerformanceConfig, topology: Topology) -> MeasuredWith:
    """Return the CPUs and memory for which run times hold, those of a machine type as such a machine."""
    name, field = config.measured_with, "performance.measured_with"
    if name == "request":
        return "request"
    if name == "share":
        return "share"
    try:
        machine = machine_of(name, 0, topology.machine_type(name, field), "")
    except InputError as error:
        allowed = f"share, request, or a machine type: {error.allowed}"
        raise InputError(error.what, where=field, found=name, allowed=allowed) from None
    if not machine.gpus:
        raise InputError("machines without GPUs have no share of them", where=field, found=name)
    return machine


def build_compute(
    config: PerformanceConfig,
    measured_with: MeasuredWith = "share",
    between_sizes: Callable[[str, int, int], float] | None = None,
) -> tuple[Compute, InputStall | None]:
    """Build the scaling of compute (`between_sizes`: as there), and the effect of CPUs and memory, if any.

    Raises
    ------
    InputError
        If the file of sensitivities is invalid.
    """
    scaling = TunedCompute if config.tuned_jobs else Compute
    compute = scaling(config.mixed_types, config.mixed_efficiency, config.scaling_loss, between_sizes)
    if config.sensitivity is None:
        return compute, None
    from artist.run.sensitivity import read_sensitivities

    return compute, InputStall(read_sensitivities(config.sensitivity), compute, measured_with)


def _stretch(stall: InputStall | None, cluster: Cluster) -> "Stretch | None":
    """Return the ratio of a trace's run times to their compute; None where jobs need no input."""
    machine = cluster.default_machine
    if stall is None or machine is None:
        return None
    return lambda model, gpus, speed, asked: stall.as_measured(model, gpus, speed, machine, asked)


def _price(communication: Communication, cluster: Cluster) -> "Price":
    """Return the communication that observed run times include: of the machines that a job had, if known."""
    consolidated = Consolidated(cluster)

    def price(model: str, gpus: int, speed: float, gpu_types: str, machines: float) -> float:
        demand = Demand(gpus, gpu_types=tuple(gpu_types.split("|")) if gpu_types else ())
        try:
            placed = consolidated.spread(demand, gpus, int(machines))
        except PlanError:  # it never fits: the run says so
            return 0.0
        return communication.share(JobSpec("", 0, demand, 1, 1, model), placed, cluster, speed)

    return price


def check_packets(packets: object, model: NetworkModel, system: SystemSettings, where: str) -> None:
    """Refuse a number of packets that are to be followed where it has no effect.

    Raises
    ------
    InputError
        If the network model follows packets of its own, or messages are none.
    """
    from netmodels.contention.packet_level import Runner
    from netmodels.contention.traffic import IN_RINGS, in_rings

    if isinstance(model, Runner):
        what, allowed = "the network model follows its own packets", "network.model.packets_together instead"
        raise InputError(what, where=where, found=packets, allowed=allowed)
    if not in_rings(system):
        what, allowed = "there are no packets to be followed", f"{IN_RINGS}; or leave it out"
        raise InputError(what, where=where, found=packets, allowed=allowed)


def build_contention(
    config: PerformanceConfig,
    network: CachedModel,
    fabric: Fabric,
    system: SystemSettings,
    cluster: Cluster,
) -> "SharedLinks | None":
    """Make the links that jobs share; None if each is priced as if it had them to itself.

    The traffic of jobs is priced by the network model if it prices the parts of a collective, else here.

    Raises
    ------
    InputError
        If the network model knows no communication, or packets are to be followed where messages are none.
    """
    if config.contention == "none":
        return None
    if isinstance(network.model, ZeroModel):
        what, allowed = "jobs that send nothing share no links", "none with network=zero; another network"
        raise InputError(what, where="performance.contention", found=config.contention, allowed=allowed)
    from netmodels.contention.contention import Contention  # most runs do without
    from netmodels.contention.traffic import Priced

    most = config.contention_packets
    if most != CONTENTION_PACKETS:
        packets, where = "null" if most is None else most, "performance.contention_packets"
        check_packets(packets, network.model, system, where)
    machines = ((m.rack, number, m.type, m.gpus) for number, m in enumerate(cluster.machines))
    model = network.model if isinstance(network.model, Priced) else None
    return Contention(config.contention, machines, fabric, system, model, most)


def build_performance(
    config: PerformanceConfig,
    network: NetworkModel,
    fabric: Fabric,
    system: SystemSettings,
    profiles: Callable[[str], Profile],
    compute: Compute,
    input_stall: InputStall | None,
    contention: "SharedLinks | None" = None,
) -> PlacedPerformance:
    """Build the source of iteration times.

    Raises
    ------
    InputError
        If an effect or a coupling of the user's own cannot be made, or is none.
    """
    effects = parts(config.effects, "performance.effects", ("ns",))
    couplings = parts(config.couplings, "performance.couplings", ("touched", "coupled"))
    for place, effect in enumerate(effects):
        if getattr(effect, "part", None) not in (of_performance := IterationParts._fields[:-2]):
            where, field = f"performance.effects[{place}]", getattr(effect, "part", None)
            allowed = ", ".join(of_performance)
            raise InputError("it adds to no part of an iteration", where=where, found=field, allowed=allowed)
    return PlacedPerformance(
        network,
        fabric,
        system,
        profiles,
        compute=compute,
        packed=Packed(config.packing_interference),
        interleaved=Interleaved(config.group_slowdown, config.loading),
        network_stage=config.network_stage,
        input_stall=input_stall,
        contention=contention,
        effects=[checked_effect(part, f"performance.effects[{i}]") for i, part in enumerate(effects)],
        couplings=[checked_coupling(part, f"performance.couplings[{i}]") for i, part in enumerate(couplings)],
    )


def _stop(config: Config, n_jobs: int) -> StopRule:
    stop = config.stop
    if stop.jobs is not None and stop.jobs[1] > n_jobs:
        allowed = f"[first, last] with last <= {n_jobs}, the number of jobs"
        raise InputError(
            "the window ends after the last job", where="stop.jobs", found=list(stop.jobs), allowed=allowed
        )
    return StopRule(stop.jobs, None if stop.time_s is None else seconds_to_ns(stop.time_s))
