"""Measure Synergy's decisions as the cluster grows.

    python scripts/benchmark_synergy.py [--gpus 32 128 512 2048] [--mechanisms tune opt] [--plot FILE]

Clusters of servers with 8 V100 and 24 CPUs, and as many jobs as GPUs, all there at once; they ask for 1 to
16 GPUs each. Prints processor milliseconds of decisions in 20 hours of rounds of five minutes: of the first,
which looks for the best case of every kind of job and packs from nothing; the mean of those that change
something; the slowest of these; and the mean of those that change nothing.

    mechanism    GPUs    first  changed  slowest    idle
    tune           32     2.57     0.26     1.21   0.019
    tune          128     4.01     0.46     1.66   0.024
    tune          512     9.57     1.34     5.13   0.055
    tune         2048    29.29     5.46    16.17   0.215
    opt            32   283.50    15.25    29.47   0.022
    opt           128    61.97    44.07    67.46   0.039
    opt           512    91.98    77.76   111.37   0.075
    opt          2048   161.82   106.46   163.31   0.198

The first decision of opt in a process loads scipy.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from testbed import composed

from artist.core.plan import Plan
from artist.core.view import ClusterView

GPUS = (32, 64, 128, 256, 512, 1024, 2048)
MECHANISMS = ("tune", "opt")
SERVER_GPUS, HOURS = 8, 20


class Cost(NamedTuple):
    """Milliseconds of decisions."""

    first: float
    changed: float
    slowest: float
    idle: float


class Timed:
    """A policy that keeps the time each decision takes, and whether it changed anything."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self.decisions: list[tuple[float, bool]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def decide(self, view: ClusterView) -> Plan:
        """Decide as the policy does."""
        began = process_time()
        plan: Plan = self._policy.decide(view)
        self.decisions.append(((process_time() - began) * 1e3, bool(plan.changes)))
        return plan


def cost(mechanism: str, gpus: int, order: str) -> Cost:
    """Return what decisions cost on a cluster."""
    simulation = composed(
        [
            f"policy=synergy_{mechanism}" if mechanism != "tune" else "policy=synergy",
            f"policy.order={order}",
            "topology=v100_synergy",
            f"cluster.machines={gpus // SERVER_GPUS}",
            "performance.sensitivity=synergy",
            "network=zero",
            "workload=synergy",
            "workload.jobs_per_hour=null",
            "workload.gpus=philly",
            f"workload.jobs={gpus}",
            f"stop.time_s={HOURS * 3600}",
        ]
    )
    policy = Timed(simulation.policy)
    replace(simulation, policy=policy).run([])
    (first, _), *later = policy.decisions
    changed = [ms for ms, it_did in later if it_did]
    idle = [ms for ms, it_did in later if not it_did]
    return Cost(first, _mean(changed), max(changed, default=0.0), _mean(idle))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def draw(costs: dict[str, dict[int, Cost]], path: Path) -> None:
    """Draw how decisions grow."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for mechanism, by_gpus in costs.items():
        (line,) = axes.loglog(
            list(by_gpus), [c.first for c in by_gpus.values()], marker="o", label=f"{mechanism}, from nothing"
        )
        axes.loglog(
            list(by_gpus),
            [c.changed for c in by_gpus.values()],
            marker="o",
            linestyle=":",
            color=line.get_color(),
            label=f"{mechanism}, after finishes",
        )
    axes.set_xlabel("GPUs")
    axes.set_ylabel("decision (ms of processor time)")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend()
    figure.savefig(path)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gpus", nargs="*", type=int, default=GPUS)
    parser.add_argument("--mechanisms", nargs="*", default=MECHANISMS)
    parser.add_argument("--order", default="las", help="of the jobs; las reorders them in every round")
    parser.add_argument("--plot", type=Path, help="file to draw to, such as synergy.svg")
    arguments = parser.parse_args(argv)
    print(f"{'mechanism':10}{'GPUs':>7}{'first':>9}{'changed':>9}{'slowest':>9}{'idle':>8}")
    costs: dict[str, dict[int, Cost]] = {}
    for mechanism in arguments.mechanisms:
        for gpus in arguments.gpus:
            found = costs.setdefault(mechanism, {})[gpus] = cost(mechanism, gpus, arguments.order)
            row = f"{found.first:9.2f}{found.changed:9.2f}{found.slowest:9.2f}{found.idle:8.3f}"
            print(f"{mechanism:10}{gpus:7}{row}", flush=True)
    if arguments.plot:
        draw(costs, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
