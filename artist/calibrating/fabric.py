"""A fabric fitted to measured runs, and the topology file that it becomes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import yaml

from artist.calibrating.gpus import KnownGpu
from artist.errors import InputError
from artist.tables.grid import percent
from netmodels.api import MeasuredRun, NcclFabric, NcclTier, Topology, fit_nccl, load_topology, nccl_of
from netmodels.nccl.fit import Fitted, predicted_us
from netmodels.nccl.logs import Logs
from netmodels.nccl.runs import bus_factor

_TIERS = ("machine", "rack", "network")
_MACHINE = ("gpus", "gpu_type", "speed", "cpus", "memory_gib", "memory_bandwidth_gb_s")
_MAX_ERROR = 0.5  # of a tenth of the sizes
_SLOW_US = 5000.0  # collectives of few bytes take some 10 to 1000 us
_LARGE_BYTES = 1 << 24  # smaller ones take latency
_MAX_APART = 2.0  # times of equal runs; NCCL itself varies by 12 % (p90)


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a topology and the mapping that it starts from.

    Parameters
    ----------
    name
        Of the topology.
    base
        The mapping of a topology that the user names; None without one.
    machine
        The user's values for the machine type, by field of a topology.
    machines_per_rack
        None for that of `base`, else of the largest run, or of the shipped topology if that has one machine.
    gpu
        GPU of the machines, for fields that neither has; None if it is unknown.
    unmeasured
        Notes on tiers that no run measures.
    """

    name: str
    base: Mapping[str, Any] | None
    machine: Mapping[str, Any]
    machines_per_rack: int | None = None
    gpu: KnownGpu | None = None
    unmeasured: Sequence[str] = ()


def check_machine(logs: Logs, gpus: int | None, gpu_type: str | None) -> list[str]:
    """Return notes on where runs differ from the machine type; None means not stated.

    Raises
    ------
    InputError
        If a run has more GPUs per machine than there are.
    """
    told = []
    most = max(run.gpus_per_machine for run in logs.runs)
    if gpus is not None and most > gpus:
        allowed = f"topology=NAME of such machines, or machine.gpus={most}"
        what = f"runs have more GPUs per machine than its {gpus}"
        raise InputError(what, where="nccl", found=most, allowed=allowed)
    if gpus is not None and most < gpus:
        told.append(
            f"no run has more than {most} GPUs per machine, the topology has {gpus}; see machine.gpus"
        )
    for name in logs.gpus:
        if gpu_type is not None and _letters(gpu_type) not in _letters(name):
            told.append(f"the logs are of {name}, the topology of {gpu_type}: its bandwidths and speed stay")
    return told


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def weak_points(outcome: Fitted, runs: Sequence[MeasuredRun]) -> list[str]:
    """Return reasons not to trust a fit: large errors, long times, bandwidths without a large size."""
    told = []
    if outcome.p90 > _MAX_ERROR:
        errors = (
            f"half of the sizes by {percent(outcome.median)} %, a tenth by {percent(outcome.p90)} % or more"
        )
        told.append(f"WARNING: the fit is off, {errors}: times in us? a topology like the machines?")
    min_us = min(run.points[0][1] for run in runs)
    if min_us > _SLOW_US:
        told.append(f"WARNING: no first size takes less than {min_us:,.0f} us: times in us?")
    largest = max(run.points[-1][0] for run in runs)
    if largest < _LARGE_BYTES:
        told.append(f"WARNING: no size above {largest:,} bytes: bandwidths are hardly measured")
    return told


def unmeasured(runs: Sequence[MeasuredRun], topology: str, nominal: bool) -> list[str]:
    """Return notes on the tiers that no run measures, with the origin of their figures.

    Parameters
    ----------
    runs
        The runs.
    topology
        Name of the topology that the fit begins with.
    nominal
        As for `fitted`.
    """
    if all(run.machines == 1 for run in runs):
        return [f"not measured: rack and network (no run on several machines); as in {topology}"]
    notes = []
    if all(run.machines > 1 for run in runs):
        notes.append(f"not measured: machine (no run on one machine alone); as in {topology}")
    of = f"as in {topology}, no faster than a rack" if nominal else "ASSUMPTION: as in a rack"
    return [*notes, f"not measured: network (no run states its racks); {of}"]


