"""Chakra traces of users as a profile: compute, collectives and messages of the ranks, groups kept.

A folder of `NAME.0.et`, `NAME.1.et`, .. (or its path with the prefix NAME), and the communicator groups as
ASTRA-sim 2.x reads them: `{"1": [0, 1], "2": [2, 3]}`. As there, compute takes `duration_micros` (nothing: 1
ns), a collective of no group, or of group 0, has all ranks, and members are in the order of the ring. Nodes
of compute as written here (`tensor_size` 1) have their time in `num_ops`.

Refused: other types of nodes and collectives, operations of the CPU, compute by roofline, and collectives
of some dimensions alone (`involved_dim`).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Literal, NoReturn

from google.protobuf.message import DecodeError

from netmodels.astra_sim.chakra import COLLECTIVE, COMPUTE, RECEIVE, SEND, TYPES, message
from netmodels.collectives.rank_program import FreeNetwork, Node, RankNetwork, RankProgram, rank_times
from netmodels.fabric.shape import Shape, gpus
from netmodels.inputs.digest import digest_of
from netmodels.inputs.errors import InputError
from netmodels.inputs.files import read_text
from netmodels.profiles.layers import Layer, Profile

_COLLECTIVES = {number: name for name, number in TYPES.items()}
_KINDS = {COMPUTE: "COMP", SEND: "COMM_SEND", RECEIVE: "COMM_RECV", COLLECTIVE: "COMM_COLL"}
_MOST = 2**53


@dataclass(frozen=True, slots=True)
class TraceProgram:
    """Program of the ranks of a trace, a GPU each; see `netmodels.profiles.layers.Program`."""

    program: RankProgram
    where: str
    digest: str

    def __hash__(self) -> int:
        return hash(self.digest)

    def record(self) -> list[object]:
        """Return all that answers depend on as plain values, for digests."""
        return ["chakra", self.digest]

    def check(self, gpus: int) -> None:
        """Raise for other numbers of GPUs than ranks.

        Raises
        ------
        InputError
            If they differ.
        """
        if gpus != len(self.program.ranks):
            ranks = f"{len(self.program.ranks)} GPUs, a rank each"
            raise InputError("a trace of other GPUs", where=self.where, found=f"{gpus} GPUs", allowed=ranks)

    def free_ns(self, gpus: int, factor: float = 1.0) -> float:
        """Return the time of the ranks on a free network."""
        self.check(gpus)
        return _free_ns(self, factor)

    def ranks(self, shape: Shape, network: RankNetwork, factor: float) -> RankProgram:
        """Return the ranks, compute times multiplied by `factor` and truncated to whole ns."""
        self.check(gpus(shape))
        ranks = self.program.ranks
        if factor != 1.0:
            ranks = tuple(tuple(n._replace(ns=int(n.ns * factor)) for n in nodes) for nodes in ranks)
        return RankProgram(ranks, self.program.groups)

    def iteration(self, shape: Shape, fabric: object, factor: float) -> NoReturn:
        """Refuse NCCL's collectives, which have no ranks."""
        allowed = "network.system.preset=papers, or network=astra_sim"
        what = "traces run ASTRA-sim's collectives"
        raise InputError(what, where=self.where, found="collectives=nccl", allowed=allowed)

    def traffic(self, placement: object, fabric: object, factor: float) -> NoReturn:
        """Refuse NCCL's collectives on shared links."""
        self.iteration((), fabric, factor)


@lru_cache(maxsize=1024)
def _free_ns(trace: TraceProgram, factor: float) -> float:
    program = trace.ranks((((("", len(trace.program.ranks)),)),), FreeNetwork(), factor)  # type: ignore[arg-type]
    return float(max(time.end_ns for time in rank_times(program, FreeNetwork())))


def trace_profile(name: str, path: Path, groups: Path | None, source: str = "") -> Profile:
    """Return the profile of Chakra traces.

    Parameters
    ----------
    name
        Of the model.
    path, groups
        Folder of the traces, or their path up to the rank's number; file of groups, None: all ranks alone.
    source
        Origin.

    Raises
    ------
    InputError
        With file and node, if a trace or the groups cannot be understood, or the ranks wait for ever.
    """
    files = _files(path)
    members = {} if groups is None else _groups(groups, len(files))
    members[0] = tuple(range(len(files)))
    ranks = tuple(tuple(_nodes(file, rank, members)) for rank, file in enumerate(files))
    used = sorted({node.group for nodes in ranks for node in nodes if node.kind in _COLLECTIVES.values()})
    program = RankProgram(ranks, {number: members[number] for number in used})
    trace = TraceProgram(program, str(path), digest_of([ranks, list(program.groups.items())]))
    try:
        whole = round(trace.free_ns(len(files)))
    except InputError as error:
        where = f"{path}, {error.where}"
        raise InputError(error.what, where=where, found=error.found, allowed=error.allowed) from None
    return Profile(name, (Layer("trace", whole, 0, 0, 0),), source, program=trace)


