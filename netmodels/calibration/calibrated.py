"""File of calibrated profiles, written by `artist-calibrate` and read by `network.profiles`.

    models:
      ResNet50: {compute_scale: 0.5, launch_ns: 20000}

is enough. The rest documents the origin; a run on another fabric, or with other collectives, notes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from netmodels.calibration.fit import MAX_LAUNCH_NS, Method
from netmodels.inputs.errors import InputError
from netmodels.inputs.files import read_text
from netmodels.inputs.schema import first_problem, read_yaml
from netmodels.profiles.layers import Layer, Profile
from netmodels.profiles.profile import get_profile
from netmodels.profiles.workload_text import parallelism_of

Fraction = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Whole = Annotated[StrictInt, Field(ge=0, le=10**18)]


class CalibratedLayer(_Part):
    """A measured layer, as of `netmodels.profiles.layers.Layer`."""

    name: StrictStr
    forward_ns: _Whole
    input_gradient_ns: _Whole
    weight_gradient_ns: _Whole
    gradient_bytes: _Whole
    update_ns: _Whole | None = None


class CalibratedModel(_Part):
    """Changes to the profile of a model, and their origin.

    Attributes
    ----------
    compute_scale, launch_ns
        As of `netmodels.calibration.fit.Fit`.
    update_ns
        As of `Profile.with_update`; None for the delays of the profile.
    measured, before, achieved
        Exposed communication / compute: measured, and of the network model before and after.
    gpus, machine_type
        Place of the measurement.
    source
        Source of the measurement.
    layers
        Measured layers instead of the shipped ones, first to last; the model need not be a shipped one.
    chakra, groups
        Chakra traces of the model's ranks instead of layers, and the file of their communicator groups; paths
        from the folder of the file (`netmodels.astra_sim.traces`).
    """

    compute_scale: Annotated[float, Field(strict=True, ge=1e-9, le=1e9)] = 1.0
    launch_ns: Annotated[StrictInt, Field(ge=0, le=MAX_LAUNCH_NS)] = 0
    update_ns: Annotated[StrictInt, Field(ge=0, le=MAX_LAUNCH_NS)] | None = None
    measured: Fraction | None = None
    before: Fraction | None = None
    achieved: Fraction | None = None
    gpus: StrictInt | None = None
    machine_type: StrictStr | None = None
    source: StrictStr = ""
    layers: Annotated[tuple[CalibratedLayer, ...], Field(min_length=1)] | None = None
    chakra: StrictStr | None = None
    groups: StrictStr | None = None


class CalibratedFile(_Part):
    """Content of a file; all but `models` is for human readers.

    Attributes
    ----------
    models
        By name.
    method
        The fitted quantity.
    measured
        Name of the table, and SHA-256 of its content.
    topology
        Name of the fabric with which the network model was asked.
    network
        The model, its version and its settings.
    """

    models: Annotated[dict[StrictStr, CalibratedModel], Field(min_length=1)]
    method: Method | None = None
    measured: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    topology: StrictStr = ""
    network: dict[StrictStr, object] = Field(default_factory=dict)

    def text(self) -> str:
        """Return the file; equal calibrations give equal bytes."""
        record = self.model_dump(exclude_none=True)
        names = ("method", "measured", "topology", "network", "models")
        present = {name: record[name] for name in names if record.get(name)}
        body: str = yaml.safe_dump(present, sort_keys=False, width=110)
        return f"# Written by artist-calibrate; network.profiles=THIS_FILE uses it.\n{body}"


@dataclass(frozen=True, slots=True)
class CalibratedProfiles:
    """Profiles by name: calibrated, or unchanged if the file does not mention them.

    Parameters
    ----------
    topology
        Fabric for which they were calibrated; empty if unknown.
    system
        Settings of collectives with which they were calibrated, by name; empty if unknown.
    profiles
        By the model's own name.
    """

    topology: str
    system: Mapping[str, object]
    profiles: Mapping[str, Profile]

    def __call__(self, name: str) -> Profile:
        """Return the profile of a model, by any name that the traces use for it.

        Raises
        ------
        InputError
            If there is no such model.
        """
        calibrated = self.profiles.get(name)
        if calibrated is not None:
            return calibrated
        profile = get_profile(name)
        return self.profiles.get(profile.name, profile)


def read_calibrated(path: Path) -> CalibratedProfiles:
    """Return the profiles of a file.

    Raises
    ------
    InputError
        With file, field, the value found and the allowed values.
    """
    text = read_text(path, "calibration")
    if parallelism_of(text):
        allowed = f"artist-calibrate layers={path} model=NAME, and the file that it writes"
        what = "a text workload of ASTRA-sim 1.0"
        raise InputError(what, where=str(path), found=text.partition("\n")[0], allowed=allowed)
    content = read_yaml(path, "calibration")
    try:
        file = CalibratedFile.model_validate(content)
    except ValidationError as error:
        fields = sorted({*CalibratedFile.model_fields, *CalibratedModel.model_fields})
        raise first_problem(error, str(path), fields) from None
    profiles: dict[str, Profile] = {}
    for name, model in file.models.items():
        profile = _profile(name, model, path)
        if profile.name in profiles:
            allowed = "each model once, under any of its names"
            raise InputError("the same model twice", where=f"{path}, models", found=name, allowed=allowed)
        fitted = profile.scaled(model.compute_scale).with_launch(model.launch_ns)
        profiles[profile.name] = fitted if model.update_ns is None else fitted.with_update(model.update_ns)
    system = file.network.get("system")
    return CalibratedProfiles(file.topology, system if isinstance(system, dict) else {}, profiles)


def _profile(name: str, model: CalibratedModel, path: Path) -> Profile:
    """Return the profile that a model begins with: the shipped one, its measured layers, or its traces."""
    if model.chakra is not None or model.groups is not None:
        from netmodels.astra_sim.traces import trace_profile  # most runs do without

        if model.chakra is None or model.layers is not None:
            what, where = "groups without traces", f"{path}, models.{name}"
            what = what if model.chakra is None else "layers beside traces"
            raise InputError(what, where=where, found=model.chakra, allowed="chakra and groups, or layers")
        groups = None if model.groups is None else path.parent / model.groups
        return trace_profile(name, path.parent / model.chakra, groups, model.source)
    try:
        profile = get_profile(name)
    except InputError as error:
        if model.layers is None:
            where = f"{path}, models.{name}"
            raise InputError(error.what, where=where, found=name, allowed=error.allowed) from None
        return Profile(name, _layers(model.layers), model.source)
    return profile if model.layers is None else Profile(profile.name, _layers(model.layers), model.source)


def _layers(layers: Sequence[CalibratedLayer]) -> tuple[Layer, ...]:
    return tuple(Layer(**layer.model_dump(exclude_none=True)) for layer in layers)
