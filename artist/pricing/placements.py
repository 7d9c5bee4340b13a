"""Placements in words: `8`, `5+3`, `8+8 | 4`, `4x8 | 4x8`, `8@v100_8gpu+8@t4_8gpu`."""

import re
from collections.abc import Sequence
from itertools import groupby

from artist.errors import InputError
from netmodels.api import Shape, Tier, Topology, shape_of

_MACHINES = re.compile(r"(?:(?P<count>[1-9][0-9]*)x)?(?P<gpus>0|[1-9][0-9]*)(?:@(?P<type>[^\s+|@]+))?")
_ALLOWED = "GPUs of machines joined by +, racks by |, such as 8, 5+3, 8+8|4, 4x8|4x8, 8@machine_type"
_MAX_GPUS = 1_000_000
_MAX_DIGITS = 18  # longer numbers are too large in any case


def parse_shape(text: str, topology: Topology) -> Shape:
    """Return the placement that a text describes.

    Parameters
    ----------
    text
        `+` joins the machines of a rack, `|` the racks; `4x8` is four machines of 8 GPUs; `8@name` a machine
        of a type, the default one without.
    topology
        Its machine types give the GPUs of a machine.

    Raises
    ------
    InputError
        If the text is not a placement, a type is unknown or a machine has fewer GPUs.
    """
    slices = parse_machines(text, topology)
    if not all(count for _, _, count in slices):
        raise InputError("not a placement", where="shape", found=text, allowed=_ALLOWED)
    return shape_of(slices)


def parse_machines(text: str, topology: Topology, field: str = "shape") -> list[tuple[int, str, int]]:
    """Return (rack, machine type, GPUs) of the machines of a placement, in order; GPUs may be 0.

    Parameters
    ----------
    text, topology
        As for `parse_shape`.
    field
        Where the text was given, for messages.

    Raises
    ------
    InputError
        As `parse_shape`; and if no machine has GPUs.
    """
    slices: list[tuple[int, str, int]] = []
    total = 0
    for rack, machines in enumerate(text.split("|")):
        in_rack = 0
        for group in machines.split("+"):
            match = _MACHINES.fullmatch(group.strip())
            if match is None:
                raise InputError("not a placement", where=field, found=text, allowed=_ALLOWED)
            machine, gpus = topology.machine_type(match["type"], field), int(match["gpus"][:_MAX_DIGITS])
            if gpus > machine.gpus:
                what = f"more GPUs than a machine of type {machine.name} has"
                raise InputError(what, where=field, found=text, allowed=f"up to {machine.gpus} per machine")
            count = int((match["count"] or "1")[:_MAX_DIGITS])
            in_rack += count
            total += count * gpus
            if total > _MAX_GPUS:
                allowed = f"up to {_MAX_GPUS} GPUs"
                raise InputError("a placement too large", where=field, found=text, allowed=allowed)
            if in_rack > topology.machines_per_rack:
                allowed = f"up to {topology.machines_per_rack} per rack; | begins another"
                raise InputError("more machines than a rack has", where=field, found=text, allowed=allowed)
            slices += [(rack, machine.name, gpus)] * count
    if not total:
        raise InputError("not a placement", where=field, found=text, allowed=_ALLOWED)
    return slices


def show_shape(shape: Shape, topology: Topology) -> str:
    """Return the text of a placement, equal machines together."""
    return " | ".join("+".join(_machines(rack, topology)) for rack in shape)


def _machines(rack: Sequence[tuple[str, int]], topology: Topology) -> list[str]:
    texts = []
    for (name, gpus), alike in groupby(sorted(rack, key=lambda machine: (machine[0], -machine[1]))):
        count = len(list(alike))
        machine = f"{gpus}" if name == topology.default_machine_type else f"{gpus}@{name}"
        texts += [machine] * count if count < 3 else [f"{count}x{machine}"]
    return texts


def tier_shapes(gpus: int, topology: Topology) -> dict[Tier, Shape]:
    """Return a placement of some GPUs per tier that can hold them.

    Machine: all in one. Rack: over as few machines as hold them, but two. Network: over as few racks, but
    two; always as evenly as possible.

    Parameters
    ----------
    gpus
        Their number.
    topology
        Gives the GPUs of a machine of the default type, and the machines of a rack.

    Raises
    ------
    InputError
        If there is no such placement.
    """
    machine = topology.machine_type()
    if isinstance(gpus, bool) or not 1 <= gpus <= _MAX_GPUS or not machine.gpus:
        allowed = f"1 to {_MAX_GPUS}" if machine.gpus else "a topology whose default machines have GPUs"
        raise InputError("wrong number of GPUs", where="gpus", found=gpus, allowed=allowed)
    placements: dict[Tier, Shape] = {}
    machines = max(2, -(-gpus // machine.gpus))
    racks = max(2, -(-machines // topology.machines_per_rack))
    if gpus <= machine.gpus:
        placements["machine"] = shape_of([(0, machine.name, gpus)])
    if gpus >= 2 and machines <= topology.machines_per_rack:
        placements["rack"] = shape_of((0, machine.name, share) for share in _even(gpus, machines))
    if gpus >= 2:
        in_racks = [rack for rack, count in enumerate(_even(machines, racks)) for _ in range(count)]
        shares = zip(in_racks, _even(gpus, machines), strict=True)
        placements["network"] = shape_of((rack, machine.name, share) for rack, share in shares)
    return placements


def _even(total: int, parts: int) -> list[int]:
    return [total // parts + (place < total % parts) for place in range(parts)]
