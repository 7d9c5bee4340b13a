"""CPUs requested, by GPU jobs and by CPU-only jobs."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from artist.core.waiting import Floats
from artist.describe.structure import HOUR_S
from artist.workload.table import work_s


@dataclass(frozen=True, slots=True)
class CpusAsked:
    """CPUs asked for.

    Attributes
    ----------
    cpu_jobs
        Jobs that use no GPUs.
    silent_jobs
        GPU jobs that do not state how many CPUs they need; the following fields cover the other jobs.
    of_a_gpu, of_a_cpu_job
        Mean over GPU jobs of their CPUs / GPUs, and over CPU-only jobs; nan without any.
    cpu_h
        CPU time of all jobs.
    load
        CPU time / (CPUs of the cluster x span); nan if either is 0.
    """

    cpu_jobs: int
    silent_jobs: int
    of_a_gpu: float
    of_a_cpu_job: float
    cpu_h: float
    load: float


def cpus_asked(table: pd.DataFrame, cluster_cpus: int, span_s: float) -> CpusAsked | None:
    """Return the CPUs that the jobs of a canonical table ask for; None if none asks for any."""
    cpus, gpus = table["cpus"].to_numpy(float), table["gpus"].to_numpy(float)
    if not cpus.any():
        return None
    asking = (gpus > 0) & (cpus > 0)
    cpu_s = float(np.sum(cpus * work_s(table)))
    capacity_s = cluster_cpus * span_s
    return CpusAsked(
        cpu_jobs=int((gpus == 0).sum()),
        silent_jobs=int(((gpus > 0) & (cpus == 0)).sum()),
        of_a_gpu=_mean(cpus[asking] / gpus[asking]),
        of_a_cpu_job=_mean(cpus[gpus == 0]),
        cpu_h=cpu_s / HOUR_S,
        load=cpu_s / capacity_s if capacity_s else math.nan,
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan
