"""Reads the traces that `netmodels.astra_sim.chakra` writes, as ASTRA-sim does: by schema or by field."""

from collections.abc import Iterator
from typing import Any


def read_trace(data: bytes) -> tuple[str, list[Any]]:
    """Return version and nodes of a trace, as messages of the schema."""
    from netmodels.astra_sim.chakra import message  # here: the fake program starts without our packages

    head, *nodes = records(data)
    return message("GlobalMetadata").FromString(head).version, list(map(message("Node").FromString, nodes))


def records(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a trace; each follows its length."""
    at = 0
    while at < len(data):
        length, at = varint(data, at)
        yield data[at : at + length]
        at += length


def fields(data: bytes) -> dict[int, list[Any]]:
    """Return the values of a message by field number: integers, and bytes that may be messages themselves."""
    values: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: int | bytes
        value, at = varint(data, at)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        values.setdefault(key >> 3, []).append(value)
    return values


def integers(data: bytes) -> Iterator[int]:
    """Yield the integers of a packed field."""
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer that begins at a byte, 7 bits a byte, lowest first, and the position after it."""
    value, shift, more = 0, 0, True
    while more:
        value |= (data[at] & 0x7F) << shift
        more, shift, at = data[at] > 0x7F, shift + 7, at + 1
    return value, at
