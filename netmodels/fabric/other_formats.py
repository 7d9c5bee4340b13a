"""Fabrics in the formats of other programs, refused by name with the fields of a topology that are theirs.

ASTRA-sim's network files (JSON of 1.0, YAML of 2.x) have no machine types, and Slurm's topology.conf has no
bandwidths: neither is a topology alone.
"""

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from netmodels.fabric.shape import TIERS
from netmodels.inputs.errors import InputError

_KINDS = {"Ring": "ring", "Switch": "switch", "FullyConnected": "fully_connected"}
_SWITCH = re.compile(r"^\s*(?:SwitchName|BlockName)\s*=", re.IGNORECASE | re.MULTILINE)
_NODES = re.compile(r"\bNodes\s*=\s*(\S+)", re.IGNORECASE)
_REST = "machine_types as in topologies/dgx_h100_3tier.yaml"


def check_text(text: str, where: str) -> None:
    """Raise InputError for a topology.conf of Slurm's, with its racks and machines.

    Raises
    ------
    InputError
        If the text is one.
    """
    if not _SWITCH.search(text):
        return
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    lists = [match[1] for line in lines if (match := _NODES.search(line.partition("#")[0]))]
    sizes = [hosts_in(hosts) for hosts in lists]
    racks = f"cluster.racks={len(sizes)}" if len(set(sizes)) == 1 else f"cluster.machines={sum(sizes)}"
    largest = f"cluster.machines_per_rack={max(sizes, default=1)}"
    raise InputError(
        "Slurm's topology.conf, which has no bandwidths",
        where=where,
        found=f"{len(sizes)} racks of {' or '.join(map(str, sorted(set(sizes))))} machines",
        allowed=f"{racks} {largest}, and topology=NAME of a fabric",
    )


def hosts_in(names: str) -> int:
    """Return the number of hosts of a list.

    Examples
    --------
    >>> hosts_in("gpu[08-10,12],rack[1-2]-[0-3],login")
    13
    """
    ranges = [re.findall(r"\[([^\]]*)\]", name) for name in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", names)]
    return sum(prod(map(_numbers_in, parts)) for parts in ranges)


def _numbers_in(ranges: str) -> int:
    count = 0
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            count += max(0, int(last or first) - int(first) + 1)
    return count


def check_mapping(content: Mapping[str, Any], where: str) -> None:
    """Raise InputError for a network file of ASTRA-sim's, with the fabric that it describes.

    Raises
    ------
    InputError
        If the content is one.
    """
    if {"topology", "npus_count"} <= content.keys():
        names, version = ("topology", "npus_count", "bandwidth", "latency"), "2.x"
    elif {"topologies-per-dim", "units-count"} <= content.keys():
        names, version = ("topologies-per-dim", "units-count", "link-bandwidth", "link-latency"), "1.0"
    else:
        return
    try:
        links = content.get("links-count") or [1] * len(content[names[1]])
        rows = list(zip(*(content[name] for name in names), links, strict=True))
        tiers = [_dimension(*row) for row in rows]
        gpus, *machines = (int(row[1]) for row in rows)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        tiers, gpus, machines = [], 0, []
    tiers += tiers[-1:] * (len(TIERS) - len(tiers))
    fabric = ", ".join(f"{tier}: [{text}]" for tier, text in zip(TIERS, tiers, strict=False))
    raise InputError(
        f"a network file of ASTRA-sim {version}, which has no machines",
        where=where,
        found=f"{gpus * prod(machines)} GPUs",
        allowed=f"fabric: {{{fabric}}}, machines_per_rack: {(machines or [1])[0]}, gpus: {gpus}; {_REST}"
        if len(tiers) == len(TIERS)
        else f"a topology of three tiers; {_REST}",
    )


def _dimension(kind: str, members: int, gib_s: float, latency_ns: float, links: int) -> str:
    """Return a dimension; ASTRA-sim 1.0 has the bandwidth of each of several links."""
    if kind == "Ring" and links > 1:
        links -= links % 2  # half of them in each direction
    total = gib_s * (links / (int(members) - 1) if kind == "FullyConnected" and links > 1 else links)
    return f"{{kind: {_KINDS[kind]}, latency_ns: {latency_ns:g}, bandwidth_gib_s: {total:g}}}"
