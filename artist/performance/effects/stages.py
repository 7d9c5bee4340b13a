"""Time for which an iteration uses storage, CPUs, GPUs and the network if its trace has none.

Measured on 1 to 32 V100 by the authors of Muri (`traces/measured/muri_stages.csv`), for eight models: each
stage as a share of the iteration. A job of another model uses only its GPUs, all the time that it computes.
"""

import csv
from functools import cache
from typing import Literal

from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec, Stages
from artist.data import data_path
from artist.performance.effects.communication import Communication
from artist.performance.effects.compute import Compute, scaled

NetworkStage = Literal["model", "table"]

Shares = tuple[float, float, float, float]  # storage, CPU, GPU, network; of an iteration


class StageTimes:
    """Time for which an iteration of a job uses each resource where it is placed.

    Parameters
    ----------
    compute, communication
        How storage, CPU and GPU stages scale, and the source of a modelled network stage.
    network_stage
        Whether the network stage is the full communication that the network model gives for the placement, or
        the trace's or the table's.
    """

    def __init__(self, compute: Compute, communication: Communication, network_stage: NetworkStage) -> None:
        self._compute = compute
        self._communication = communication
        self._from_model = network_stage == "model"

    def __call__(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        """Return the stages of an iteration."""
        measured = stages_of(spec)
        if not spec.demand.gpus:
            return measured
        factor = self._compute.factor(spec.demand, allocation, cluster)
        storage, cpu, gpu = measured[:3] if factor == 1.0 else (round(t * factor) for t in measured[:3])
        network = measured.network_ns
        if self._from_model:
            compute_ns = scaled(spec.compute_ns, factor)
            network = self._communication.full_ns(spec, allocation, cluster, compute_ns)
        return Stages(storage, cpu, gpu, network)


def stages_of(spec: JobSpec) -> Stages:
    """Return the stages of a job on the GPUs that it asks for: the trace's, else its model's shares."""
    if spec.stages is not None:
        return spec.stages
    by_gpus = measured_shares().get(spec.model)
    if by_gpus is None:
        return Stages(0, 0, spec.compute_ns, 0)
    fewer = [gpus for gpus in by_gpus if gpus <= spec.demand.gpus]
    return Stages(*(round(share * spec.compute_ns) for share in by_gpus[max(fewer, default=min(by_gpus))]))


@cache
def measured_shares() -> dict[str, dict[int, Shares]]:
    """Return the shares of the measured models, by model and GPUs."""
    shares: dict[str, dict[int, Shares]] = {}
    with (data_path("traces", "measured") / "muri_stages.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            whole = float(row["iteration_ms"])
            storage, cpu, gpu, network = (
                float(row[f"{name}_ms"]) / whole for name in ("storage", "cpu", "gpu", "network")
            )
            shares.setdefault(row["model"], {})[int(row["gpus"])] = (storage, cpu, gpu, network)
    return shares
