"""What NCCL does, from its public cost model: parameters of a fabric, closed forms, and their fit to runs."""

from netmodels.nccl.model import NcclCollective, collective_us
from netmodels.nccl.parameters import NcclFabric, NcclTier
from netmodels.nccl.runs import MeasuredRun

__all__ = ["MeasuredRun", "NcclCollective", "NcclFabric", "NcclTier", "collective_us"]
