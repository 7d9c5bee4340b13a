"""The same inputs give the same run: whatever the process, its hash seed, and who looks on.

Run as a program this file prints the digest of its runs; the test starts it under two hash seeds.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from artist.core.cluster import CapacityEvent
from artist.core.events import Event, Gauges, Reprice
from artist.core.result import RunResult
from artist.core.view import Policy
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.policies.basic.ordered import Ordered
from artist.policies.tiresias.policy import Tiresias
from artist.testing.conformance import generated_jobs
from artist.testing.tiny import PlainPerformance, tiny_cluster
from artist.units import NS_PER_S


class Log:
    """Keeps everything that an observer is told."""

    def __init__(self, rates: bool = False) -> None:
        self.rates = rates
        self.events: list[Event] = []
        self.gauges: list[tuple[int, Gauges]] = []

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        self.events.extend(events)
        self.gauges.append((time_ns, gauges))


def policies() -> dict[str, Policy]:
    return {
        "sjf": Ordered(order="sjf", backfill=True),
        "srtf": Ordered(order="srtf", preemptive=True, backfill=True),
        "las": Ordered(order="las", preemptive=True, backfill=True, interval_s=3),
        "random": Ordered(order="fifo", backfill=True, placement="random", seed=5),
        "tiresias": Tiresias(thresholds_gpu_s=(10, 40)),
        "gittins": Tiresias(thresholds_gpu_s=(10,), gittins=True, gittins_sample=5, gittins_quantum_gpu_s=5),
    }


def run(policy: Policy, observers: Sequence[Log] = ()) -> RunResult:
    """Run 60 jobs on machines of which two fail and come back."""
    capacity = [
        CapacityEvent(at * NS_PER_S, kind, machine)
        for at, kind, machine in ((9, "fail", 1), (11, "fail", 2), (30, "join", 2), (45, "join", 1))
    ]
    return Engine(
        generated_jobs(7, 60),
        tiny_cluster(3, 4, per_rack=2),
        policy,
        PlainPerformance(lambda spec, allocation: 1 + 0.25 * (len(allocation.slices) - 1)),
        overheads=Overheads(start_s=0.5, restart_s=1.5, migrate_s=1),
        capacity_events=capacity,
        observers=observers,
    ).run()


def digest_of(policy: Policy) -> str:
    """Return a digest of all events, gauges and accounts of a run."""
    log = Log(rates=True)
    result = run(policy, [log])
    text = repr((log.events, log.gauges, accounts(result)))
    return hashlib.sha256(text.encode()).hexdigest()


def accounts(result: RunResult) -> tuple[object, ...]:
    """Return all that a result says but for the specs and the cluster that it was given."""
    columns = {name: column.tolist() for name, column in result.columns.items()}
    integrals = (result.busy_gpu_ns, result.capacity_gpu_ns, result.group_gpu_ns, result.compute_gpu_ns)
    return columns, integrals, result.stopped_by, result.end_ns, dict(result.placements), result.events


def test_hash_seed_changes_nothing() -> None:
    """Python orders sets and hashes of strings by a seed of the process; no decision may depend on it."""
    digests = []
    for seed in ("0", "12345"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        }
        done = subprocess.run(
            [sys.executable, str(Path(__file__))],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=True,
        )
        digests.append(done.stdout.split())
    assert digests[0] == digests[1]
    assert len(digests[0]) == len(policies())
    assert digests[0] == [digest_of(policy) for policy in policies().values()]  # and this process agrees


@pytest.mark.parametrize("name", list(policies()))
def test_observers_change_nothing(name: str) -> None:
    """A run that is watched, closely or not, is the run that is not watched: its accounts are equal.

    An observer that asks for rates also sees each repricing; those are no events of the run.
    """
    without = accounts(run(policies()[name]))
    plain, close = Log(), Log(rates=True)
    assert accounts(run(policies()[name], [plain])) == without
    watched = accounts(run(policies()[name], [close]))
    assert [e for e in close.events if not isinstance(e, Reprice)] == plain.events
    assert close.gauges == plain.gauges
    assert any(isinstance(e, Reprice) for e in close.events)
    assert watched == without


if __name__ == "__main__":
    print("\n".join(digest_of(policy) for policy in policies().values()))
