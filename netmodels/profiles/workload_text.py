"""Text workloads of ASTRA-sim 1.0: a model's layers, one per line, as times in ns and collectives in bytes.

DATA                     the parallelism; only this is data parallel
2                        number of layers
name  -1  forward NONE 0  input-gradient NONE 0  weight-gradient ALLREDUCE bytes  update delay
"""

import re
from math import isfinite

from netmodels.inputs.errors import InputError
from netmodels.profiles.layers import Layer

_DATA = "DATA"
_PARALLELISM = re.compile(r"(?:DATA|MODEL|MICRO|HYBRID_\w+|DISTRIBUTED_INFERENCE)\b")
_CELLS = 12
_MAX = 2**53


def parallelism_of(text: str) -> str:
    """Return the parallelism of a text workload, such as DATA; empty for another text."""
    lines = text.split("\n", 2)
    match = _PARALLELISM.match(lines[0].strip())
    return match[0] if match and len(lines) > 1 and lines[1].strip().isdigit() else ""


def layers_of(text: str, path: str) -> tuple[Layer, ...]:
    """Return the layers of a data-parallel text workload, first to last.

    Raises
    ------
    InputError
        If it is of another parallelism, or a line cannot be understood.
    """
    parallelism = parallelism_of(text)
    if parallelism != _DATA:
        what, allowed = "a workload that is not data parallel", f"{_DATA}: profiles are data parallel"
        raise InputError(what, where=f"{path}, line 1", found=parallelism, allowed=allowed)
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    stated = int(lines[1][1][0])
    rows = [
        (number, cells) for number, cells in lines[2:] if len(cells) > 1
    ]  # the authors' files end in a sum
    if len(rows) != stated or not rows:
        what, allowed = "not as many layers as line 2 states", f"{stated} lines of {_CELLS} cells"
        raise InputError(what, where=f"{path}, line 2", found=len(rows), allowed=allowed)
    return tuple(_layer(cells, f"{path}, line {number}") for number, cells in rows)


def _layer(cells: list[str], where: str) -> Layer:
    if len(cells) != _CELLS:
        what = f"a layer of {len(cells)} cells"
        raise InputError(what, where=where, found=" ".join(cells), allowed=f"{_CELLS}")
    for place in (3, 6):
        if cells[place] != "NONE":
            what, allowed = (
                "a collective of activations",
                "NONE: in data parallelism gradients are reduced alone",
            )
            raise InputError(what, where=where, found=cells[place], allowed=allowed)
    if cells[9] not in ("ALLREDUCE", "NONE"):
        what, allowed = "not a collective of data-parallel gradients", "ALLREDUCE, NONE"
        raise InputError(what, where=where, found=cells[9], allowed=allowed)
    forward, input_gradient, weight_gradient, size, update = (
        _whole(cells[place], where) for place in (2, 5, 8, 10, 11)
    )
    return Layer(
        cells[0], forward, input_gradient, weight_gradient, size if cells[9] == "ALLREDUCE" else 0, update
    )


def _whole(text: str, where: str) -> int:
    """Return a number without its fraction, as ASTRA-sim reads it."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and 0 <= value <= _MAX):
        raise InputError("not a number", where=where, found=text, allowed=f"0 to {_MAX} (ns, bytes)")
    return int(value)
