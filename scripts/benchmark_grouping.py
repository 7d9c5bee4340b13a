"""Measure a grouping plan of Muri's as the jobs grow.

    python scripts/benchmark_grouping.py [JOBS ...]

Each plan is made from nothing for jobs of one GPU that ask for four times the GPUs that there are, so that
all go into groups of four. Profiles are drawn from the eight measured models (`alike`), or each stage of
each job lognormal around theirs (`different`). Prints processor seconds and the number of groups; some are
taken apart since they gain nothing.

    jobs  profiles   seconds  groups
     100  alike        0.008      25
     100  different    0.030      25
    1000  alike        0.026     250
    1000  different    0.238     250
    3000  alike        0.065     750
    3000  different    0.646     750
   10000  alike        0.107    2500
   10000  different    2.274    2503

The first plan of more than 128 jobs takes a quarter of a second longer: scipy.optimize is loaded for it.
"""

import argparse
import sys
from collections.abc import Sequence
from time import process_time

import numpy as np

from artist.performance.effects.stages import measured_shares
from artist.performance.formulas.interleaving import MEASURED_SLOWDOWN, Clock
from artist.policies.muri.grouping import Candidate, Grouping, GroupingRule

JOBS = (100, 300, 1000, 3000, 10_000)
Stages = tuple[int, ...]


def drawn(jobs: int, *, different: bool, seed: int = 0) -> list[Stages]:
    """Return the stages of jobs in ns, drawn from the measured models on one GPU."""
    rng = np.random.default_rng(seed)
    models = [[share * 1e9 for share in by_gpus[1]] for by_gpus in measured_shares().values()]
    found = np.array(models)[rng.integers(0, len(models), jobs)]
    if different:
        found = found * rng.lognormal(0.0, 0.5, found.shape)
    return [tuple(stages) for stages in np.rint(found).astype(np.int64).tolist()]


def candidates(grouping: Grouping, stages: Sequence[Stages]) -> list[Candidate]:
    """Return jobs of one GPU by priority, with the kinds of their profiles."""
    kinds = {each: grouping.new_kind(each, sum(each)) for each in dict.fromkeys(stages)}
    return [Candidate(job, job, 1, 1, kinds[each]) for job, each in enumerate(stages)]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jobs", nargs="*", type=int, default=JOBS)
    arguments = parser.parse_args(argv)
    print(f"{'jobs':>8}  {'profiles':10}{'seconds':>8}{'groups':>8}")
    for jobs in arguments.jobs:
        for different in (False, True):
            stages = drawn(jobs, different=different)
            grouping = Grouping(GroupingRule(clock=Clock(MEASURED_SLOWDOWN, loading="whole")))
            began = process_time()
            plan = grouping.group(candidates(grouping, stages), jobs // 4)
            seconds = process_time() - began
            print(
                f"{jobs:8}  {'different' if different else 'alike':10}{seconds:8.3f}{len(plan):8}", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
