"""Chakra execution traces, which ASTRA-sim 2.x runs on NPUs.

A trace is a sequence of protobuf messages, each preceded by its length as a varint: one GlobalMetadata, then
nodes. The schema here follows the public format (MLCommons Chakra, et_def.proto), with only the fields in
use.

Compute nodes take whole nanoseconds through the roofline model at 1 TFLOP/s: `num_ops` 1000 t + 500 takes t
ns, where `duration_micros` would round to microseconds.
"""

from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from netmodels.collectives.algorithms import Collective
from netmodels.collectives.rank_program import Node, RankProgram
from netmodels.collectives.timeline import issues_of
from netmodels.profiles.layers import Profile

_VERSION = "0.0.4"
COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7  # NodeType
TYPES: dict[Collective, int] = {
    "all_reduce": 0,
    "all_gather": 2,
    "all_to_all": 6,
    "reduce_scatter": 7,
}  # CollectiveCommType

_F = FieldDescriptorProto
_ONE, _MANY = _F.LABEL_OPTIONAL, _F.LABEL_REPEATED
_SCHEMA: dict[str, tuple[tuple[str, int, int, int, str], ...]] = {
    "GlobalMetadata": (("version", 1, _F.TYPE_STRING, _ONE, ""),),
    "BoolList": (("values", 1, _F.TYPE_BOOL, _MANY, ""),),
    "AttributeProto": (
        ("name", 1, _F.TYPE_STRING, _ONE, ""),
        ("int32_val", 7, _F.TYPE_INT32, _ONE, ""),
        ("int64_val", 9, _F.TYPE_INT64, _ONE, ""),
        ("uint32_val", 11, _F.TYPE_UINT32, _ONE, ""),
        ("uint64_val", 13, _F.TYPE_UINT64, _ONE, ""),
        ("bool_val", 27, _F.TYPE_BOOL, _ONE, ""),
        ("bool_list", 28, _F.TYPE_MESSAGE, _ONE, ".chakra.BoolList"),
        ("string_val", 29, _F.TYPE_STRING, _ONE, ""),
    ),
    "Node": (
        ("id", 1, _F.TYPE_UINT64, _ONE, ""),
        ("name", 2, _F.TYPE_STRING, _ONE, ""),
        ("type", 3, _F.TYPE_INT32, _ONE, ""),
        ("ctrl_deps", 4, _F.TYPE_UINT64, _MANY, ""),
        ("data_deps", 5, _F.TYPE_UINT64, _MANY, ""),
        ("duration_micros", 7, _F.TYPE_UINT64, _ONE, ""),
        ("attr", 10, _F.TYPE_MESSAGE, _MANY, ".chakra.AttributeProto"),
    ),
}


def message(name: str) -> Any:
    """Return the class of a message of the schema."""
    return _messages()[name]


@cache
def _messages() -> dict[str, Any]:
    file = FileDescriptorProto(name="chakra.proto", package="chakra", syntax="proto2")
    for name, fields in _SCHEMA.items():
        described = file.message_type.add(name=name)
        for field, number, field_type, label, of in fields:
            added = described.field.add(name=field, number=number, type=field_type, label=label)
            if of:
                added.type_name = of
            elif label == _MANY:
                added.options.packed = True
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"chakra.{name}")) for name in _SCHEMA}


def iteration_trace(profile: Profile, dimensions: int) -> bytes:
    """Return the trace of one data-parallel iteration, the same for every NPU.

    Compute runs from one all-reduce's issue to the next one's; collectives are numbered in order of issue,
    in which ASTRA-sim takes ready ones.

    Parameters
    ----------
    profile
        The layers.
    dimensions
        Dimensions of the network, all of which take part in every collective.
    """
    nodes: list[Any] = []
    issues = issues_of(profile)
    now, last = 0, 0  # time, and id of the compute node that ends there
    sizes = issues.sizes[issues.which].tolist()
    for issued, size in zip(issues.issued_ns.tolist(), sizes, strict=True):
        if issued > now:
            last, now = _add_compute(nodes, issued - now, last), issued
        node = _node(nodes, f"all_reduce_{len(nodes)}", COLLECTIVE, last)
        _attribute(node, "comm_type", int64_val=TYPES["all_reduce"])
        _attribute(node, "comm_size", int64_val=size)
        involved = message("BoolList")(values=[True] * dimensions)
        _attribute(node, "involved_dim", bool_list=involved)
    if profile.compute_ns > now:
        _add_compute(nodes, profile.compute_ns - now, last)
    return _trace(node.SerializeToString() for node in nodes)


def rank_traces(program: RankProgram) -> list[bytes]:
    """Return the trace of each NPU; groups of collectives are named by their numbers."""
    described: dict[tuple[object, ...], bytes] = {}  # by all but number and dependencies

    def record(node: Node) -> bytes:
        rest = node[1:2] + node[3:]
        if rest not in described:
            described[rest] = _described(node)
        head = message("Node")(id=node.number, data_deps=node.after)
        return bytes(head.SerializeToString()) + described[rest]  # fields of a message may be apart

    return [_trace(map(record, nodes)) for nodes in program.ranks]


def _described(node: Node) -> bytes:
    types = {"compute": COMPUTE, "send": SEND, "receive": RECEIVE}
    record = message("Node")(name=node.kind, type=types.get(node.kind, COLLECTIVE))
    _attribute(record, "is_cpu_op", bool_val=False)
    if node.kind == "compute":
        _attribute(record, "num_ops", int64_val=1000 * node.ns + 500)
        _attribute(record, "tensor_size", uint64_val=1)
        return bytes(record.SerializeToString())
    _attribute(record, "comm_size", int64_val=node.size_bytes)
    if node.kind in TYPES:
        _attribute(record, "comm_type", int64_val=TYPES[node.kind])
        if node.group:  # else all ranks
            _attribute(record, "pg_name", string_val=str(node.group))
    else:
        _attribute(record, "comm_dst" if node.kind == "send" else "comm_src", int64_val=node.peer)
        _attribute(record, "comm_tag", int64_val=node.tag)
    return bytes(record.SerializeToString())


def _trace(nodes: Iterable[bytes]) -> bytes:
    records = chain([message("GlobalMetadata")(version=_VERSION).SerializeToString()], nodes)
    return b"".join(_varint(len(data)) + data for data in records)


def _add_compute(nodes: list[Any], time_ns: int, after: int) -> int:
    """Append a compute node and return its id."""
    node = _node(nodes, f"compute_{len(nodes)}", COMPUTE, after)
    _attribute(node, "num_ops", int64_val=1000 * time_ns + 500)
    _attribute(node, "tensor_size", uint64_val=1)
    return len(nodes)


def _node(nodes: list[Any], name: str, node_type: int, after: int) -> Any:
    node = message("Node")(id=len(nodes) + 1, name=name, type=node_type, data_deps=[after] if after else [])
    nodes.append(node)
    _attribute(node, "is_cpu_op", bool_val=False)
    return node


def _attribute(node: Any, name: str, **value: Any) -> None:
    node.attr.append(message("AttributeProto")(name=name, **value))


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
