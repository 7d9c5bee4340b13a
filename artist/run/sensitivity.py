"""Sensitivity of models to CPUs and memory: the shipped tables, and the user's own.

    gpu_speed: 0.25
    models:
      ResNet18: {throughput: {1: 0.37, 3: 1, 9: 2.4}, dataset_gib: 140, uncached: 1.6715}

is enough. Models that a file does not name are as in `synergy`, or in `coda` with `base: coda`.
"""

import os
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictStr, ValidationError, model_validator

from artist.bad_input.records import Strict
from artist.data import data_path
from artist.errors import InputError
from artist.performance.formulas.input_rate import Sensitivity
from artist.units import BYTES_PER_GB, BYTES_PER_GIB
from netmodels.api import get_profile
from netmodels.inputs.naming import allowed_names
from netmodels.inputs.schema import first_problem, read_yaml

_SHIPPED = {"coda": "cpu_side_coda.yaml", "synergy": "input_sensitivity.yaml"}

Number = Annotated[float, Field(strict=True)]
Positive = Annotated[Number, Field(gt=0, le=1e6)]
Gib = Annotated[Number, Field(ge=0, le=2.0**20)]
Loss = Annotated[Number, Field(ge=0, lt=1)]


class ProcessMemory(Strict):
    """Memory of a job's processes per machine and per GPU, in GiB."""

    machine: Gib = 10.0
    gpu: Gib = 10.0


class ModelSensitivity(Strict):
    """Sensitivity of a model to CPUs and memory.

    Attributes
    ----------
    throughput
        By CPUs per GPU with all the memory needed; relative, to any of them.
    uncached
        Throughput where storage delivers everything; None where fetching never limits.
    iteration_s
        Iteration time where the throughput is 1, on one GPU: for `workload=synergy`, which reads the
        shipped table.
    beyond, max_beyond, across
        As for `artist.performance.formulas.input_rate.Sensitivity`.
    memory_bandwidth_gb_s
        Memory bandwidth that the input of one GPU draws on its machine, in 10^9 bytes/s.
    bandwidth_loss
        Share of its speed that a job loses on a machine whose memory bandwidth is used up.
    pcie_greedy
        Whether it saturates the PCIe of its machine.
    gpu_utilization
        Of its GPUs where they never wait for input: for `workload=coda`, which reads the shipped table.
    source
        Source of the figures.
    """

    throughput: dict[Positive, Positive] = Field(min_length=1)
    dataset_gib: Gib = 0.0
    uncached: Positive | None = None
    process_gib: ProcessMemory = ProcessMemory()
    iteration_s: Positive | None = None
    beyond: Loss = 0.0
    max_beyond: Loss = 0.0
    across: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
    memory_bandwidth_gb_s: Annotated[Number, Field(ge=0, le=1e6)] = 0.0
    bandwidth_loss: Loss = 0.0
    pcie_greedy: StrictBool = False
    gpu_utilization: Annotated[Number, Field(gt=0, le=1)] | None = None
    source: StrictStr = ""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        points = sorted(self.throughput.items())
        if any(after < before for (_, before), (_, after) in pairwise(points)):
            raise ValueError("throughput must not fall where CPUs rise")
        if self.uncached is not None and not self.dataset_gib:
            raise ValueError("uncached needs dataset_gib, the size of the data set")
        return self

    def build(self, speed: float) -> Sensitivity:
        """Return it in bytes."""
        cpus, throughput = zip(*sorted(self.throughput.items()), strict=True)
        sizes = (self.dataset_gib, self.process_gib.machine, self.process_gib.gpu)
        dataset, machine, gpu = (round(size * BYTES_PER_GIB) for size in sizes)
        return Sensitivity(
            *(cpus, throughput, speed, dataset, self.uncached, machine, gpu),
            beyond=self.beyond,
            max_beyond=self.max_beyond,
            across=self.across,
            memory_bandwidth_bytes_per_s=round(self.memory_bandwidth_gb_s * BYTES_PER_GB),
            bandwidth_loss=self.bandwidth_loss,
            pcie_greedy=self.pcie_greedy,
        )


class SensitivityFile(Strict):
    """The content of a file.

    Attributes
    ----------
    gpu_speed
        Of the GPUs that it was measured on, relative to the reference GPU.
    models
        By name.
    base
        The shipped table of the models that the file does not name.
    """

    gpu_speed: Annotated[Number, Field(ge=1e-6, le=1e6)]
    models: dict[StrictStr, ModelSensitivity] = Field(min_length=1)
    base: Literal["synergy", "coda"] = "synergy"


class Sensitivities(dict[str, Sensitivity]):
    """Sensitivities by model, under any name that the traces use for it."""

    def __missing__(self, name: str) -> Sensitivity:
        known = self[name] = dict.__getitem__(self, get_profile(name).name)
        return known


def sensitivity_file(path: Path) -> Path:
    """Return the file of sensitivities: the named one, or a shipped one."""
    shipped = _SHIPPED.get(str(path))
    return data_path("traces", f"measured/{shipped}") if shipped else path


def read_sensitivities(path: Path) -> Sensitivities:
    """Return the sensitivity of every model that has a profile.

    Raises
    ------
    InputError
        For the first fault, with file, field, value and allowed values.
    """
    if str(path) in _SHIPPED:
        return _models(_read(sensitivity_file(path)), path)
    if len(path.parts) == 1 and not path.suffix and not os.path.exists(path):
        allowed = f"{allowed_names(path, _SHIPPED)}; or a file"
        raise InputError("no such table", where="performance.sensitivity", found=str(path), allowed=allowed)
    file = _read(path)
    return Sensitivities(read_sensitivities(Path(file.base)) | _models(file, path))


def _read(path: Path) -> SensitivityFile:
    content = read_yaml(path, "sensitivity")
    if content is None:
        allowed = "gpu_speed, and models with their throughput by CPUs per GPU"
        raise InputError("the sensitivity file is empty", where=str(path), found="nothing", allowed=allowed)
    try:
        return SensitivityFile.model_validate(content)
    except ValidationError as error:
        fields = {*SensitivityFile.model_fields, *ModelSensitivity.model_fields, *ProcessMemory.model_fields}
        problem = min(error.errors(), key=lambda fault: fault["type"] == "missing")  # a slip in a name first
        if problem["loc"][2:3] == ("throughput",) and problem["loc"][-1] == "[key]":
            where = f"{path}, {'.'.join(map(str, problem['loc'][:-1]))}"
            what, cpus = "wrong number of CPUs per GPU", problem["input"]
            allowed = "a number greater than 0 and up to 1000000, as in throughput: {1: 0.4, 4: 1}"
            raise InputError(what, where=where, found=cpus, allowed=allowed) from None
        raise first_problem(error, str(path), sorted(fields)) from None


def _models(file: SensitivityFile, path: Path) -> Sensitivities:
    """Return the models that a file names."""
    models = Sensitivities()
    for name, model in file.models.items():
        try:
            full_name = get_profile(name).name
        except InputError as error:
            raise InputError(
                error.what, where=f"{path}, models.{name}", found=name, allowed=error.allowed
            ) from None
        if full_name in models:
            allowed = "each model once, under any of its names"
            raise InputError("the same model twice", where=f"{path}, models", found=name, allowed=allowed)
        models[full_name] = model.build(file.gpu_speed)
    return models
