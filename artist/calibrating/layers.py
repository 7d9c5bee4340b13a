"""Measured layers: the table of `artist-calibrate measure`, and profiles of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from artist.errors import InputError
from artist.tables.files import read_csv, read_text
from artist.tables.grid import Grid
from netmodels.calibration.calibrated import CalibratedLayer, CalibratedModel
from netmodels.inputs.naming import allowed_names
from netmodels.profiles.workload_text import layers_of, parallelism_of

if TYPE_CHECKING:
    from artist.tables.rows import Table

FIGURES = ("forward_ns", "input_gradient_ns", "weight_gradient_ns", "gradient_bytes")
_REQUIRED = ("model", "layer", *FIGURES)
_MOST = 10**13  # ns, bytes: 3 hours, 10 TB
_HEADS = (
    ("", "", "model"),
    ("", "", "layers"),
    ("", "forward", "ms"),
    ("", "backward", "ms"),
    ("", "gradients", "MB"),
)


def read_layers(path: Path, model: str | None) -> dict[str, CalibratedModel]:
    """Return the models of a table, or the one of a text workload of ASTRA-sim 1.0.

    A table has one row per layer: model, layer, times in ns, bytes; source is optional.

    Parameters
    ----------
    path
        The file.
    model
        Name of the model of a text workload.

    Raises
    ------
    InputError
        With file and line, the value found and the allowed ones.
    """
    text = read_text(path, "layers")
    if parallelism_of(text):
        workload = layers_of(text, str(path))
        whole = [CalibratedLayer(**asdict(layer)) for layer in workload]
        return {named_model(model, path): measured_model(whole, path.name, str(path))}
    table = _read(path, "layers", _REQUIRED)
    models: dict[str, list[CalibratedLayer]] = {}
    sources: dict[str, str] = {}
    for line, row in table.records():
        cells = {str(name): str(value).strip() for name, value in row.items()}
        where = f"{path}, line {line}"
        if not (cells["model"] and cells["layer"]):
            raise InputError("no name", where=where, found=cells["layer"], allowed="a model and a layer")
        layers = models.setdefault(cells["model"], [])
        if any(layer.name == cells["layer"] for layer in layers):
            raise InputError("a layer twice", where=where, found=cells["layer"], allowed="each layer once")
        figures = {name: _whole(cells[name], f"{where}, {name}") for name in FIGURES}
        layers.append(CalibratedLayer(name=cells["layer"], **figures))
        sources.setdefault(cells["model"], cells.get("source", ""))
    if not models:
        raise InputError("empty table", where=str(path), found=0, allowed="one row per layer")
    return {
        name: measured_model(layers, sources[name] or path.name, str(path)) for name, layers in models.items()
    }


def named_model(model: str | None, path: Path) -> str:
    """Return the name of the model of a file.

    Raises
    ------
    InputError
        If it is not given.
    """
    if model is None:
        allowed = "model=NAME, as job traces call it"
        raise InputError("the file does not name its model", where="model", found=str(path), allowed=allowed)
    return model


def _read(path: Path, kind: str, columns: Sequence[str]) -> "Table":
    table = read_csv(path, kind)
    for name in columns:
        if name not in table.columns:
            found, what = ", ".join(table.columns), f"column {name} is missing"
            raise InputError(what, where=f"{path}, line 1", found=found, allowed=", ".join(columns))
    return table


def measured_model(layers: Sequence[CalibratedLayer], source: str, where: str) -> CalibratedModel:
    """Return a model of measured layers.

    Raises
    ------
    InputError
        If it computes nothing, or a figure is impossible for a layer.
    """
    if not any(layer.forward_ns + layer.input_gradient_ns + layer.weight_gradient_ns for layer in layers):
        raise InputError("layers that take no time", where=where, found=0, allowed="times in ns")
    most = max(getattr(layer, name) for layer in layers for name in FIGURES)
    if most > _MOST:
        raise InputError(
            "too much for a layer", where=where, found=most, allowed=f"ns, bytes up to {_MOST:,}"
        )
    return CalibratedModel(source=source, layers=tuple(layers))


def read_gradients(path: Path, layers: Sequence[str]) -> dict[str, int]:
    """Return the gradient bytes by layer of a table `layer,gradient_bytes`.

    Raises
    ------
    InputError
        With file and line, if a figure is wrong or a layer is unknown.
    """
    table = _read(path, "gradients", ("layer", "gradient_bytes"))
    gradients: dict[str, int] = {}
    for line, row in table.records():
        layer, where = str(row["layer"]).strip(), f"{path}, line {line}"
        if layer not in layers:
            raise InputError("unknown layer", where=where, found=layer, allowed=allowed_names(layer, layers))
        gradients[layer] = _whole(str(row["gradient_bytes"]).strip(), f"{where}, gradient_bytes")
    return gradients


def _whole(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST):
        raise InputError("not a whole number", where=where, found=text, allowed=f"0 to {_MOST:,} (ns, bytes)")
    return int(text)


def sent_bytes(model: CalibratedModel) -> int:
    """Return the bytes of all gradients."""
    return sum(layer.gradient_bytes for layer in model.layers or ())


def layers_table(models: Mapping[str, CalibratedModel]) -> str:
    """Return the sums of measured layers, one row per model."""
    rows = []
    for name, model in models.items():
        layers = model.layers or ()
        forward = sum(layer.forward_ns for layer in layers)
        backward = sum(layer.input_gradient_ns + layer.weight_gradient_ns for layer in layers)
        backward -= layers[0].input_gradient_ns if layers else 0  # never computed
        times = (f"{time_ns / 1e6:,.3f}" for time_ns in (forward, backward))
        rows.append((name, str(len(layers)), *times, f"{sent_bytes(model) / 1e6:,.3f}"))
    return Grid(_HEADS, tuple(rows), 1).text()
