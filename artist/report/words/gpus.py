"""Machine types and GPU types of runs, and whether their speeds are compared, from the configs. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from artist.results.names import listed


def machine_types(config: Mapping[str, Any]) -> str:
    """Return the machine types of a cluster with their GPUs."""
    return listed(
        [
            f"{name} ({facts['gpus']} GPUs, {facts.get('gpu_type')})"
            if facts["gpus"]
            else f"{name} (no GPUs)"
            for name, facts in _types(config).items()
            if "gpus" in facts
        ]
    )


def gpu_types(config: Mapping[str, Any]) -> str:
    """Return the GPU types of a cluster."""
    return listed(sorted({name for name, _ in _gpus(config)}))


def speeds(configs: Sequence[Mapping[str, Any]]) -> str:
    """Return whether speeds of GPUs were compared; empty where all GPUs are alike, or if it is not known."""
    measured_on = {_section(config, "workload").get("measured_on") for config in configs}
    if None in measured_on or len({_gpus(config) for config in configs}) < 2:
        return ""
    if measured_on == {"cluster"}:
        return (
            "durations are taken as measured on each cluster's own GPUs, so speeds of GPUs are not compared"
        )
    if "cluster" in measured_on:
        return "speeds of GPUs are compared only where durations are not taken as the cluster's own"
    return f"durations as measured on {listed(sorted(map(str, measured_on)))}: speeds of GPUs are compared"


def _gpus(config: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return the GPU types of a cluster, with their speeds."""
    with_gpus = (facts for facts in _types(config).values() if facts.get("gpus") != 0)
    return frozenset((str(facts.get("gpu_type")), str(facts.get("speed"))) for facts in with_gpus)


def _types(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the machine types of a cluster, by name."""
    cluster, topology = _section(config, "cluster"), _section(config, "topology")
    machines = cluster.get("machines")
    names = [cluster.get("machine_type") or topology.get("default_machine_type")]
    if isinstance(machines, list):
        names = [group.get("type") for group in machines if isinstance(group, Mapping)]
    return {str(name): _section(topology, "machine_types", str(name)) for name in names}


def _section(config: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    value: Any = config
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
