"""Jobs of models whose use of storage, CPUs, GPUs and network was measured; no download needed.

GPUs, durations and arrivals are drawn as by `artist.workload.synthetic`, the model of each job from those of
traces/measured/muri_stages.csv. Its row for the job's GPUs (or the next fewer) gives the iteration time, its
stages, and the share of it in which the GPUs are busy; the number of iterations is duration / iteration time,
rounded, as in the evaluation of Muri (section 6.1).
"""

from itertools import chain
from typing import Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from artist.bad_input.records import validated
from artist.data import data_path
from artist.errors import InputError
from artist.randomness import child_generator
from artist.tables.files import read_csv
from artist.tables.rows import Table, to_numbers
from artist.workload.fields import STAGE_COLUMNS
from artist.workload.models import GpuRange, ModelRule, assign_models
from artist.workload.synthetic import Preset, SyntheticTrace

_MS_PER_S = 1000.0
JOB_TYPES = (("BERT-large", "GPT-2"), ("VGG16", "VGG19"), ("ResNet18", "ShuffleNet"), ("A2C", "DQN"))
"""Models by bottleneck (GPU, network, storage, CPU: Muri, Table 3), in the order of Fig. 13."""
_MEASURED = tuple(chain.from_iterable(JOB_TYPES))


class StagedTrace(SyntheticTrace):
    """Jobs drawn from distributions, of models with measured stages."""

    class Parameters(SyntheticTrace.Parameters):
        """Parameters besides those of `SyntheticTrace`.

        Attributes
        ----------
        job_types
            Number of bottlenecks, in the order GPU, network, storage, CPU, whose models are drawn.
        network
            keep: the whole measured iteration; subtract: without the part of its network stage that does not
            overlap with the GPU's, for a network model to add communication.
        guaranteed_share
            Share of guaranteed jobs; the others take idle GPU time (AntMan).
        """

        preset: Preset = "muri"
        jobs: int = Field(default=992, ge=1, le=10_000_000)
        load_gpus: PositiveInt = 64
        models: ModelRule = ModelRule(names=_MEASURED)
        job_types: int = Field(default=4, ge=1, le=4)
        network: Literal["keep", "subtract"] = "keep"
        guaranteed_share: float = Field(default=0.5, ge=0, le=1)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.parameters: StagedTrace.Parameters = validated(self.Parameters, parameters, "workload")
        self.measured = data_path("traces", "measured") / "muri_stages.csv"
        self.input_files = (*self.input_files, self.measured)
        self.trace_gpu = "V100"

    def table_at(self, relative_time: float) -> Table:
        """Return all jobs as a canonical table, in order of arrival.

        Raises
        ------
        InputError
            If a model was not measured, or none is left.
        """
        chosen = self.parameters
        drawn = assign_models(super().table_at(relative_time).assign(model=""), self._models(), chosen.seed)
        row = self._rows_of(drawn)
        whole_s = row["iteration_ms"] / _MS_PER_S
        compute_s = whole_s
        if chosen.network == "subtract":
            compute_s = np.maximum(whole_s - row["network_ms"] / _MS_PER_S, row["gpu_ms"] / _MS_PER_S)
        random = child_generator(chosen.seed, "synthetic.guaranteed")
        return drawn.assign(
            iterations=np.maximum(1, np.rint(drawn["duration_s"] / whole_s)),
            compute_s=compute_s,
            **{name: row[name.replace("_s", "_ms")] / _MS_PER_S for name in STAGE_COLUMNS},
            gpu_utilization=np.minimum(1.0, row["gpu_ms"] / _MS_PER_S / compute_s),
            guaranteed=(random.random(len(drawn)) < chosen.guaranteed_share).astype(np.int64),
        )

    def _rows_of(self, jobs: Table) -> Table:
        """Return the measured row of each job: of its model, and its GPUs or the next fewer."""
        measured = read_csv(self.measured)
        numbers = {name: to_numbers(one) for name, one in measured.columns.items() if name != "model"}
        measured = measured.assign(**numbers)
        measured = measured.take(np.argsort(measured["gpus"], kind="stable"))
        rows = np.zeros(len(jobs), dtype=np.int64)
        for model in set(jobs["model"]):
            of, inside = np.flatnonzero(measured["model"] == model), jobs["model"] == model
            rows[inside] = of[np.searchsorted(measured["gpus"][of], jobs["gpus"][inside], side="right") - 1]
        return measured.take(rows)

    def _models(self) -> ModelRule:
        """Return the user's rule, restricted to the models of the job types."""
        chosen = self.parameters
        allowed = tuple(chain.from_iterable(JOB_TYPES[: chosen.job_types]))
        ranges = []
        for part in chosen.models.ranges():
            unknown = [name for name in part.weights if name not in _MEASURED]
            weights = {name: weight for name, weight in part.weights.items() if name in allowed}
            if unknown or not weights:
                names = ", ".join(unknown or part.weights)
                raise InputError(
                    "no stages measured", where="workload.models", found=names, allowed=", ".join(allowed)
                )
            ranges.append(GpuRange(max_gpus=part.max_gpus, weights=weights))
        return ModelRule(rule="by_gpus", by_gpus=tuple(ranges))
