"""Jobs that can never run are refused before the clock starts."""

from collections.abc import Iterable, Sequence

import numpy as np

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.compact_jobs import CompactJobs
from artist.core.cpu_search import find_cpus
from artist.core.job import Demand, JobSpec
from artist.errors import InputError

MAX_NS = 2**62  # the accounts of times are 64-bit


def check_jobs(
    jobs: Sequence[JobSpec], cluster: Cluster, capacity_events: Sequence[CapacityEvent] = ()
) -> None:
    """Raise `InputError` for a job that is unsound or can never fit the cluster.

    Machines that join later count.
    """
    machines = ever_present(cluster, capacity_events)
    seen: set[str] = set()
    reasons: dict[Demand, str] = {}
    for spec in jobs.longest(MAX_NS / 2) if isinstance(jobs, CompactJobs) else jobs:  # its ids are unique
        where = f"job {spec.job_id!r}"
        if spec.job_id in seen:
            raise InputError("this id is used twice", where=where, allowed="one id per job")
        seen.add(spec.job_id)
        if spec.submit_ns < 0 or spec.iterations < 1 or spec.compute_ns < 1:
            values = f"submit {spec.submit_ns} ns, {spec.iterations} iterations of {spec.compute_ns} ns"
            raise InputError(
                "not a sound job", where=where, found=values, allowed="submit >= 0, the others >= 1"
            )
        if not 0 <= spec.gpu_utilization <= 1:
            value = f"GPU utilization {spec.gpu_utilization}"
            raise InputError("not a sound job", where=where, found=value, allowed="0 to 1")
        if spec.stages is not None and min(spec.stages) < 0:
            values = f"stages {tuple(spec.stages)} ns"
            raise InputError("not a sound job", where=where, found=values, allowed="stages of 0 ns or more")
        demand = spec.demand
        if spec.ideal_ns > MAX_NS or spec.submit_ns > MAX_NS:
            size = f"{spec.ideal_ns / 3.6e12:,.0f} h from second {spec.submit_ns / 1e9:.0f}"
            allowed = f"{MAX_NS / 3.6e12:,.0f} h"
            raise InputError("too long to count", where=where, found=size, allowed=allowed)
        if demand not in reasons:
            advice = "enlarge the cluster (cluster.machines) or leave such jobs out (workload.max_gpus)"
            reasons[demand] = misfit(demand, machines, advice)
        if reasons[demand]:
            problem = "the job can never fit the cluster"
            raise InputError(problem, where=where, found=asked(demand), allowed=reasons[demand])


def ever_present(cluster: Cluster, capacity_events: Sequence[CapacityEvent]) -> list[Machine]:
    """Return the machines that are present at the start or join later."""
    joining = {event.machine for event in capacity_events if event.type == "join"}
    return [m for i, m in enumerate(cluster.machines) if m.present or i in joining]


def misfit(demand: Demand, machines: Sequence[Machine], advice: str) -> str:
    """Return the largest demand that fits some machines, with advice, if this one never does; else ""."""
    if not demand.gpus:
        return _cpu_misfit(demand, machines)
    if demand.elastic and not (
        1 <= demand.min_gpus <= demand.gpus <= demand.max_gpus
        and demand.step >= 1
        and demand.gpus in demand.targets()
    ):
        return "1 <= min_gpus <= gpus <= max_gpus, in steps of at least 1 from min_gpus"
    if demand.in_units and (fault := _unit_fault(demand)):
        return fault
    most = _max_gpus(demand, machines)
    if 1 <= demand.targets()[0] <= most + 1e-9:
        return _input_misfit(demand, machines)
    types = f" of type {' or '.join(demand.gpu_types)}" if demand.gpu_types else ""
    types += in_units(demand)
    limit = f" on {demand.max_machines} machines" if demand.max_machines else ""
    if not most and any(mark in types for mark in ",;"):
        return f"no job: there are no GPUs{types}; separate several types with | (V100|T4)"
    room = f"1..{int(most + 1e-9)} GPUs{types}{limit}" if most else f"no job: there are no GPUs{types}"
    return f"{room}; {advice}"


def _unit_fault(demand: Demand) -> str:
    """Return the allowed units and segments if the demand cannot come in its own, else an empty string."""
    if demand.fungible:
        return "a unit or a segment, or fungible=0: a fungible job takes the GPUs that their type needs"
    sizes = [demand.gpus, *([demand.min_gpus, demand.max_gpus, demand.step] if demand.elastic else [])]
    unit, segment = demand.unit, demand.segment
    if unit < 1 or segment < 1 or (segment > 1 and segment % unit):
        return "a unit of at least 1, and a segment that is a multiple of it"
    if any(size % max(unit, segment) for size in sizes):
        return "gpus, min_gpus, max_gpus and step that are multiples of the unit and of the segment"
    return ""


