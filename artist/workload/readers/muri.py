"""Reader of the job files of Muri, Zhao et al., SIGCOMM'22 (Rivendile/Muri)."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from artist.tables.rows import Table, to_numbers
from artist.workload.fields import STAGE_COLUMNS
from artist.workload.readers import rules
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_HEADER = (
    *("job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "iteration_time"),
    *("resource_time_0", "resource_time_1", "resource_time_2"),
)
_FIELDS = {
    "job_id": "job_id",
    "submit_s": "submit_time",
    "gpus": "num_gpu",
    "duration_s": "duration",
    "iterations": "iterations",
    "compute_s": "iteration_time",
    "model": "model_name",
}
_STAGE_FIELDS = {
    "storage_s": "resource_time_0",
    "cpu_s": "resource_time_0",
    "gpu_s": "resource_time_1",
    "network_s": "resource_time_2",
}
_MS_PER_S = 1000.0
MODEL_NAMES: dict[str, str | None] = {
    "vgg16": "VGG16",
    "vgg19": "VGG19",
    "resnet18": "ResNet18",
    "shufflenet_v2_x1_0": "ShuffleNet",
    "bert": "BERT-large",  # Muri's is BERT-base
    "gpt2": "GPT-2",
    "a2c": "A2C",
    "dqn": "DQN",
}


STORAGE_SHARES = {
    "shufflenet_v2_x1_0": 0.769,  # 60 : 18
    "resnet18": 0.769,
    "vgg19": 0.857,  # 24 : 4
    "vgg16": 0.857,
    "gpt2": 0.667,  # 0.06 : 0.03
    "bert": 0.667,
    "a2c": 0.0,  # 0 : 91
    "dqn": 0.0,
}
"""Loading : preprocessing by the paper's Table 1; for other models, that of the listed model with the same
bottleneck in Table 3."""
Share = Annotated[float, Field(ge=0, le=1)]


class MuriCsv(TraceReader):
    """Jobs of a CSV file in the columns of Tiresias and more; all times in MILLISECONDS.

    Read are job_id, num_gpu, submit_time, iterations, model_name, duration, iteration_time and
    resource_time_0 (data loading and preprocessing), _1 (GPU) and _2 (network).

    Rules:

    - `work=iterations` (default): the job does `iterations`, each of iteration_time. In the files of the
      simulator their product is the duration, rounded to iterations; in that of the testbed (cluster_trace,
      400 jobs) the duration is 0.19 to 1.3 times the product, and the testbed ran the product (under
      SRTF in the median 1.03 times it). `work=duration`: the duration counts, shared by the iterations.
    - iteration_time was measured with communication. `network=keep` (default) takes it as compute time,
      so that a job alone runs as long as in Muri, plus communication; `network=subtract` first subtracts
      resource_time_2, but leaves at least the GPU's time: the rest overlapped.
    - The resource times are the stages of an iteration, if the row has all three. The first spans two,
      storage and CPU: `storage_shares` has the fraction of storage by the file's name of the model, 0.5 by
      default.
      The GPUs are busy for the GPU's share of the measured iteration, at most 1, or 1 if the file has no
      number.
    - Muri groups jobs of a power of two of GPUs: other demands are rounded up with `odd_gpus=round_up`, and
      counted.
    - A job of priority 0 is guaranteed, any other is not; without that column all are.
    - Models are renamed by `model_names`. Muri's `bert` is BERT-base; it gets BERT-large's share of
      communication. null: drawn by `models`.
    - A job of duration 0 follows `zero_duration`; one without GPUs is left out, since the file names no
      CPUs. batch_size and interval are not used.
    """

    trace_gpu = "V100"

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        work: Literal["iterations", "duration"] = "iterations"
        network: Literal["keep", "subtract"] = "keep"
        zero_duration: rules.ZeroDuration = "drop"
        odd_gpus: Literal["round_up", "keep"] = "round_up"
        storage_shares: dict[str, Share] = STORAGE_SHARES
        model_names: dict[str, str | None] = MODEL_NAMES

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        rules.require_header(raw, path, _HEADER)
        table = typed(rules.renamed(raw, _FIELDS), str(path), _FIELDS)
        table = table.assign(**{n: table[n] / _MS_PER_S for n in ("submit_s", "duration_s", "compute_s")})
        refuse(table, np.isnan(table["compute_s"]), str(path), "iteration_time", "is missing", "ms")
        table = rules.apply_cpu_jobs(table, "drop", path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        raw = raw.at(table.places)
        if chosen.network == "subtract":
            left_s = table["compute_s"] - to_numbers(raw["resource_time_2"]) / _MS_PER_S
            refuse(raw, ~(left_s > 0), str(path), "resource_time_2",
                   "leaves no time to compute", "less than iteration_time")  # fmt: skip
            left_s = np.fmax(left_s, to_numbers(raw["resource_time_1"]) / _MS_PER_S)
            share = left_s / table["compute_s"]
            table = table.assign(compute_s=left_s, duration_s=table["duration_s"] * share)
        table = self._with_stages(table, raw)
        if "priority" in raw:
            table = table.assign(guaranteed=(to_numbers(raw["priority"]) == 0).astype(np.int64))
        if chosen.work == "duration":
            table = table.assign(compute_s=table["duration_s"] / table["iterations"])
        if chosen.odd_gpus == "round_up":
            table = rules.power_of_two_gpus(table, path)
        rules.note_order(table, path)
        return rules.renamed_models(check(table, str(path), _FIELDS | _STAGE_FIELDS), chosen.model_names)

    def _with_stages(self, table: Table, raw: Table) -> Table:
        """Return the table with the stages of an iteration, and the share in which the GPUs are busy."""
        loading, gpu, network = (to_numbers(raw[f"resource_time_{n}"]) / _MS_PER_S for n in range(3))
        shares = self.parameters.storage_shares
        of_loading = np.array([shares.get(name, 0.5) for name in table["model"]])
        busy = np.clip(gpu / table["compute_s"], 1e-6, 1.0)
        known = ~np.isnan(loading + gpu + network)
        stages = (loading * of_loading, loading * (1 - of_loading), gpu, network)
        return table.assign(
            **{name: np.where(known, one, np.nan) for name, one in zip(STAGE_COLUMNS, stages, strict=True)},
            gpu_utilization=np.where(np.isnan(busy), 1.0, busy),
        )
