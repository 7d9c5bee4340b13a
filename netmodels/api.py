"""Everything that users of the network models import; the rooms behind it may change.

A network model gives the time of one training iteration: a profile (the model's layers) on a shape (a
placement without names) of a fabric, with collectives run as the system settings say; docs/networks.md has
an example. Each name is imported when it is first asked for, so `import netmodels.api` costs nothing.

Fabrics
    `load_topology` reads a `Topology`: a `Fabric` of `Dimension`s and its `MachineType`s. `fabric_graph` is
    the same as a networkx graph. `SystemSettings`, changed by `merge_system`, configure collectives;
    `topology.system()` has those of machines, `topology.system("papers")` ASTRA-sim's.
    `InputError` is raised for a file, name or setting that is wrong.
Shapes
    `shape_of` makes a `Shape` of a placement's slices; `TIERS` and `Tier` name the tiers.
Profiles
    `get_profile` by name (`profile_names`), or a `Profile` of `Layer`s of your own; `calibrate` fits one to a
    measured overhead, and `too_large` compares one with the memory of GPUs.
Language models
    A `Plan` (`tp8 pp4 vp5 mb1`) divides the training of an `Architecture` over GPUs: `get_architecture` by
    name, if `is_architecture` knows it. `language_profile` is the `Profile` of a model and a plan, which
    `AnalyticalModel` prices, with a `Program` in place of layers.
Models
    A `NetworkModel` answers with an `IterationTime` and its `Span`s: `AnalyticalModel`, `ZeroModel`,
    `MeasuredModel` (logs of nccl-tests), `AstraSim`, `Ns3Model`; `CachedModel` remembers answers of any.
Collectives alone
    `collective_us` of an `NcclCollective` on an `NcclFabric` (an `NcclTier` per tier). `nccl_of` derives it
    from a fabric, `fit_nccl` fits it to `MeasuredRun`s.
Shared links
    `Contention` is the `SharedLinks` of a cluster: a `JobTraffic` (and its `LinkLoad`) per job and a `Link`
    per port and uplink, on `Slice`s of machines; `FULL` and `MAX_JOBS` are its limits.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netmodels.astra_sim.model import AstraSim
    from netmodels.calibration.fit import calibrate
    from netmodels.collectives.iteration_time import IterationTime, Span
    from netmodels.contention.contention import Contention
    from netmodels.contention.shared_links import SharedLinks
    from netmodels.contention.transfers import MAX_JOBS, JobTraffic, LinkLoad
    from netmodels.fabric.fabric import Dimension, Fabric, MachineType, Topology
    from netmodels.fabric.graph import fabric_graph
    from netmodels.fabric.links import FULL, Link, Slice
    from netmodels.fabric.nccl import NcclFabric, NcclTier
    from netmodels.fabric.shape import TIERS, Shape, Tier, shape_of
    from netmodels.fabric.system import SystemSettings, merge_system
    from netmodels.fabric.topology import load_topology
    from netmodels.inputs.errors import InputError
    from netmodels.llm.architecture import Architecture, get_architecture, is_architecture
    from netmodels.llm.plan import Plan
    from netmodels.llm.program import Program, language_profile
    from netmodels.models.analytical import AnalyticalModel
    from netmodels.models.cache import CachedModel
    from netmodels.models.measured import MeasuredModel
    from netmodels.models.network_model import NetworkModel
    from netmodels.models.zero import ZeroModel
    from netmodels.nccl.fit import fit_nccl
    from netmodels.nccl.model import NcclCollective, collective_us
    from netmodels.nccl.parameters import nccl_of
    from netmodels.nccl.runs import MeasuredRun
    from netmodels.ns3.model import Ns3Model
    from netmodels.profiles.layers import Layer, Profile
    from netmodels.profiles.memory import too_large
    from netmodels.profiles.profile import get_profile, profile_names

__all__ = ["FULL", "MAX_JOBS", "TIERS"]
__all__ += ["Architecture", "Plan", "Program", "get_architecture", "is_architecture", "language_profile"]
__all__ += ["AnalyticalModel", "AstraSim", "CachedModel", "Contention", "Dimension", "Fabric", "InputError"]
__all__ += [
    "IterationTime",
    "JobTraffic",
    "Layer",
    "Link",
    "LinkLoad",
    "MachineType",
    "MeasuredModel",
    "MeasuredRun",
    "NcclCollective",
]
__all__ += ["NcclFabric", "NcclTier", "NetworkModel", "Ns3Model", "Profile", "Shape"]
__all__ += ["SharedLinks", "Slice", "Span", "SystemSettings", "Tier", "Topology", "ZeroModel"]
__all__ += ["calibrate", "collective_us", "fabric_graph", "fit_nccl", "get_profile", "load_topology"]
__all__ += ["merge_system", "nccl_of", "profile_names", "shape_of", "too_large"]

_HOMES = {
    "netmodels.astra_sim.model": "AstraSim",
    "netmodels.calibration.fit": "calibrate",
    "netmodels.collectives.iteration_time": "IterationTime Span",
    "netmodels.contention.contention": "Contention",
    "netmodels.fabric.links": "FULL Link Slice",
    "netmodels.contention.shared_links": "SharedLinks",
    "netmodels.contention.transfers": "MAX_JOBS JobTraffic LinkLoad",
    "netmodels.fabric.fabric": "Dimension Fabric MachineType Topology",
    "netmodels.fabric.graph": "fabric_graph",
    "netmodels.fabric.nccl": "NcclFabric NcclTier",
    "netmodels.fabric.shape": "TIERS Shape Tier shape_of",
    "netmodels.fabric.system": "SystemSettings merge_system",
    "netmodels.fabric.topology": "load_topology",
    "netmodels.inputs.errors": "InputError",
    "netmodels.llm.architecture": "Architecture get_architecture is_architecture",
    "netmodels.llm.plan": "Plan",
    "netmodels.llm.program": "Program language_profile",
    "netmodels.models.analytical": "AnalyticalModel",
    "netmodels.models.cache": "CachedModel",
    "netmodels.models.measured": "MeasuredModel",
    "netmodels.models.network_model": "NetworkModel",
    "netmodels.models.zero": "ZeroModel",
    "netmodels.nccl.fit": "fit_nccl",
    "netmodels.nccl.model": "NcclCollective collective_us",
    "netmodels.nccl.parameters": "nccl_of",
    "netmodels.nccl.runs": "MeasuredRun",
    "netmodels.ns3.model": "Ns3Model",
    "netmodels.profiles.layers": "Layer Profile",
    "netmodels.profiles.memory": "too_large",
    "netmodels.profiles.profile": "get_profile profile_names",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for, so that `import netmodels.api` costs nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
