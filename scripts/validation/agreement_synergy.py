"""Compare our Synergy with its authors' program, one difference after the other; needs ../shared.

    python scripts/validation/agreement_synergy.py ../shared [CASE ...]

prints a table per case: first with everything as in their program (github.com/msr-fiddle/synergy @1bb2bed,
MIT), then with one thing after the other as it is here by default, then with all of them so, which are the
paper's rules, then their own answer. Of the run that they publish (FIFO, one GPU a job, 128 GPUs, 9 jobs an
hour) the finish time of every job is known: `equal` counts those of the window, jobs 4000 to 4999. Of the 100
jobs of their dynamic trace on 32 GPUs only mean and p99 are, to the digits shown; their program was run for
them, with placement. The exit code is 1 if the first row of a case is not theirs.

Mean completion time of the published run, in hours, by difference:

                                                  tune   proportional
    as their program                           21.8766        81.0886
    iterations need not fill a round           21.6197        80.6954
    a finish is noticed at once                21.8337        81.0467
    least free by GPUs, then CPUs and memory   21.8739        81.0886
    the fewest jobs make room                  21.8669
    the rest is handed out                     21.5530
    speed by the curve                         21.8766
    both of these                              20.3550
    packed by descending demand                36.0377
    the paper's rules                          20.0402        80.6534
    the same, by descending demand             29.3264

The rest goes to jobs that gain: where there are two speeds, to those that it brings to their best case.

The program's opt counts a job once, whatever its GPUs (`ProgramOpt`). No answer of it is known. By
our rules, with jobs of 1 to 8 GPUs (workload.gpus=program, seeds 0, 1, 2), mean JCT is then the same to
0.02 % on 32 GPUs at 0.8 and 1.0 jobs an hour, split 20-70-10. Where more jobs compete for CPUs (16 GPUs, 0.6
jobs an hour, split 60-30-10, jobs 50 to 199 of 300), it changes by 4.7, -0.7 and -0.2 %, and that of jobs of
several GPUs by 5.2, 6.4 and -1.9 %.

Larger differences are not among the cases: under greedy and tune the program's SRTF and
Tetris rank jobs by the time left at the best speed, or at that of the last round; its LAS gives greedy only
the jobs whose GPUs fit; its FTF runs the job first that is best off; jobs of several GPUs have profiles of
their own, and are torn apart GPU by GPU before they take less than their best case.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from synergy_program import (
    ProgramGreedy,
    ProgramProportional,
    ProgramTune,
    SteppedStall,
    WholeIterations,
)
from testbed import composed

from artist.entry import script
from artist.recording.metrics import distribution
from artist.units import NS_PER_S

Ints = npt.NDArray[np.int64]

FOLDER = Path("reference", "synergy")
_PUBLISHED = "golden_fifo_1gpu_9jobsperhour_seed42.csv"
_HUNDRED = "dynamic_100job.csv"
_PROGRAM = ("experiment=synergy_load", "overheads.notice_s=300")  # settings of the program that are ours, too
WHOLE, STEPPED, BY_GPUS, IN_ORDER, KEPT = "whole", "stepped", "by_gpus", "in_order", "kept"
"""Shortcuts of the program that are plug-ins (synergy_program.py)."""
Step = tuple[str, ...]  # of a row, as here by default: overrides, and shortcuts that are off
_STEPS: dict[str, Step] = {  # of all mechanisms
    "iterations need not fill a round": (WHOLE,),
    "a finish is noticed at once": ("overheads.notice_s=0",),
    "least free by GPUs, then CPUs, then memory": (BY_GPUS,),
}
_TUNE_STEPS: dict[str, Step] = {
    "the fewest jobs make room": (IN_ORDER,),
    "the rest is handed out": (KEPT,),
    "speed by the curve": (STEPPED,),
    "both of these": (STEPPED, KEPT),
    "packed by descending demand": ("policy.pack_order=descending",),
}
_PAPER = (*chain(*_STEPS.values()), IN_ORDER, STEPPED, KEPT)
_MECHANISMS = {
    "synergy_proportional": ProgramProportional,
    "synergy_greedy": ProgramGreedy,
    "synergy": ProgramTune,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A run of their program.

    Attributes
    ----------
    policy
        Our preset.
    mean_h, p99_h
        Their completion times, rounded.
    order
        Of the jobs.
    finish
        Column of the file of finish times, None where these are not known.
    """

    policy: str
    mean_h: float
    p99_h: float
    order: str = "fifo"
    finish: str | None = None

    def overrides(self, shared: Path) -> list[str]:
        """Return the command line of the same run here."""
        common = [*_PROGRAM, f"policy={self.policy}", f"policy.order={self.order}"]
        if self.finish is not None:
            return [*common, "workload=synergy", "seed=42", "workload.jobs=6924", "arrivals.first_s=409"]
        jobs = ["workload=synergy_replay", f"workload.path={shared / FOLDER / _HUNDRED}"]
        return [*common, *jobs, "arrivals.first_s=8", "cluster.machines=4", "stop.jobs=null"]

    def steps(self) -> list[tuple[str, Step]]:
        """Return the rows of a table: everything as theirs, then one thing as ours, then all."""
        single = _STEPS | (_TUNE_STEPS if self.policy == "synergy" else {})
        rows: list[tuple[str, Step]] = [
            ("as their program", ()),
            *((f"but {label}", values) for label, values in single.items()),
        ]
        rows.append(("the paper's rules", _PAPER))
        if self.policy == "synergy":
            rows.append(("the same, by descending demand", (*_PAPER, "policy.pack_order=descending")))
        return rows


