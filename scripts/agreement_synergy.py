"""Compare Synergy with its authors' program (github.com/msr-fiddle/synergy, MIT), job by job.

    python scripts/agreement_synergy.py SHARED [--steps]

On the paper's workload of 9 jobs of one GPU an hour, split 20-70-10, on 128 GPUs, first come, first served,
it prints the mean completion time of jobs 4000 to 4999 and how many of them finish when they do there, with
all of that program's shortcuts: one speed-up per model, whole iterations in a round, finishes noticed at the
end of a round, and what the paper leaves open of tune. With --steps also with each shortcut off, one at a
time, and with none: the paper's own rules. Then mean completion times of its 100 jobs on 32 GPUs.

                                                                  mean h  equal  CPU s
    tune, all shortcuts                                          21.8766   1000    3.5
    tune, without: one speed-up per model                        21.8766   1000    3.1
    tune, without: whole iterations in a round                   21.6197     10    3.0
    tune, without: finishes at the end of a round                21.8337      0    3.3
    tune, without: the least free machine by GPUs, then number   21.8739    883    3.4
    tune, without: jobs go down in order, useful or not          21.8669    818    3.6
    tune, without: what is left is left                          21.8766   1000    3.7
    tune, none: the paper's rules                                20.0402      0    3.4
    proportional, all shortcuts                                  81.0886   1000    3.0
    proportional, none: the paper's rules                        80.6534      0    3.1

The first and the last but one of the shortcuts matter together only: what is left brings a job more than its
share, but with one speed-up nothing until it is all that the job can use.

SHARED is the folder of reference material: reference/synergy/golden_fifo_1gpu_9jobsperhour_seed42.csv is the
output of that program, dynamic_100job.csv its input.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from testbed import composed

from artist.units import NS_PER_S

FOLDER = Path("reference", "synergy")
GOLDEN = "golden_fifo_1gpu_9jobsperhour_seed42.csv"
FIRST, LAST = 4000, 5000  # of the window
SHORTCUTS: Mapping[str, str] = {
    "one speed-up per model": "performance.stall=step",
    "whole iterations in a round": "performance.whole_iterations_s=300",
    "finishes at the end of a round": "overheads.notice_s=300",
    "the least free machine by GPUs, then number": "policy.least_free=gpus",
    "jobs go down in order, useful or not": "policy.lowered=in_order",
    "what is left is left": "policy.hand_out=false",
}
WORKLOAD = ("workload=synergy", "workload.jobs=6924", "seed=42", "arrivals.first_s=409")
HUNDRED: Mapping[str, float] = {
    "synergy_proportional": 4.62,
    "synergy_greedy": 3.88,
    "synergy": 3.68,
}  # theirs, h
_PHYSICS = ("topology=v100_synergy", "network=zero", "performance.sensitivity=synergy")


class Window(NamedTuple):
    """What came of jobs 4000 to 4999."""

    mean_h: float
    equal: int
    cpu_s: float


def window(shared: Path, policy: str, settings: Sequence[str]) -> Window:
    """Run the paper's workload; `cpu_s` is all processor time but that of loading the program."""
    theirs = pd.read_csv(shared / FOLDER / GOLDEN)
    column = "finish_s_fifo_tune" if policy == "synergy" else "finish_s_fifo_proportional"
    began = process_time()
    cluster = ("cluster.machines=16", f"stop.jobs=[{FIRST},{LAST}]")
    ours = composed([f"policy={policy}", *_PHYSICS, *cluster, *WORKLOAD, *settings]).run([]).columns
    cpu_s = process_time() - began
    finish_s, submit_s = (ours[name][FIRST:LAST] / NS_PER_S for name in ("finish_ns", "submit_ns"))
    equal = int(np.count_nonzero(finish_s == theirs[column].to_numpy()[FIRST:LAST]))
    return Window(float(np.mean(finish_s - submit_s)) / 3600, equal, cpu_s)


def hundred(shared: Path, policy: str) -> float:
    """Return the mean completion time in hours of the program's 100 jobs on 32 GPUs, with its shortcuts."""
    path = shared / FOLDER / "dynamic_100job.csv"
    jobs = ("workload=synergy_replay", f"workload.path={path}", "arrivals.first_s=8")
    settings = [f"policy={policy}", *_PHYSICS, "cluster.machines=4", *jobs, *SHORTCUTS.values()]
    ours = composed(settings).run([]).columns
    return float(np.mean(ours["finish_ns"] - ours["submit_ns"])) / NS_PER_S / 3600


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder of reference material")
    parser.add_argument("--steps", action="store_true", help="also with each shortcut off")
    arguments = parser.parse_args(argv)
    steps = {"all shortcuts": list(SHORTCUTS.values())}
    if arguments.steps:
        for name, setting in SHORTCUTS.items():
            steps[f"without: {name}"] = [other for other in SHORTCUTS.values() if other != setting]
        steps["none: the paper's rules"] = []
    print(f"{'':60}{'mean h':>9}{'equal':>7}{'CPU s':>7}")
    for policy in ("synergy", "synergy_proportional"):
        for name, settings in steps.items():
            found = window(arguments.shared, policy, settings)
            label = f"{policy.removeprefix('synergy_').replace('synergy', 'tune')}, {name}"
            print(f"{label:60}{found.mean_h:9.4f}{found.equal:7}{found.cpu_s:7.1f}", flush=True)
    for policy, theirs in HUNDRED.items():
        ours = hundred(arguments.shared, policy)
        print(f"100 jobs, {policy}: {ours:.3f} h, there {theirs:.2f} h")
    return 0


if __name__ == "__main__":
    sys.exit(main())
