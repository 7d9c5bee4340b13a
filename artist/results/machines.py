"""The machines in a run's configuration: replacement ratios and pools. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from artist.results.steps import Floats


def replacement_ratios(config: Mapping[str, Any], machines: Sequence[str]) -> Floats:
    """Return the replacement ratio of each machine's GPUs for a fungible job, in GPUs of the cluster's own.

    Machines have the names of `cluster.machines`, else m0, m1 ... in its order. 1 where the configuration has
    machines of one type, or lists none.
    """
    groups = (config.get("cluster") or {}).get("machines")
    if not isinstance(groups, list):
        return np.ones(len(machines))
    topology = config.get("topology") or {}
    types: dict[str, str] = {}
    for group in groups:
        names = group.get("names") or [f"m{len(types) + i}" for i in range(int(group["count"]))]
        types |= dict.fromkeys(names, str(group["type"]))
    default, common = str(topology.get("default_machine_type")), Counter(types.values()).most_common(1)[0][0]
    reference = _ratio(topology, default if default in types.values() else common)
    return np.array(
        [_ratio(topology, types[name]) / reference if name in types else 1.0 for name in machines]
    )


def with_gpus(config: Mapping[str, Any]) -> list[bool]:
    """Return whether each machine has GPUs, in the order of `cluster.machines`; empty if that is no list."""
    groups = (config.get("cluster") or {}).get("machines")
    groups = groups if isinstance(groups, list) else []
    return [_has_gpus(config, group) for group in groups for _ in range(int(group["count"]))]


def pool_rows(config: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return name, first machine and number of machines of each pool at the start; none if there is one.

    Of machines with GPUs. A pool whose machines do not follow each other has several entries.
    """
    groups = (config.get("cluster") or {}).get("machines")
    if not isinstance(groups, list) or len({group.get("pool") for group in groups}) == 1:
        return []
    rows: list[tuple[str, int, int]] = []
    for group in (group for group in groups if _has_gpus(config, group)):
        name, count = str(group.get("pool")), int(group["count"])
        if rows and rows[-1][0] == name:
            rows[-1] = (name, rows[-1][1], rows[-1][2] + count)
        else:
            rows.append((name, sum(row[2] for row in rows), count))
    return rows


def _has_gpus(config: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    types = (config.get("topology") or {}).get("machine_types") or {}
    return (types.get(str(group.get("type"))) or {}).get("gpus") != 0


def _ratio(topology: Mapping[str, Any], machine_type: str) -> float:
    facts = (topology.get("machine_types") or {}).get(machine_type) or {}
    return float(facts.get("worth") or facts.get("speed") or 1.0)
