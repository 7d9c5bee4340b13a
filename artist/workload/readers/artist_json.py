"""Reader of the job files of the Dally authors' simulator."""

from typing import Literal

import numpy as np

from artist.tables.files import read_json_records
from artist.tables.rows import Table
from artist.workload.readers import rules
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_FIELDS = {
    "job_id": "job_id",
    "submit_s": "arrival_time",
    "gpus": "max_parallelism",
    "iterations": "total_iterations",
    "compute_s": "time_per_iteration",
    "model": "model",
    "user": "user",
    "cpus": "cpu_num",
}
_MODEL_NAMES = {"VGG": "VGG11", "BERT": "BERT-large"}


class ArtistJson(TraceReader):
    """Jobs of a JSON array of objects, plain or gzipped; every value may be a string.

    Read are job_id, arrival_time (s), max_parallelism (GPUs), total_iterations, time_per_iteration (s,
    compute only), model, user and cpu_num.

    Rules:

    - total_iterations x time_per_iteration is the job's real run time. `work` says whose iterations they are:
      `per_job` (default, as in the paper): the job's, so its run time without communication is the real one.
      `per_gpu` (the authors' simulator): those of one GPU. In one iteration time n GPUs retire n of them, so
      the job does ceil(total_iterations / n) of ours, in 1/n of the real run time.
    - Models are renamed by `model_names` to the profiles of the same network.
    - cpu_num is for the whole job; jobs with GPUs ask for CPUs only with `cpus=keep`.
    - Other keys, such as submit_time and the slowdowns, are not used.
    """

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        work: Literal["per_job", "per_gpu"] = "per_job"
        cpus: rules.UseCpus = "ignore"
        model_names: dict[str, str] = _MODEL_NAMES

    parameters: Parameters

    def _read(self) -> Table:
        return rules.from_records(read_json_records(self.parameters.path))

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        raw = rules.keys_of(raw, tuple(_FIELDS.values()), path)
        table = check(typed(rules.renamed(raw, _FIELDS), str(path), _FIELDS), str(path), _FIELDS)
        table = rules.apply_use_cpus(table, self.parameters.cpus)
        table = rules.renamed_models(table, self.parameters.model_names)
        if self.parameters.work == "per_job":
            return table
        shares = np.maximum(table["gpus"], 1)
        return table.assign(iterations=np.ceil(table["iterations"] / shares))