CASES = {
    "tune": Case("synergy", 21.8766, 156.93, finish="finish_s_fifo_tune"),
    "proportional": Case("synergy_proportional", 81.0886, 214.61, finish="finish_s_fifo_proportional"),
    "fifo-tune": Case("synergy", 3.6751, 9.58),
    "fifo-proportional": Case("synergy_proportional", 4.6226, 12.43),
    "fifo-greedy": Case("synergy_greedy", 3.8817, 10.41),
    "las-tune": Case("synergy", 3.6701, 10.04, "las"),
    "las-proportional": Case("synergy_proportional", 4.5551, 12.02, "las"),
    "srtf-proportional": Case("synergy_proportional", 3.9067, 14.19, "srtf"),
    "drf-tune": Case("synergy", 3.9592, 9.50, "drf"),
    "drf-proportional": Case("synergy_proportional", 4.4717, 13.54, "drf"),
    "drf-greedy": Case("synergy_greedy", 4.1751, 10.24, "drf"),
    "tetris-proportional": Case("synergy_proportional", 3.9926, 14.61, "tetris"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Statistics of completion times, and the number of jobs with the finish times of their program."""

    mean_h: float
    p99_h: float
    equal: int | None
    cpu_s: float


def run(case: Case, shared: Path, step: Step = ()) -> Answer:
    """Run a case as their program, but for a step."""
    overrides = [word for word in step if "=" in word]
    simulation = composed([*case.overrides(shared), *_mechanism(case, step), *overrides])
    performance = simulation.performance
    if STEPPED not in step:
        assert performance.input_stall is not None, "CPUs and memory matter in each case"
        performance = performance.believing(SteppedStall(performance.input_stall))
    rounds: Any = performance if WHOLE in step else WholeIterations(performance)
    simulation = replace(simulation, performance=rounds)
    before_s = time.process_time()
    result = simulation.run([])
    cpu_s = time.process_time() - before_s
    window = slice(*(result.window or (None,)))
    finish_ns, submit_ns = (result.columns[name][window] for name in ("finish_ns", "submit_ns"))
    equal = None
    if case.finish is not None:
        equal = int((finish_ns == _known_ns(shared / FOLDER / _PUBLISHED, case.finish)[window]).sum())
    times = distribution(finish_ns - submit_ns)
    return Answer((times["mean"] or 0) / 3600, (times["p99"] or 0) / 3600, equal, cpu_s)


def _mechanism(case: Case, step: Step) -> list[str]:
    """Return the override that makes the program's mechanism, less the shortcuts that are off."""
    name = f"_target_:synergy_program.{_MECHANISMS[case.policy].__name__}"
    if case.policy == "synergy":
        on = {"by_gpus": BY_GPUS not in step, "in_order": IN_ORDER not in step, "hand_out": KEPT in step}
        return [f"policy.mechanism={{{name},{','.join(f'{key}:{value}' for key, value in on.items())}}}"]
    return [] if BY_GPUS in step else [f"policy.mechanism={{{name}}}"]


@cache
def _known_ns(path: Path, column: str) -> Ints:
    """Return the finish times of their run, -1 for a job that had not finished."""
    return (pd.read_csv(path)[column].fillna(-1 / NS_PER_S) * NS_PER_S).round().to_numpy(np.int64)


def agrees(case: Case, ours: Answer) -> bool:
    """Return whether an answer is theirs: all finish times, if known, and the statistics to their digits."""
    return (round(ours.mean_h, 4), round(ours.p99_h, 2)) == (case.mean_h, case.p99_h) and ours.equal in (
        None,
        1000,
    )


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if a case does not agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder of reference material and traces")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: all")
    arguments = parser.parse_args(argv)
    far = []
    for name in arguments.cases or CASES:
        case = CASES[name]
        print(f"{name}\n{'':50}{'equal':>6}{'mean JCT h':>12}{'diff %':>9}{'p99 h':>9}{'CPU s':>8}")
        for place, (label, step) in enumerate(case.steps()):
            ours = run(case, arguments.shared, step)
            if not place and not agrees(case, ours):
                far.append(name)
            equal, off = "" if ours.equal is None else ours.equal, 100 * (ours.mean_h / case.mean_h - 1)
            row = f"{label:50}{equal:>6}{ours.mean_h:12.4f}{off:9.2f}{ours.p99_h:9.2f}{ours.cpu_s:8.1f}"
            print(row, flush=True)
        print(f"{'theirs':50}{'':6}{case.mean_h:12}{'':9}{case.p99_h:9}\n")
    if far:
        print(f"not as theirs: {', '.join(far)}", file=sys.stderr)
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
