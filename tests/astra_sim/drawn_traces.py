"""Chakra traces drawn at random: python -m tests.astra_sim.drawn_traces BINARY > recorded/traces.jsonl.

Ranks compute, run collectives in neighbouring groups or all together, and send to the other half. Ranks get
apart by their own compute times and order of ids.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

from netmodels.astra_sim.chakra import COLLECTIVE, COMPUTE, RECEIVE, SEND, TYPES, message

SIZES = ("8", "16", "24", "32", "64", "4+4", "8+8", "8+8|8+8", "8+8+8+8|8+8+8+8")
SEEDS = range(18)


def placement_of(seed):
    """Return GPUs by machine, as `record.placement` reads them."""
    return SIZES[seed % len(SIZES)]


def node(number, kind, after, micros=0, **values):
    """Return a node; some wait by control dependencies."""
    named = "ctrl_deps" if number % 2 else "data_deps"
    made = message("Node")(id=number, type=kind, duration_micros=micros, **{named: sorted(set(after))})
    for name, value in values.items():
        of_type = "string_val" if isinstance(value, str) else "int32_val" if number % 3 else "uint64_val"
        made.attr.append(message("AttributeProto")(name=name, **{of_type: value}))
    return made


def traces_of(seed, ranks):
    """Return the nodes of each rank, and the groups, of a drawn program."""
    draw = random.Random(seed)
    width = draw.choice([size for size in (2, 4, 8) if size < ranks])
    groups = {1 + at // width: list(range(at, at + width)) for at in range(0, ranks, width)}
    nodes, last = [[] for _ in range(ranks)], [{} for _ in range(ranks)]  # last compute, last communication

    def add(rank, kind, after, **values):
        number = (nodes[rank][-1].id if nodes[rank] else 0) + draw.choice((1, 1, 3))
        nodes[rank].append(
            node(number, kind, [last[rank][one] for one in after if one in last[rank]], **values)
        )
        last[rank]["compute" if kind == COMPUTE else "comm"] = number

    for step in range(draw.randrange(8, 20)):
        chosen = draw.random()
        if chosen < 0.4:
            for rank in range(ranks):
                after = ("compute", "comm") if draw.random() < 0.6 else ("compute",)
                add(rank, COMPUTE, after, micros=draw.randrange(60))
        elif chosen < 0.85:
            kind, size = draw.choice(list(TYPES.values())), draw.randrange(1, 5_000_000)
            whole, after = draw.random() < 0.4, ("comm", "compute") if draw.random() < 0.7 else ("comm",)
            for rank in range(ranks):
                of_group = {} if whole else {"pg_name": str(1 + rank // width)}
                add(rank, COLLECTIVE, after, comm_type=kind, comm_size=size, **of_group)
        else:
            size = draw.randrange(1, 3_000_000)
            for rank in range(ranks // 2):
                peer = rank + ranks // 2
                add(rank, SEND, ("compute", "comm"), comm_dst=peer, comm_size=size, comm_tag=step)
                add(peer, RECEIVE, ("comm",), comm_src=rank, comm_size=size, comm_tag=step)
    for of_rank in nodes:
        draw.shuffle(of_rank)
    return nodes, groups


def write(folder, nodes, groups):
    """Write traces `drawn.N.et` and groups.json."""
    for rank, of_rank in enumerate(nodes):
        records = [message("GlobalMetadata")(version="0.0.4"), *of_rank]
        data = [record.SerializeToString() for record in records]
        trace = b"".join(bytes([len(one)]) + one for one in data)  # all shorter than 128 bytes
        (folder / f"drawn.{rank}.et").write_bytes(trace)
    (folder / "groups.json").write_text(json.dumps(groups))


def main():
    """Print the times of all NPUs by the program, a line for each drawn trace."""
    from record import SWITCHES, placement

    from netmodels.astra_sim.model import AstraSim
    from netmodels.astra_sim.traces import trace_profile

    model = AstraSim(binary=sys.argv[1])
    for seed in SEEDS:
        shape = placement(placement_of(seed))
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), *traces_of(seed, sum(count for rack in shape for _, count in rack)))
            profile = trace_profile("drawn", Path(folder), Path(folder, "groups.json"))
            model.last = ()
            model.iteration(profile, shape, SWITCHES, SWITCHES.system)
        assert model.last, "carried"
        print(json.dumps([[npu.total_ns, npu.comm_ns] for npu in model.last]))


if __name__ == "__main__":
    main()
