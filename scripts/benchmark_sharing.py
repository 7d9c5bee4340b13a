"""Measure max-min fair rates of jobs on links.

    python scripts/benchmark_sharing.py

Prints processor time in ms of 20 instances after one that warms up, the build of the incidence included.
`fair`: capacities and weights are equal or random (1 to 10, 0.5 to 4). `chain` is its worst case: jobs on
links i and i + 1 of rising capacity stop one a round. On a machine that other work kept busy:

                                                  least  median
fair        20 jobs   6 of     40 links, equal     0.06    0.07
fair        20 jobs   6 of     40 links, random    0.08    0.08
fair      1000 jobs   6 of  10000 links, equal     0.57    0.60
fair      1000 jobs   6 of  10000 links, random    0.66    0.69
fair      1000 jobs  20 of  10000 links, equal     2.55    2.78
fair      1000 jobs  20 of  10000 links, random    2.60    2.80
chain     1000 jobs   2 of   1001 links           29.32   29.94
another job: the lowest rate rises 0 times, 918 of 4800 others get more
"""

import sys
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.max_min import Incidence, fair

INSTANCES = 20
Rows = tuple[Ints, Ints]
SIZES = ((20, 6, 40), (1000, 6, 10_000), (1000, 20, 10_000))


def rows(n_jobs: int, links_each: int, n_links: int, *, seed: int) -> Rows:
    """Return jobs that each cross some different links at random: where their links begin, and the links."""
    rng = np.random.default_rng(seed)
    links = [rng.choice(n_links, links_each, replace=False) for _ in range(n_jobs)]
    return np.arange(0, (n_jobs + 1) * links_each, links_each), np.concatenate(links)


def values(how: str, n_links: int, n_jobs: int) -> tuple[Floats, Floats]:
    """Return capacities and weights: all 1 (`equal`), uniform (`random`), or lognormal (`wide`)."""
    rng = np.random.default_rng(1)
    if how == "equal":
        return np.ones(n_links), np.ones(n_jobs)
    if how == "wide":
        return rng.lognormal(0, 2, n_links), rng.lognormal(0, 2, n_jobs)
    return rng.uniform(1, 10, n_links), rng.uniform(0.5, 4, n_jobs)


def fair_of(n_jobs: int, links_each: int, n_links: int, how: str) -> Callable[[], object]:
    """Return a call that builds an incidence and finds max-min fair rates."""
    crossed = rows(n_jobs, links_each, n_links, seed=0)
    capacities, weights = values(how, n_links, n_jobs)
    return lambda: fair(Incidence.of(*crossed, n_links), capacities, weights)


def chain(n_jobs: int) -> Callable[[], object]:
    """Return a call for jobs on two neighbouring links each, of which one job a round stops."""
    links = np.arange(n_jobs)
    crossed = (np.arange(0, 2 * n_jobs + 1, 2), np.stack([links, links + 1], axis=1).ravel())
    capacities = np.linspace(1, 3, n_jobs + 1) ** 2
    return lambda: fair(Incidence.of(*crossed, n_jobs + 1), capacities)


def times_ms(call: Callable[[], object], instances: int) -> list[float]:
    """Return the processor time of each call, after one that warms up."""
    found = []
    for _ in range(1 + instances):
        began = process_time()
        call()
        found.append(1000 * (process_time() - began))
    return found[1:]


def raised(instances: int) -> tuple[int, int, int]:
    """Add a job to 12 on 3 of 10 links each, and count what rises.

    Returns
    -------
    tuple
        Instances in which the lowest rate rises, other jobs that get a higher rate, and other jobs.
    """
    n_jobs, each, n_links = 12, 3, 10
    lowest = higher = 0
    for seed in range(instances):
        indptr, links = rows(n_jobs + 1, each, n_links, seed=seed)
        capacities = np.random.default_rng((seed, 1)).uniform(1, 5, n_links)
        before = fair(Incidence.of(indptr[:-1], links[:-each], n_links), capacities)
        after = fair(Incidence.of(indptr, links, n_links), capacities)[:-1]
        lowest += int(after.min() > before.min() * (1 + 1e-9))
        higher += int(np.count_nonzero(after > before * (1 + 1e-9)))
    return lowest, higher, instances * n_jobs


def main(instances: int = INSTANCES) -> int:
    """Print the table and the counts."""
    calls = [
        (f"fair     {jobs:5} jobs {each:3} of {links:6} links, {how}", fair_of(jobs, each, links, how))
        for jobs, each, links in SIZES
        for how in ("equal", "random")
    ]
    calls.append(("chain     1000 jobs   2 of   1001 links", chain(1000)))
    print(f"{'':47}{'least':>8}{'median':>8}")
    for name, call in calls:
        times = times_ms(call, instances)
        print(f"{name:47}{min(times):8.2f}{median(times):8.2f}", flush=True)
    lowest, higher, others = raised(20 * instances)
    print(f"another job: the lowest rate rises {lowest} times, {higher} of {others} others get more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