def doubts(logs: Logs) -> list[str]:
    """Return reasons against one fit of all runs: versions, and runs of one kind that differ much."""
    told = list(logs.doubts)
    if len(logs.libraries) > 1:
        told.append(f"versions of NCCL differ: {', '.join(logs.libraries)}; one fit is for all of them")
    kinds: dict[tuple[object, ...], list[MeasuredRun]] = {}
    for run in logs.runs:
        kinds.setdefault((run.collective, run.machines, run.gpus_per_machine), []).append(run)
    for first, *others in kinds.values():
        for other in others:
            apart = _apart(first, other)
            if apart > _MAX_APART:
                told.append(
                    f"{first.name} and {other.name} measure the same and differ {apart:.2g} times: two "
                    "clusters, settings, or a slow run? The fit lies between"
                )
    return told


def _apart(first: MeasuredRun, second: MeasuredRun) -> float:
    """Return the median ratio of the times at sizes that both have, 1 or more."""
    times = dict(first.points)
    ratios = [times[size] / time_us for size, time_us in second.points if size in times]
    middle = float(np.median(ratios)) if ratios else 1.0
    return max(middle, 1 / middle)


def fitted(runs: Sequence[MeasuredRun], topology: Topology, machine_type: str, nominal: bool) -> Fitted:
    """Fit NCCL's parameters; beginning with the topology's, or with the highest bandwidths measured.

    Parameters
    ----------
    runs
        Of one cluster.
    topology, machine_type
        The beginning.
    nominal
        Whether it was named by the user, so that its bandwidths are those of the machines.
    """
    prior = nccl_of(topology.fabric, machine_type)
    return fit_nccl(runs, prior if nominal else _with_peaks(prior, runs))


def _with_peaks(prior: NcclFabric, runs: Sequence[MeasuredRun]) -> NcclFabric:
    inside = max((_bus_gb_s(run) for run in runs if run.machines == 1), default=prior.machine.gpu_gb_s)
    across = [_leaving_gb_s(run) for run in runs if run.machines > 1]
    if not across:
        return replace(prior, machine=replace(prior.machine, gpu_gb_s=inside))
    gpu, machine = map(max, zip(*across, strict=True))
    way = NcclTier(prior.rack.step_us, gpu, machine)
    return replace(prior, machine=replace(prior.machine, gpu_gb_s=max(inside, gpu)), rack=way, network=way)


def _leaving_gb_s(run: MeasuredRun) -> tuple[float, float]:
    """Return the highest bandwidths out of a GPU and out of a machine; 0 if that is not measured.

    In rings and trees bus bandwidth is that of a machine, elsewhere of a GPU. In an all-to-all over n GPUs,
    n - g of a GPU's n - 1 messages leave its machine of g; in send-receive one GPU of a machine sends out
    of it.
    """
    bus_gb_s, gpus = _bus_gb_s(run), run.gpus_per_machine
    if run.collective == "send_receive":
        return bus_gb_s, 0.0
    if run.collective == "all_to_all":
        total = run.machines * gpus
        bus_gb_s *= gpus * (total - gpus) / (total - 1)
    return bus_gb_s / gpus, bus_gb_s


def _bus_gb_s(run: MeasuredRun) -> float:
    return float(bus_gb_s(run, run.times_us).max())


def bus_gb_s(run: MeasuredRun, times_us: Any) -> Any:
    """Return the bus bandwidths of a run's sizes at some times, 10^9 byte/s (nccl-tests, PERFORMANCE.md)."""
    factor = bus_factor(run.collective, run.machines * run.gpus_per_machine)
    return factor * run.sizes_bytes / times_us / 1e3


def errors_of(run: MeasuredRun, nccl: NcclFabric) -> Any:
    """Return |fitted / measured - 1| at each size of a run."""
    return np.abs(predicted_us(run, nccl) / run.times_us - 1)


# --- the file


def topology_text(outcome: Fitted, logs: Logs, named: Named) -> str:
    """Return a topology file: the fit with its error, and the sources in comments.

    Raises
    ------
    InputError
        If the logs and the user leave a figure of the machine type open.
    """
    record: dict[str, Any] = (
        _based(logs, named) if named.base is not None else _new(outcome.nccl, logs, named)
    )
    record["system"] = {**record.get("system", {}), "collectives": "nccl"}
    record["nccl"] = _without_zeros(outcome.nccl)
    load_topology(record)
    body = yaml.safe_dump(_rounded(record), sort_keys=False, width=110, allow_unicode=True)
    return "\n".join((*_comments(outcome, logs, named), body))


