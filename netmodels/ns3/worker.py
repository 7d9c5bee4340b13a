"""The process that has ns-3: reads a question from each line of stdin, writes the answer to stdout.

ns-3 consists of libraries and headers for cppyy, which compiles `tcp.cc` against them when the process
starts: about a second, where `from ns import ns` reads the headers of all modules for ten.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from netmodels.contention.flow_level import enough
from netmodels.packets.engine import Ended
from netmodels.packets.rings import Layer, RingJob, run_jobs

_MODULES = ("core", "network", "internet", "point-to-point")
_HEADERS_BYTES = 40  # TCP and IPv4, which a link's greatest packet includes
_OPEN = 16  # connections from a GPU to another before the clock starts: messages on the way at once
_WATCH_S = 0.5
_CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def library() -> Any:
    """Return the compiled definitions of `tcp.cc`."""
    import cppyy

    for number in _CRASHES:
        signal.signal(
            number, signal.SIG_DFL
        )  # ns-3 has printed the reason; cppyy would add stack traces for seconds
    package = find_spec("ns3")
    assert package is not None, "the package ns3 is not there"
    (folder,) = map(Path, package.submodule_search_locations or ())
    cppyy.add_include_path(str(folder / "include"))
    for module in _MODULES:
        (path,) = folder.glob(f"lib*/libns3*-{module}.so")
        cppyy.load_library(str(path))
    cppyy.cppdef(Path(__file__).with_name("tcp.cc").read_text(encoding="utf-8"))
    cppyy.gbl.ns3.Time.SetResolution(cppyy.gbl.ns3.Time.PS)
    cppyy.gbl.artist.Messages.next.__release_gil__ = True  # so that the watch continues
    return cppyy.gbl.artist


@dataclass(slots=True)
class _Way:
    """Ways of messages and acknowledgements between two GPUs, and the connections that carry no message."""

    pair: int
    window_bytes: int
    free: list[int] = field(default_factory=list)


class Connections:
    """Messages between GPUs; see `netmodels.packets.rings.Messages`.

    A connection carries one message at a time. More than `_OPEN` at a time between two GPUs need more
    connections, on which they wait for a handshake.
    """

    def __init__(self, library: Any, asked: Mapping[str, Any]) -> None:
        mtu_bytes = asked["payload_bytes"] + _HEADERS_BYTES
        self._messages = library.Messages(asked["hosts"], asked["nodes"], mtu_bytes)
        for link in asked["links"]:
            self._messages.join(*link)
        self._ways: dict[tuple[int, int], list[_Way]] = {}
        for connection_spec in asked["connections"]:
            pairs = [self._messages.pair(*ways) for ways in connection_spec["ways"]]
            ways = [_Way(pair, connection_spec["window_bytes"]) for pair in pairs]
            self._ways[tuple(connection_spec["ends"])] = [
                ways[choice] for choice in connection_spec["choices"]
            ]
            for way in ways:
                way.free = [self._opened(way) for _ in range(_OPEN)]
                for connection in way.free:
                    self._messages.send(connection, 1, 1)  # the first answer has the window
        self._sent = dict.fromkeys(self._ways, 0)
        self._calls: dict[int, tuple[Ended, Any, _Way | None, int]] = {}
        self._number, self._stopped = 0, False
        while self._messages.next() >= 0:
            pass
        self._start_ns = self._messages.now_ns() + 1  # all connections are open

    def at(self, time_ns: int, call: Ended, subject: Any) -> None:
        """Call `call(time_ns, subject)` at that time."""
        self._messages.at(self._start_ns + time_ns, self._later(call, subject))

    def send(self, now_ns: int, ends: tuple[int, int], count_bytes: int, ended: Ended, subject: Any) -> None:
        """Send a message now; `ended(time_ns, subject)` is called when all of it is acknowledged."""
        ways = self._ways[ends]
        way = ways[self._sent[ends] % len(ways)]
        self._sent[ends] += 1
        connection = way.free.pop() if way.free else self._opened(way)
        self._messages.send(connection, max(count_bytes, 1), self._later(ended, subject, way, connection))

    def run(self) -> None:
        """Simulate until nothing is left."""
        while not self._stopped and (number := self._messages.next()) >= 0:
            call, subject, way, connection = self._calls.pop(number)
            if way is not None:
                way.free.append(connection)
            call(self._messages.now_ns() - self._start_ns, subject)

    def stop(self) -> None:
        """Stop the simulation."""
        self._stopped = True

    def close(self) -> None:
        """Destroy this network: ns-3 has one at a time."""
        self._messages.__destruct__()

    def _opened(self, way: "_Way") -> int:
        """Return a new connection; messages on it wait until it is open."""
        return int(self._messages.connect(way.pair, way.window_bytes))

    def _later(self, call: Ended, subject: Any, way: "_Way | None" = None, connection: int = 0) -> int:
        self._number += 1
        self._calls[self._number] = call, subject, way, connection
        return self._number


def answer(library: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ends of each job's iterations, or the fault of the question."""
    for name, value in asked["attributes"].items():
        if not library.attribute(name, value):
            return {"attribute": name}
    network = Connections(library, asked)
    try:
        jobs = [
            RingJob(tuple(gpus), tuple(Layer(*layer) for layer in layers), iterations, start_ns)
            for gpus, layers, iterations, start_ns in asked["jobs"]
        ]
        iterations = asked["iterations"]
        stop = iterations and (lambda ends_ns: enough([len(ends) for ends in ends_ns], iterations))
        return {"ends_ns": run_jobs(jobs, network, asked["endpoint_delay_ns"], stop)}
    finally:
        network.close()


def end_with(parent: int) -> None:
    """End this process with its parent, even if that is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_S)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def main() -> None:
    """Answer until stdin ends."""
    end_with(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of ns-3 is not an answer
    tcp = library()
    print(json.dumps({"ns3": version("ns3")}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(tcp, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
