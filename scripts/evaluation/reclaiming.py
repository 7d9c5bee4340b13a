"""Measure how far greedy reclaiming is from the optimum (Lyra, EuroSys 2023, 7.3).

    python scripts/evaluation/reclaiming.py [--instances N] [--seed SEED]

Loaned machines of 8 GPUs, full of jobs after arrivals and departures: a job asks for 2 to 128 GPUs (twice
its demand on the training machines) in workers of 2, 4 or 8, each placed on the machine that fits best. Some
of the machines go back. `scattered` is another extreme, small enough to try all choices: each job is on one
to four machines, at random.

more: share of the n instances in which greedy stops more jobs than the optimum; excess: by how much, in the
mean; overlap: share of its machines that is in the optimum; count, random: jobs that the smallest count and
random machines stop, over those of greedy; then the time of greedy and of the optimum in ms. With 40
instances, some of the rows:

    jobs      machines  back     n   more  excess  overlap  count  random  greedy  optimum
    scattered       12     2    40    22%    5.5%      69%   0.96    1.91    0.03      0.1
    scattered       12     6    40    48%    4.0%      81%   1.09    1.33    0.04      1.6
    in use          60    10    40    42%    3.5%      77%   1.10    2.11    0.15      5.4
    in use          60    30    40     2%    0.1%      87%   1.11    1.36    0.23      4.1
    in use         120    20    40    85%    5.3%      77%   1.11    2.15    0.31      9.3
    in use         120    60    40    22%    0.2%      84%   1.14    1.35    0.53      4.9
    in use         180     5    40    48%   23.3%      53%   1.09    4.73    0.32      6.1
    in use         180    20    40    68%    6.3%      79%   1.03    2.75    0.41      8.6
    in use         180    60    40    75%    1.0%      86%   1.10    1.61    0.77      9.1
    in use         180   120    40    10%    0.0%      95%   1.15    1.23    1.08      6.3

The paper has no excess below 60 machines, 19 % above, and an overlap of 84 %: here greedy errs where few go
back, and hardly where many do. Its optimum takes 420,000 times as long as greedy, by exhaustive search.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from time import perf_counter
from typing import NamedTuple

import numpy as np

from artist.policies.lyra.reclaiming import Loaned, Optimum, Random, ServerFraction, SmallestCount, stopped

GPUS = (2, 4, 8, 16, 32, 64, 128)
SHARES = (0.5, 0.12, 0.13, 0.15, 0.06, 0.03, 0.01)
WORKERS = (2, 4, 8)
MACHINE = 8
ROWS = (  # machines on loan, machines that go back
    (60, (5, 10, 20, 30, 50)),
    (120, (5, 10, 20, 40, 59, 60, 80, 100)),
    (180, (5, 10, 20, 40, 59, 60, 90, 120, 150)),
)


class Compared(NamedTuple):
    """Jobs, machines and seconds of two ways to reclaim the same machines."""

    greedy: int
    best: int
    common: int
    smallest_count: int
    random: int
    greedy_s: float
    best_s: float


def in_use(machines: int, rng: np.random.Generator) -> Loaned:
    """Return machines whose jobs have changed some times over."""
    free = [MACHINE] * machines
    jobs: dict[int, dict[int, int]] = {}
    for job in range(12 * machines):
        while (held := placed(int(rng.choice(GPUS, p=SHARES)), int(rng.choice(WORKERS)), free)) is None:
            gone = list(jobs)[int(rng.integers(len(jobs)))]  # one that runs leaves
            for machine, gpus in jobs.pop(gone).items():
                free[machine] += gpus
        jobs[job] = held
    return Loaned(range(machines), jobs)


def placed(gpus: int, worker: int, free: list[int]) -> dict[int, int] | None:
    """Take GPUs worker by worker where they fit best; None if they do not fit."""
    held: dict[int, int] = {}
    worker = min(worker, gpus)
    for _ in range(gpus // worker):
        fits = [(left, machine) for machine, left in enumerate(free) if left >= worker]
        if not fits:
            for machine, taken in held.items():
                free[machine] += taken
            return None
        machine = min(fits)[1]
        free[machine] -= worker
        held[machine] = held.get(machine, 0) + worker
    return held


def scattered(machines: int, rng: np.random.Generator) -> Loaned:
    """Return machines and twice their number of jobs, each on one to four of them."""
    on = (
        rng.choice(machines, min(machines, int(rng.integers(1, 5))), replace=False)
        for _ in range(2 * machines)
    )
    return Loaned(range(machines), {job: dict.fromkeys(map(int, held), 2) for job, held in enumerate(on)})


def compared(loaned: Loaned, n: int, seed: int, *, by_hand: bool = False) -> Compared:
    """Reclaim machines by both ways."""
    begin = perf_counter()
    greedy = ServerFraction().pick(n, loaned)
    between = perf_counter()
    best = tried(loaned, n) if by_hand else Optimum().pick(n, loaned)
    end = perf_counter()
    return Compared(
        len(stopped(loaned, greedy)),
        len(stopped(loaned, best)),
        len(set(greedy) & set(best)),
        len(stopped(loaned, SmallestCount().pick(n, loaned))),
        len(stopped(loaned, Random(seed).pick(n, loaned))),
        between - begin,
        end - between,
    )


def tried(loaned: Loaned, n: int) -> Sequence[int]:
    """Return the machines that stop the fewest jobs, of all choices."""
    return min(combinations(loaned.machines, n), key=lambda picked: len(stopped(loaned, picked)))


def line(kind: str, machines: int, n: int, rows: Sequence[Compared]) -> str:
    """Return a line of the table."""
    greedy, best, common, count, random, greedy_s, best_s = np.array(rows).T
    excess = greedy.sum() / best.sum() - 1
    overlap = common.sum() / (n * len(rows))
    return (
        f"{kind:10}{machines:8}{n:6}{len(rows):6}{(greedy > best).mean():7.0%}{excess:8.1%}{overlap:9.0%}"
        f"{count.sum() / greedy.sum():7.2f}{random.sum() / greedy.sum():8.2f}"
        f"{greedy_s.mean() * 1e3:8.2f}{best_s.mean() * 1e3:9.1f}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    print(
        "jobs      machines  back     n   more  excess  overlap  count  random  greedy  optimum", flush=True
    )
    measure(arguments.instances, arguments.seed)
    return 0


def measure(instances: int, seed: int) -> None:
    """Print a line for each number of machines on loan and of those that go back."""
    kinds: list[tuple[str, Callable[[int, np.random.Generator], Loaned], int, tuple[int, ...]]] = [
        ("scattered", scattered, 12, (2, 4, 6, 8)),
        *(("in use", in_use, machines, back) for machines, back in ROWS),
    ]
    for kind, make, machines, back in kinds:
        drawn = [make(machines, np.random.default_rng([seed, i])) for i in range(instances)]
        for n in back:
            rows = [compared(loaned, n, i, by_hand=machines <= 12) for i, loaned in enumerate(drawn)]
            print(line(kind, machines, n, rows), flush=True)


if __name__ == "__main__":
    sys.exit(main())
