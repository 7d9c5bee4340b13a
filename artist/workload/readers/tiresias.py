"""Reader of the job files of Tiresias, Gu et al., NSDI'19 (SymbioticLab/Tiresias)."""

from typing import Literal

from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.readers import rules
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_HEADER = ("job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration")
_FIELDS = {
    "job_id": "job_id",
    "submit_s": "submit_time",
    "gpus": "num_gpu",
    "duration_s": "duration",
    "iterations": "iterations",
    "model": "model_name",
}
MODEL_NAMES: dict[str, str | None] = {
    "alexnet": "AlexNet",
    "vgg11": "VGG11",
    "vgg16": "VGG16",
    "vgg19": "VGG19",
    "resnet50": "ResNet50",
    "inception3": "InceptionV3",
    "inception4": "InceptionV3",  # stand-ins: these have no profile
    "resnet101": "ResNet50",
    "resnet152": "ResNet50",
    "googlenet": "InceptionV3",
}


class TiresiasCsv(TraceReader):
    """Jobs of a CSV file with job_id, num_gpu, submit_time, iterations, model_name, duration; times in s.

    Rules:

    - `iterations=keep` (default): the job does the file's iterations, each of duration / iterations
      seconds. `ignore`: only the duration counts, and the model's profile sets the grain.
    - The duration is the run time without waiting, on a good placement; communication is added.
    - Models are renamed by `model_names`. Of the ten, Inception v4, GoogLeNet, ResNet-101 and -152 have no
      profile here: the nearest of their family replaces them. null: drawn by `models`.
    - A job of duration 0 follows `zero_duration`; one without GPUs is left out, since the file names no
      CPUs. interval, the time since the job before, is not used.
    - A file with Muri's columns is refused: its times are in milliseconds.
    """

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        iterations: Literal["keep", "ignore"] = "keep"
        zero_duration: rules.ZeroDuration = "drop"
        model_names: dict[str, str | None] = MODEL_NAMES

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        if "iteration_time" in raw:
            allowed = "workload=muri, which reads times in ms"
            raise InputError(
                "a file of Muri", where=f"{path}, line 1", found="iteration_time", allowed=allowed
            )
        rules.require_header(raw, path, _HEADER)
        table = typed(rules.renamed(raw, _FIELDS), str(path), _FIELDS)
        if self.parameters.iterations == "ignore":
            table = table.assign(iterations=float("nan"))
        table = rules.apply_cpu_jobs(table, "drop", path)
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        rules.note_order(table, path)
        return rules.renamed_models(check(table, str(path), _FIELDS), self.parameters.model_names)