def _comments(outcome: Fitted, logs: Logs, named: Named) -> list[str]:
    median, p90 = percent(outcome.median), percent(outcome.p90)
    lines = [
        "# Written by artist-calibrate from measured runs; for a folder topology/ of your own.",
        f"# error of the fit: median {median} %, p90 {p90} % of the measured times.",
        *(f"# GPUs: {', '.join(logs.gpus)}" for _ in [0] if logs.gpus),
        *(f"# NCCL: {', '.join(logs.libraries)}" for _ in [0] if logs.libraries),
    ]
    for run in logs.runs:
        errors = errors_of(run, outcome.nccl)
        middle, high = percent(np.median(errors)), percent(np.quantile(errors, 0.9))
        lines.append(
            f"# {run.source or run.name}: {run.collective}, {run.machines} x {run.gpus_per_machine} GPUs, "
            f"{len(run.points)} sizes, median {middle} %, p90 {high} %"
        )
    lines += [f"# Left out: {note}" for note in logs.notes]
    if named.base is not None:
        lines.append(f"# machine types, fabric: as in {named.base['name']}; measurements are in nccl.")
    else:
        if named.gpu is not None:
            lines.append(f"# machine type: {named.gpu.basis}.")
        lines.append("# fabric: of the fit.")
    return lines + [f"# {note}" for note in named.unmeasured]


def _source(logs: Logs) -> str:
    files = dict.fromkeys(run.source.rpartition(", ")[0] or run.name for run in logs.runs)
    return f"measured runs ({', '.join(files)}); see the comments"


def _based(logs: Logs, named: Named) -> dict[str, Any]:
    """Return the user's topology with the given values of its default machine type."""
    assert named.base is not None
    record = {**named.base, "name": named.name, "source": _source(logs)}
    kind = record["default_machine_type"]
    record["machine_types"] = {
        **record["machine_types"],
        kind: {**record["machine_types"][kind], **named.machine},
    }
    if named.machines_per_rack is not None:
        record["machines_per_rack"] = named.machines_per_rack
    return record


def _new(nccl: NcclFabric, logs: Logs, named: Named) -> dict[str, Any]:
    machine = dict(named.machine)
    machine.setdefault("gpus", max(run.gpus_per_machine for run in logs.runs))
    machine = (named.gpu.fields(machine["gpus"]) if named.gpu else {}) | machine
    if logs.gpus:
        machine.setdefault("gpu_type", next(iter(logs.gpus)))
    lacking = [f"machine.{name}" for name in _MACHINE if name not in machine]
    if lacking:
        raise InputError(
            "the logs do not say what the machines are",
            where=lacking[0],
            allowed=f"{' '.join(f'{name}=...' for name in lacking)}; machine.gpu_type=H100 or the like; "
            "or topology=NAME with such machines",
        )
    return {
        "name": named.name,
        "source": _source(logs),
        "machines_per_rack": named.machines_per_rack or _machines_per_rack(logs, named.gpu),
        "default_machine_type": named.name,
        "machine_types": {named.name: machine},
        "fabric": {tier: [_dimension(getattr(nccl, tier), tier)] for tier in _TIERS},
    }


def _machines_per_rack(logs: Logs, gpu: KnownGpu | None) -> int:
    """Return the machines of the largest run; where that is one, those of the shipped topology."""
    largest = max(run.machines for run in logs.runs)
    return gpu.topology.machines_per_rack if largest == 1 and gpu is not None else largest


def _dimension(tier: NcclTier, name: str) -> dict[str, Any]:
    """Return a tier for collectives of ASTRA-sim; a switch is two links away."""
    dimension: dict[str, Any] = {
        "kind": "switch",
        "latency_ns": tier.step_us * 1e3 / 2,
        "bandwidth_gbit_s": tier.gpu_gb_s * 8,
    }
    if tier.machine_gb_s and name != "machine":
        dimension["shared_gbit_s"] = {"machine": tier.machine_gb_s * 8}
    return dimension


def _without_zeros(nccl: NcclFabric) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in asdict(nccl).items():
        if isinstance(value, dict):
            record[name] = {
                field: figure for field, figure in value.items() if figure or not field.endswith("gb_s")
            }
        elif value or not name.endswith("gb_s"):
            record[name] = value
    return record


def _rounded(value: Any) -> Any:
    """Return plain values, numbers to six digits."""
    if isinstance(value, Mapping):
        return {name: _rounded(figure) for name, figure in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(figure) for figure in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
