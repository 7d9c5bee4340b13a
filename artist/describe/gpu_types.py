"""Jobs by the GPU types that they may use, and the load that each group offers to these GPUs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from artist.describe.structure import HOUR_S
from artist.workload.table import work_s

ANY_TYPE = "(any)"


@dataclass(frozen=True, slots=True)
class TypeLoad:
    """Jobs that may use the same GPU types.

    Attributes
    ----------
    name
        The types, such as V100|T4; `ANY_TYPE` for all.
    jobs, gpu_h
        Their number, and GPU time on the cluster's default GPUs.
    gpus
        GPUs of the cluster that they may use; 0 if it lacks the types.
    load
        GPU time / (compute of these GPUs x span), as if no other job used them; nan without GPUs or span.
    """

    name: str
    jobs: int
    gpu_h: float
    gpus: int
    load: float


def type_loads(
    table: pd.DataFrame, cluster: Mapping[str, tuple[int, float]], span_s: float
) -> tuple[TypeLoad, ...]:
    """Return the groups of jobs with GPUs, most GPU time first; none if no job names a type.

    Parameters
    ----------
    table
        Canonical table, times on the cluster's default GPUs.
    cluster
        By GPU type: its GPUs, and the number of default GPUs with their compute.
    span_s
        From the first arrival to the last.
    """
    if "gpu_types" not in table or not (table["gpu_types"] != "").any():
        return ()
    jobs = table[table["gpus"] > 0]
    gpu_s, names = jobs["gpus"].to_numpy(float) * work_s(jobs), jobs["gpu_types"].to_numpy(object)
    loads = []
    for text in dict.fromkeys(names.tolist()):
        chosen, allowed = names == text, text.split("|") if text else cluster
        asked_s, usable = float(gpu_s[chosen].sum()), [cluster[name] for name in allowed if name in cluster]
        power_s, gpus = span_s * sum(power for _, power in usable), sum(count for count, _ in usable)
        load = asked_s / power_s if power_s else math.nan
        loads.append(TypeLoad(text or ANY_TYPE, int(chosen.sum()), asked_s / HOUR_S, gpus, load))
    return tuple(sorted(loads, key=lambda one: (-one.gpu_h, one.name)))