def _files(path: Path) -> list[Path]:
    """Return the files of all ranks, in order."""
    parent, prefix = (path, r".+") if path.is_dir() else (path.parent, re.escape(path.name))
    names = sorted(file.name for file in parent.glob("*.et")) if parent.is_dir() else []
    matches = [match for name in names if (match := re.fullmatch(rf"({prefix})\.(\d+)\.et", name))]
    allowed = "NAME.0.et, NAME.1.et, .. of one NAME"
    if len({match[1] for match in matches}) != 1:
        shown = ", ".join(dict.fromkeys(match[1] for match in matches)) or "none"
        raise InputError("not the traces of one program", where=str(path), found=shown, allowed=allowed)
    by_rank = {int(match[2]): parent / match[0] for match in matches}
    missing = next((rank for rank in range(max(by_rank)) if rank not in by_rank), None)
    if missing is not None:
        shown = f"{len(by_rank)} ranks up to {max(by_rank)}"
        raise InputError(
            f"the trace of rank {missing} is missing", where=str(path), found=shown, allowed=allowed
        )
    return [by_rank[rank] for rank in range(len(by_rank))]


def _groups(path: Path, ranks: int) -> dict[int, tuple[int, ...]]:
    """Return the members of groups by number."""
    try:
        content = json.loads(read_text(path, "groups"))
    except ValueError as error:
        raise InputError("not JSON", where=str(path), found=str(error), allowed='{"1": [0, 1]}') from None
    if not isinstance(content, dict):
        raise InputError("not groups", where=str(path), found=content, allowed='{"1": [0, 1]}')
    groups: dict[int, tuple[int, ...]] = {}
    for name, members in content.items():
        where = f"{path}, group {name}"
        if not re.fullmatch(r"[1-9]\d{0,2}", name):
            raise InputError("wrong number of a group", where=where, found=name, allowed="1 to 999")
        whole = isinstance(members, list) and all(type(member) is int for member in members)
        if not whole or len(members) < 2 or len(set(members)) < len(members):
            raise InputError(
                "wrong members", where=where, found=members, allowed="two or more ranks, each once"
            )
        absent = [member for member in members if not 0 <= member < ranks]
        if absent:
            raise InputError(
                "a rank without a trace", where=where, found=absent[0], allowed=f"0 to {ranks - 1}"
            )
        groups[int(name)] = tuple(members)
    return groups


def _nodes(path: Path, rank: int, groups: Mapping[int, tuple[int, ...]]) -> Iterator[Node]:
    """Yield the nodes of a rank, after checks of their order."""
    nodes: dict[int, Node] = {}
    for record in _records(path):
        node = _node(record, f"{path}, node {record.id}", rank, groups)
        if node.number in nodes:
            raise InputError("a node twice", where=str(path), found=node.number, allowed="each id once")
        nodes[node.number] = node
    if not nodes:
        raise InputError("a trace without nodes", where=str(path), found=0, allowed="one or more")
    for node in nodes.values():
        absent = [before for before in node.after if before not in nodes]
        if absent:
            where = f"{path}, node {node.number}"
            raise InputError("it waits for a node that is not there", where=where, found=absent[0])
    try:
        tuple(TopologicalSorter({node.number: node.after for node in nodes.values()}).static_order())
    except CycleError as error:
        cycle = " -> ".join(map(str, error.args[1]))
        raise InputError(
            "nodes wait for each other", where=str(path), found=cycle, allowed="no cycle"
        ) from None
    yield from nodes.values()


