"""Topologies from files.

A topology file feeds both sides: the cluster takes the machine types, the network model the fabric.
`load_topology` accepts the file or the mapping that Hydra made of it.
"""

from netmodels.fabric.fabric import Dimension, Fabric, MachineType, Topology, fabric_record
from netmodels.fabric.topology_schema import load_topology

__all__ = ["Dimension", "Fabric", "MachineType", "Topology", "fabric_record", "load_topology"]
