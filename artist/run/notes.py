"""Notes for the user, logged once per run, on settings and policies without effect on these jobs."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from artist.core.cluster import Cluster
from artist.core.compact_jobs import field_of
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.performance.profiling import OptimisticProfiling
from artist.recording.inputs import InputColumns
from artist.recording.job_types import JobTypes
from artist.recording.topic import Topic
from artist.run.config import PerformanceConfig
from netmodels.api import AnalyticalModel, MachineType, Profile, SystemSettings, Topology, too_large
from netmodels.fabric.system import PRESETS, Idle, idle_settings

_log = logging.getLogger(__name__)
_MECHANISMS = ("tune", "greedy", "opt", "tuned")


def log_notes(policy: object, cluster: Cluster, jobs: Sequence[JobSpec]) -> None:
    """Log the notes of the policy's method `notes`, if it has one, under the name of the policy inside."""
    notes, name = getattr(policy, "notes", None), type(getattr(policy, "of", policy)).__name__
    for note in notes(cluster, jobs) if callable(notes) else ():
        _log.info("policy %s: %s", name, note, extra={"note": True})


def warn_of_memory(
    jobs: Sequence[JobSpec],
    profiles: Callable[[str], Profile],
    machines: Sequence[MachineType],
) -> None:
    """Warn of models that a GPU cannot hold: jobs are data parallel."""
    models = {model: profiles(model) for model in dict.fromkeys(field_of(jobs, "model")) if model}
    without_plan = (model for model, profile in models.items() if profile.program is None)
    large = [model for model in without_plan if too_large(models[model], machines)]
    asked = zip(field_of(jobs, "model"), field_of(jobs, "demand"), strict=True) if large else ()
    types = Counter((model, demand.gpu_types) for model, demand in asked if model in large and demand.gpus)
    for (model, allowed), count in types.items():
        usable = [machine for machine in machines if not allowed or machine.gpu_type in allowed]
        if fault := too_large(profiles(model), usable):
            note = "%s: %d of %d jobs are priced as data parallel on GPUs that cannot hold them"
            _log.warning(note, fault, count, len(jobs), extra={"note": True})


def warn_of_requests(policy: object, jobs: Sequence[JobSpec]) -> None:
    """Warn of CPUs and memory that GPU jobs ask for where the policy gives others."""
    if getattr(policy, "fill", None) == "proportional":
        how = "shares are in proportion to GPUs; policy.fill=as_asked, where a policy has it, gives them"
    elif getattr(policy, "decides_cpus", False):
        how = "the policy decides on CPUs and memory"
    else:
        return
    asks = [bool(d.cpus or d.memory_bytes) for d in field_of(jobs, "demand") if d.gpus]
    if any(asks):
        note = "%d of %d GPU jobs ask for CPUs or memory, and may get others: %s"
        _log.warning(note, sum(asks), len(asks), how, extra={"note": True})


def warn_of_jobs_without_cpus(topics: Sequence[Topic], jobs: Sequence[JobSpec]) -> None:
    """Warn of GPU jobs without CPUs because CPU-only jobs held them, where jobs need CPUs."""
    needs = any(isinstance(topic, InputColumns) for topic in topics)
    job_types = next((topic for topic in topics if isinstance(topic, JobTypes)), None)
    if needs and job_types is not None and job_types.without_cpus:
        note = "%d of %d GPU jobs held no CPUs at times, when they go on at a hundredth of their speed: %s"
        cause = "CPU-only jobs had those of the machine, and these jobs do not wait for any"
        gpu_jobs = sum(spec.demand.gpus > 0 for spec in jobs)
        _log.warning(note, len(job_types.without_cpus), gpu_jobs, cause, extra={"note": True})


def check_effects(
    model: object, system: SystemSettings, changed: Mapping[str, object], named: Collection[str]
) -> None:
    """Refuse settings without any effect that the command line names; warn of those of files.

    Parameters
    ----------
    changed
        Settings that replace those of topology and preset, with their values.
    named
        Fields that the command line sets.

    Raises
    ------
    InputError
        For the first of `named` that the network model does not heed.
    """
    idle = idle_settings(system, changed) if isinstance(model, AnalyticalModel) else {}
    heeded = getattr(model, "heeded", None)
    if heeded is not None:
        why = f"with network={type(model).__name__.removesuffix('Model').lower()}"
        on_links = hasattr(model, "parts")  # shared links heed more settings than the model
        of_model = Idle(why, "" if on_links else "network=analytical")
        idle = dict.fromkeys([name for name in changed if name not in heeded], of_model)
    for setting, (why, instead) in idle.items():
        where = f"network.system.{setting}"
        if instead and {where, "network.system"} & set(named):
            what, allowed = f"no effect {why}", f"{instead}; or leave it out"
            raise InputError(what, where=where, found=changed[setting], allowed=allowed)
        _log.warning("%s means nothing %s", where, why, extra={"note": True})


def warn_of_preset(preset: str, topology: Topology) -> None:
    """Warn of a preset whose settings the topology states otherwise."""
    stated = {name: topology.stated.get(name, value) for name, value in PRESETS[preset].items()}
    if not any(stated[name] == value for name, value in PRESETS[preset].items()):
        states = ", ".join(f"{name}={value}" for name, value in stated.items())
        note = "network.system.preset=%s means nothing with topology=%s, which states %s"
        _log.warning(note, preset, topology.name, states, extra={"note": True})


def warn_without_needs(config: PerformanceConfig, policy: object, estimates: object) -> None:
    """Warn of settings for jobs that need CPUs or memory, if no job does.

    Effects of the user's own may depend on CPUs and memory, so they suppress the warning.
    """
    if config.sensitivity is not None or config.effects:
        return
    chosen = ((field, getattr(policy, field, None)) for field in ("mechanism", "allocator"))
    vain = [
        f"policy.{field}={name}" for field, name in chosen if isinstance(name, str) and name in _MECHANISMS
    ]
    if isinstance(estimates, OptimisticProfiling):
        vain.append("estimates=optimistic_profiling")
    if vain:
        note = "performance.sensitivity is null, so no job depends on CPUs or memory: nothing is gained by %s"
        _log.warning(note, ", ".join(vain), extra={"note": True})


def warn_without_links(config: PerformanceConfig, policy: object) -> None:
    """Warn of settings that, as the policy declares, change nothing without `performance.contention`."""
    needed: Mapping[str, Sequence[str]] = getattr(policy, "needs_contention", {})
    for setting, ways in needed.items():
        if config.contention not in ways:
            note = "policy.%s does nothing about shared links with performance.contention=%s; %s does"
            _log.warning(note, setting, config.contention, " or ".join(ways), extra={"note": True})


def warn_of_shifts(
    config: PerformanceConfig, policy: object, jobs: Sequence[JobSpec], profiles: Callable[[str], Profile]
) -> None:
    """Warn of settings that need jobs to be followed in time, where some have a plan of parallelism."""
    needed: Mapping[str, Sequence[str]] = getattr(policy, "needs_contention", {})
    vain = [
        setting for setting, ways in needed.items() if config.contention in ways and "mean_field" not in ways
    ]
    if vain:
        counts = Counter(field_of(jobs, "model"))
        planned = sum(
            count for model, count in counts.items() if model and profiles(model).program is not None
        )
        if planned:
            note = "policy.%s does nothing for %d of %d jobs: with a plan, jobs meet by how often they send"
            _log.warning(note, ", ".join(vain), planned, len(jobs), extra={"note": True})