def _records(path: Path) -> Iterator[Any]:
    """Yield the messages of the nodes of a file."""
    data, at, kind = path.read_bytes(), 0, "GlobalMetadata"
    while at < len(data):
        start, length, shift = at, 0, 0
        while at < len(data) and data[at] > 0x7F and shift < 28:
            length, shift, at = length | (data[at] & 0x7F) << shift, shift + 7, at + 1
        length, at = length | (data[at] if at < len(data) else 1) << shift, at + 1
        try:
            if at + length > len(data):
                raise DecodeError(f"{at + length - len(data)} bytes are missing")
            record = message(kind).FromString(data[at : at + length])
        except (DecodeError, ValueError) as error:
            what, where = "cut off, or no Chakra trace", f"{path}, byte {start}"
            raise InputError(what, where=where, found=str(error), allowed="a whole .et file") from None
        if kind == "Node":
            yield record
        at, kind = at + length, "Node"


class _Fields:
    """Type, order and attributes of a node of a file."""

    def __init__(self, record: Any, where: str) -> None:
        self.record, self.where = record, where
        self.values = {one.name: _value(one) for one in record.attr}
        self.after = tuple(dict.fromkeys((*record.data_deps, *record.ctrl_deps)))

    def number(self, name: str, default: int | None = None, least: int = 0) -> int:
        """Return a whole number."""
        value = self.values.get(name, default)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if type(value) is not int or not least <= value <= _MOST:
            shown = "nothing" if value is None else value
            self.refuse(f"wrong {name}", shown, f"a whole number from {least}")
        return int(value)

    def refuse(self, what: str, value: object, allowed: str) -> NoReturn:
        """Raise InputError for the node."""
        raise InputError(what, where=self.where, found=value, allowed=allowed)


def _node(record: Any, where: str, rank: int, groups: Mapping[int, tuple[int, ...]]) -> Node:
    fields = _Fields(record, where)
    if record.type not in _KINDS:
        fields.refuse("a type of node that is not followed", record.type, _listed(_KINDS))
    if fields.values.get("is_cpu_op"):
        fields.refuse("an operation of the CPU", "is_cpu_op", "operations of GPUs")
    if record.type == COMPUTE:
        if fields.number("tensor_size", 1) != 1:
            fields.refuse("compute by roofline", "tensor_size", "duration_micros")
        ns = 1000 * record.duration_micros
        ns = fields.number("num_ops") // 1000 if "num_ops" in fields.values else ns
        return Node(record.id, "compute", fields.after, ns=max(1, ns))
    return (
        _collective(fields, rank, groups) if record.type == COLLECTIVE else _message(fields, rank, groups[0])
    )


def _message(fields: _Fields, rank: int, ranks: tuple[int, ...]) -> Node:
    sends = fields.record.type == SEND
    to, by = ("comm_dst", "comm_src") if sends else ("comm_src", "comm_dst")
    peer, this, tag = fields.number(to), fields.number(by, rank), fields.number("comm_tag", 0)
    if this != rank or peer == rank or peer not in ranks:
        fields.refuse(
            "a message between wrong ranks", f"{by} {this}, {to} {peer}", f"{by} {rank}, {to} another"
        )
    kind: Literal["send", "receive"] = "send" if sends else "receive"
    size = fields.number("comm_size", least=1)
    return Node(fields.record.id, kind, fields.after, size_bytes=size, peer=peer, tag=tag)


def _collective(fields: _Fields, rank: int, groups: Mapping[int, tuple[int, ...]]) -> Node:
    kind, size = fields.number("comm_type"), fields.number("comm_size", least=1)
    if kind not in _COLLECTIVES:
        fields.refuse("a collective that is not followed", kind, _listed(_COLLECTIVES))
    if fields.values.get("involved_dim"):
        fields.refuse("a collective of some dimensions", "involved_dim", "all dimensions, or a group")
    group = fields.number("pg_name", 0) if fields.values.get("pg_name") else 0
    if rank not in groups.get(group, ()):
        known = ", ".join(str(number) for number, members in groups.items() if rank in members)
        fields.refuse(f"no group of rank {rank}", group, known)
    return Node(fields.record.id, _COLLECTIVES[kind], fields.after, size_bytes=size, group=group)


def _value(attribute: Any) -> Any:
    """Return the value of an attribute; of flags per dimension whether one is off."""
    if attribute.HasField("bool_list"):
        return not all(attribute.bool_list.values)
    names = ("int64_val", "uint64_val", "int32_val", "uint32_val", "string_val", "bool_val")
    return next((getattr(attribute, name) for name in names if attribute.HasField(name)), None)


def _listed(names: Mapping[int, str]) -> str:
    return ", ".join(f"{number} ({name})" for number, name in names.items())