def _cpu_misfit(demand: Demand, machines: Sequence[Machine]) -> str:
    """Return the allowed demands of CPU-only jobs if this one cannot be met, else an empty string."""
    span = demand.max_machines or len(machines)
    cpus = _most((m.cpus for m in machines), span)
    memory = _most((m.memory_bytes for m in machines), span)
    allowed = f"1..{cpus:.0f} CPUs, up to {memory:.0f} bytes of memory"
    if not 1 <= demand.cpus <= cpus or demand.memory_bytes > memory:
        return allowed
    sizes = np.array([(m.cpus, m.memory_bytes) for m in machines], dtype=np.int64)
    fits = find_cpus(sizes[:, 0], sizes[:, 1], demand) is not None
    return "" if fits else f"{allowed}, both on the same {span} machines"


def _input_misfit(demand: Demand, machines: Sequence[Machine]) -> str:
    """Return the CPUs and memory allowed beside GPUs that fit if these do not, else an empty string."""
    if not demand.cpus and not demand.memory_bytes:
        return ""
    usable, span = _usable(demand, machines), demand.max_machines or len(machines)
    gpus = largest_target(demand, machines)
    if any(_most(sizes, span) + 1e-9 >= gpus for sizes in _pools(usable, demand, gpus)):
        return ""
    cpus, memory = max(m.cpus for m in usable), max(m.memory_bytes for m in usable)
    return f"the resources beside GPUs: up to {cpus} CPUs and {memory} bytes of memory per machine"


def largest_target(demand: Demand, machines: Sequence[Machine]) -> int:
    """Return the largest of a demand's targets, up to its `gpus`, for which machines have GPUs; 0 if none."""
    most = min(demand.gpus, _max_gpus(demand, machines) + 1e-9)
    return max((target for target in demand.targets() if target <= most), default=0)


def _max_gpus(demand: Demand, machines: Sequence[Machine]) -> float:
    """Return the maximum number of GPUs for a demand, of the type that `Demand.gpus` holds for."""
    span = demand.max_machines or len(machines)
    pools = _pools(_usable(demand, machines), demand)
    return max((_most(sizes, span) for sizes in pools), default=0)


def _usable(demand: Demand, machines: Sequence[Machine]) -> list[Machine]:
    """Return the machines whose GPU type a demand allows."""
    return [m for m in machines if not demand.gpu_types or m.gpu_type in demand.gpu_types]


def asked(demand: Demand) -> str:
    """Return the request of a job in words."""
    words = [f"{demand.gpus} GPUs{in_units(demand)}"] if demand.gpus else []
    words += [f"{demand.cpus} CPUs"] if demand.cpus or not demand.gpus else []
    return ", ".join(words + [f"{demand.memory_bytes} bytes of memory"] * bool(demand.memory_bytes))


def in_units(demand: Demand) -> str:
    """Return the units and segments of a demand in words, to follow a number of GPUs."""
    names = (("units", demand.unit), ("segments", demand.segment))
    parts = [f"{name} of {size}" for name, size in names if size > 1 and demand.in_units]
    return f" in {' and '.join(parts)}" if parts else ""


def _pools(usable: Sequence[Machine], demand: Demand, gpus: int = 0) -> list[list[float]]:
    """Return sizes of machines whose GPUs may serve a demand together, in GPUs that count.

    With `gpus`, a machine counts only GPUs for which it has CPUs and memory, of a job that gets `gpus`. In
    units, each pool has one size, the most GPUs of its machines.
    """
    pools: dict[str, list[float]] = {}
    racks: dict[str, list[int]] = {}
    mixed = demand.mixed_types and not demand.fungible  # no placement policy mixes GPUs by their worth
    for m in usable:
        name = "" if mixed else m.gpu_type
        pool = pools.setdefault(name, [])
        racks.setdefault(name, []).append(m.rack)
        of_job = demand.gpus_at(m.worth, gpus)
        count = m.gpus
        if gpus and demand.cpus:
            count = min(count, m.cpus * of_job // demand.cpus)
        if gpus and demand.memory_bytes:
            count = min(count, m.memory_bytes * of_job // demand.memory_bytes)
        pool.append(count * m.worth / demand.measured_worth if demand.fungible else count)
    if demand.in_units:
        pairs = zip(pools.values(), racks.values(), strict=True)
        return [[demand.most(np.array(sizes, dtype=np.int64), np.array(rack))] for sizes, rack in pairs]
    return list(pools.values())


def _most(sizes: Iterable[float], span: int) -> float:
    """Return the sum over the largest machines."""
    return sum(sorted(sizes, reverse=True)[:span])
