"""Topologies from files.

A topology file feeds both sides: the cluster takes the machine types, the network model the fabric.
`load_topology` accepts the file or the mapping that Hydra made of it.
"""

from collections.abc import Mapping
from pathlib import Path

from netmodels.fabric import Dimension, Fabric, MachineType, Topology, fabric_record
from netmodels.topology_schema import read_topology

__all__ = ["Dimension", "Fabric", "MachineType", "Topology", "fabric_record", "load_topology"]


def load_topology(raw: Mapping[str, object] | Path) -> Topology:
    """Read a topology.

    Parameters
    ----------
    raw
        A YAML file, or the mapping that it holds.

    Raises
    ------
    InputError
        With file, field, the value found and what is allowed.
    """
    return read_topology(raw)
