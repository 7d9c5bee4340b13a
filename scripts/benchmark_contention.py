"""Measure what contention costs a run.

    python scripts/benchmark_contention.py TRACE [OVERRIDE ...]

Runs a trace of Helios on 64 machines under FIFO and Tiresias, on `cloud_ethernet` and on `dgx_h100_3tier`,
with `performance.contention` none, average and phases in turn, and prints processor seconds, their ratio to
none, and the hours that jobs lost to contention. Overrides of `artist` are added: `'stop.jobs=[0,10000]'`.
The 77,574 jobs of Venus, load 0.93, on a machine that other work kept busy:

policy    topology        way         cpu_s  ratio   events  contention_h
fifo      cloud_ethernet  none          5.5    1.0   232722           0.0
fifo      cloud_ethernet  average      42.3    7.7   232722       33444.1
fifo      cloud_ethernet  phases       38.1    7.0   232722       31107.2
tiresias  cloud_ethernet  none         28.8    1.0   347939           0.0
tiresias  cloud_ethernet  average      87.1    3.0   348975         461.0
tiresias  cloud_ethernet  phases      118.5    4.1   347147         592.4
fifo      dgx_h100_3tier  none          5.5    1.0   232722           0.0
fifo      dgx_h100_3tier  average      29.8    5.4   232722           0.0
fifo      dgx_h100_3tier  phases       62.5   11.3   232722           0.0
tiresias  dgx_h100_3tier  none         27.5    1.0   346407           0.0
tiresias  dgx_h100_3tier  average      65.3    2.4   346407           0.0
tiresias  dgx_h100_3tier  phases      109.2    4.0   346407           0.0

Under FIFO some 30 jobs are one component, and each of 29,000 starts has a placement of its own.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from time import process_time
from typing import Any

import yaml

from artist.run.build import build, check_config

WAYS = ("none", "average", "phases")


def config_of(overrides: Sequence[str]) -> dict[str, Any]:
    """Return the configuration that `artist` makes of overrides."""
    command = [sys.executable, "-m", "artist", *overrides, "--cfg", "job", "--resolve"]
    shown = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if shown.returncode:
        sys.exit(shown.returncode)  # it has said why
    config: dict[str, Any] = yaml.safe_load(shown.stdout)
    return config


def measured(config: dict[str, Any], way: str) -> tuple[float, int, float]:
    """Return processor seconds, events, and the hours of all jobs that others on their links cost."""
    config["performance"]["contention"] = way
    simulation = build(check_config(config))
    began = process_time()
    result = simulation.run(())
    return process_time() - began, result.events, float(result.columns["contention_ns"].sum()) / 3.6e12


def main() -> int:
    """Print a row for each policy, fabric and way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace")
    parser.add_argument("overrides", nargs="*")
    arguments = parser.parse_args()
    trace = ("workload=helios", f"workload.path={arguments.trace}", "cluster.machines=64")
    print(f"{'policy':10}{'topology':16}{'way':9}{'cpu_s':>8}{'ratio':>7}{'events':>9}{'contention_h':>14}")
    for topology in ("cloud_ethernet", "dgx_h100_3tier"):
        for policy in ("fifo", "tiresias"):
            config = config_of([*trace, *arguments.overrides, f"topology={topology}", f"policy={policy}"])
            alone_s = 0.0
            for way in WAYS:
                cpu_s, events, lost_h = measured(config, way)
                alone_s = alone_s or cpu_s
                cells = f"{cpu_s:8.1f}{cpu_s / alone_s:7.1f}{events:9}{lost_h:14.1f}"
                print(f"{policy:10}{topology:16}{way:9}{cells}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
