"""Reads the traces that `netmodels.astra_sim.chakra` writes, as ASTRA-sim does."""

from typing import Any

from netmodels.astra_sim.chakra import message


def read_trace(data: bytes) -> tuple[str, list[Any]]:
    """Return version and nodes of a trace."""
    records, at = [], 0
    while at < len(data):
        length, shift, more = 0, 0, True
        while more:
            length |= (data[at] & 0x7F) << shift
            more, shift, at = data[at] > 0x7F, shift + 7, at + 1
        records.append(data[at : at + length])
        at += length
    head, *nodes = records
    return message("GlobalMetadata").FromString(head).version, list(map(message("Node").FromString, nodes))
