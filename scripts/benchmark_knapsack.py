"""Measure the knapsack by which Lyra divides GPUs among elastic jobs, as items and GPUs grow.

    python scripts/benchmark_knapsack.py [ITEMSxGPUS ...]

An item is a job at one number of workers. Jobs have workers of 1, 2, 4 or 8 GPUs, 1 to 4 of them at base
demand and up to 6 more; at base demand the rest of their work takes a lognormal time (median 2.3 h, sigma
1.5). Values are the time saved where throughput grows with the workers (`linear`), or a random share of it
(`random`), as no job scales. Prints processor time in ms, the median and the worst of 30 instances. The
longest solution in the Lyra paper, section 5.2, takes 20 ms, with 354 items and 245 GPUs. On a machine
that other work kept busy:

   items    GPUs  values    median   worst
     100      70  linear      0.15    0.31
     100      70  random      0.14    0.28
     354     245  linear      0.27    0.58
     354     245  random      0.30    0.51
    1000     750  linear      0.60    1.85
    1000     750  random      0.58    0.98
    2000    1500  linear      1.05    3.55
    2000    1500  random      1.07    3.48
    5000    3750  linear      2.38    8.91
    5000    3750  random      2.26    3.57
   10000    7500  linear      4.56   18.23
   10000    7500  random      4.42   12.04
"""

import argparse
import sys
from collections.abc import Sequence
from statistics import median
from time import process_time

import numpy as np

from artist.policies.lyra.knapsack import Group, multiple_choice

SIZES = ((100, 70), (354, 245), (1000, 750), (2000, 1500), (5000, 3750), (10_000, 7500))
INSTANCES = 30


def drawn(items: int, *, linear: bool, seed: int) -> list[Group]:
    """Return jobs with so many items together."""
    rng = np.random.default_rng(seed)
    groups: list[Group] = []
    while items:
        extra = np.arange(1, min(items, int(rng.integers(1, 7))) + 1)
        base, gpus = int(rng.integers(1, 5)), int(rng.choice([1, 2, 4, 8]))
        share = extra / (base + extra) if linear else rng.random(len(extra))
        groups.append((gpus * extra, 2.3 * 3.6e12 * rng.lognormal(0, 1.5) * share))
        items -= len(extra)
    return groups


def times_ms(items: int, gpus: int, *, linear: bool, instances: int = INSTANCES) -> list[float]:
    """Return the processor time of each instance, after one that warms up."""
    found = []
    for seed in range(-1, instances):
        groups = drawn(items, linear=linear, seed=seed % 1000)
        began = process_time()
        multiple_choice(gpus, groups)
        found.append(1000 * (process_time() - began))
    return found[1:]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sizes", nargs="*", help="for example 354x245")
    arguments = parser.parse_args(argv)
    sizes = [tuple(map(int, size.split("x"))) for size in arguments.sizes] or SIZES
    print(f"{'items':>8}{'GPUs':>8}  {'values':8}{'median':>8}{'worst':>8}")
    for items, gpus in sizes:
        for values in ("linear", "random"):
            times = times_ms(items, gpus, linear=values == "linear")
            print(f"{items:8}{gpus:8}  {values:8}{median(times):8.2f}{max(times):8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
