"""A program that behaves like ASTRA-sim 2.x (analytical), or fails like it: FAKE_MODE says how.

It reads what the real one reads, and answers that communication is exposed for FAKE_NS (1000 by default)
in each dimension. Each run appends a line to FAKE_LOG, if that is set.
"""

import json
import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from chakra_traces import fields, integers, records

ID, TYPE, DATA_DEPS, ATTR = 1, 3, 5, 10  # fields of a node
NAME, INT64_VAL = 1, 9  # of an attribute
VERSION = 1  # of the first message
COMPUTE = 4  # a type of node


@cache
def compute_ns(trace):
    """Return the compute time of a trace; every node must come after those that it depends on."""
    head, *nodes = map(fields, records(trace))
    assert head[VERSION] == [b"0.0.4"]
    total, seen = 0, set()
    for node in nodes:
        assert {id_ for packed in node.get(DATA_DEPS, []) for id_ in integers(packed)} <= seen
        seen |= set(node[ID])
        if node[TYPE] == [COMPUTE]:
            values = {attribute[NAME][0]: attribute.get(INT64_VAL) for attribute in map(fields, node[ATTR])}
            total += (values[b"num_ops"][0] - 500) // 1000
    return total


def main():
    mode = os.environ.get("FAKE_MODE", "answer")
    arguments = dict(item.removeprefix("--").split("=", 1) for item in sys.argv[1:])
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(f"{os.getpid()}\n")
    time.sleep(float(os.environ.get("FAKE_SLEEP", 0)))
    if mode == "crash":
        print("terminate called after throwing an instance of 'std::runtime_error'", file=sys.stderr)
        os.abort()
    if mode == "exit":
        print("[workload] [critical] workload file: iteration.4.et does not exist")
        return 1
    if mode == "hang":
        print("there are 8 npus", flush=True)
        time.sleep(600)
    if mode == "grandchild":  # it holds stdout and outlives a kill of its parent alone
        subprocess.Popen([sys.executable, "-c", _GRANDCHILD, os.environ["FAKE_ALIVE"]])
        time.sleep(600)
    if mode == "orphan":  # the parent ends well and leaves a child
        subprocess.Popen([sys.executable, "-c", _GRANDCHILD, os.environ["FAKE_ALIVE"]])
        while not Path(os.environ["FAKE_ALIVE"]).exists():
            time.sleep(0.01)
    if mode == "empty":
        return 0
    network = Path(arguments["network-configuration"]).read_text()
    if "logical-topology-configuration" in arguments:  # ns-3
        logical = json.loads(Path(arguments["logical-topology-configuration"]).read_text())
        counts = [int(count) for count in logical["logical-dims"]]
    else:
        counts = json.loads(re.search(r"npus_count: (\[.*\])", network).group(1))
    json.loads(Path(arguments["system-configuration"]).read_text())
    npus = 1
    for count in counts:
        npus *= count
    traces = [Path(f"{arguments['workload-configuration']}.{npu}.et") for npu in range(npus)]
    exposed = int(os.environ.get("FAKE_NS", 1000)) * len(counts)
    if mode == "critical":
        print("[HardwareResource] [critical] !!!Hardware Resource sys.id=1 has unreleased nodes!!!")
    told = {"truncated": npus // 2, "wrong_count": npus + 1}.get(mode, npus)
    for npu in reversed(range(told)):
        computes = compute_ns(traces[min(npu, npus - 1)].read_bytes())
        total = 1 if mode == "impossible" else computes + exposed - (npu > 0)
        print(
            f"[workload] [info] sys[{npu}] finished, {total} cycles, exposed communication {exposed} cycles."
        )
        print(f"[statistics] [info] sys[{npu}], Comm time: {2 * exposed}")
    return 0


_GRANDCHILD = """
import pathlib, sys, time
for _ in range(6000):
    pathlib.Path(sys.argv[1]).write_text(str(time.time()))
    time.sleep(0.05)
"""

if __name__ == "__main__":
    sys.exit(main())
