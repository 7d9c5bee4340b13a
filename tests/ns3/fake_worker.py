"""A program that talks like the worker, without ns-3: FAKE_MODE says how it fails.

An iteration takes its computes in ns, and a ns for each byte and job. Each start appends a line to FAKE_LOG.
"""

import json
import os
import sys
import time

from netmodels.ns3.worker import end_with


def main():
    mode = os.environ.get("FAKE_MODE", "answer")
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(f"{os.getpid()}\n")
    end_with(int(sys.argv[1]))
    if mode == "no start":
        print("ImportError: no libns3", file=sys.stderr)
        sys.exit(3)
    print(json.dumps({"ns3": "0"}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if mode == "crash":
            print('msg="index 0 out of bounds", +1s 2 file=ipv4.cc\nNS_FATAL, terminating', file=sys.stderr)
            print("#0  0x00007f in wait4\n#1  0x00007f in abort", file=sys.stderr, flush=True)
            os.abort()
        if mode == "hang":
            time.sleep(600)
        if mode == "garbage":
            print("ns-3 says hello", flush=True)
        if mode == "attribute":
            print(json.dumps({"attribute": "ns3::TcpSocket::DelAckCount"}), flush=True)
            continue
        ends = []
        for _, layers, iterations, start_ns in asked["jobs"]:
            takes_ns = sum(compute_ns + size * len(asked["jobs"]) for compute_ns, size, *_ in layers)
            count = asked.get("iterations") or iterations
            ends.append([start_ns + (number + 1) * takes_ns for number in range(count)])
        print(json.dumps({"ends_ns": ends}), flush=True)


if __name__ == "__main__":
    main()
