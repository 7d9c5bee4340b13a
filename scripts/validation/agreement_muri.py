"""Compare our Muri with its authors' program, one difference after the other; needs ../shared.

    python scripts/validation/agreement_muri.py ../shared [CASE ...]

prints a table per case, as `agreement.py` does: the shipped policy, then those differences of the
program that can be switched on here, then its own answer (Rivendile/Muri @4e69a78, run for it). Switched on:

- An iteration alone takes 1.015 times the profile; that of a group 1.33, 1.5, 1.37 / 1.015 times the formula.
- A job keeps fractions of an iteration.
- At each arrival and completion all that run lose an overhead by model and size. Here each member of a group
  loses its own; there all members lose the sum of all.

Remaining differences, in mean completion times on trace 3:

- Overheads are worth 2.9 % there (Muri-S, 80,917 s without) and 5.1 % (Muri-L, 84,412 s), here 0.9 and 1.7 %,
  as there each member loses those of all. Without any, Muri-L lies 0.5 % from the program, Muri-S 6.5 %.
- The program sorts possible merges by the GPUs that they waste and throws the sorted list away, so that it
  merges demand after demand, and less well. With the list kept its Muri-S has 79,156 s without overheads.
  With its order of merges ours has 77,947 s instead of 75,698 s: 3.0 %.
- It offers GPUs that are left to no other job: here that is worth 0.2 %, 1.3 % under Muri-L.
- Four rounds of matching instead of two, and placing all jobs again at every instant, are not taken apart.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agreement import TRACES, Answer, answer, off
from testbed import STRETCH, AllStartAnew, composed

from artist.entry import script

_CLUSTER = ["topology=v100_100g", "cluster.machines=8", "network=zero", "performance.network_stage=table"]
_GROUPS = [f"performance.group_slowdown=[{','.join(str(f / STRETCH) for f in (1.33, 1.5, 1.37))}]"]
_KEEP = [*_GROUPS, "overheads=keep"]
_OVERHEADS = [*_GROUPS, "overheads=muri_testbed", "overheads.on_stop=keep"]
STEPS: Sequence[tuple[str, Sequence[str]]] = (
    ("ours, defaults", ()),
    ("+ alone 1.015, groups 1.33, 1.5, 1.37 / 1.015", _GROUPS),
    ("+ a stop or a move loses no open iteration", _KEEP),
    ("+ own overhead for all that run, at every instant", _OVERHEADS),
)
CASES: Mapping[str, tuple[str, str, Answer]] = {  # policy, trace, their answer
    "muri-s": ("muri_s_events", "trace3", Answer(83_242.465, 947_436.614, 8_174_135.280)),
    "muri-l": ("muri_l_events", "trace3", Answer(88_686.973, 926_787.271, 8_174_135.280)),
}


def run(shared: Path, policy: str, trace: str, overrides: Sequence[str]) -> Answer:
    """Run a trace of theirs on 8 machines of 8 GPUs under the overrides of a step."""
    path = shared / TRACES / f"muri_{trace}.csv"
    jobs_of = [f"policy={policy}", "workload=muri", f"workload.path={path}"]
    simulation = composed([*jobs_of, *_CLUSTER, *overrides])
    jobs, decides = simulation.jobs, simulation.policy
    if overrides:
        jobs = [replace(job, compute_ns=round(job.compute_ns * STRETCH)) for job in jobs]
    if overrides == _OVERHEADS:
        decides = AllStartAnew(decides, always=True)
        decides.on_events, decides.interval_s = True, None
    return answer(replace(simulation, jobs=jobs, policy=decides).run([]))


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder of reference material and traces")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: all")
    arguments = parser.parse_args(argv)
    for name in arguments.cases or CASES:
        policy, trace, theirs = CASES[name]
        print(f"{name}, {trace}\n{'':52}{'mean JCT s':>12}{'diff %':>9}{'p99 s':>12}{'makespan s':>13}")
        for label, overrides in STEPS:
            ours = run(arguments.shared, policy, trace, overrides)
            difference = 100 * off(ours, theirs)
            print(
                f"{label:52}{ours.mean_s:12,.0f}{difference:9.2f}{ours.p99_s:12,.0f}{ours.makespan_s:13,.0f}"
            )
        print(f"{'theirs':52}{theirs.mean_s:12,.0f}{'':9}{theirs.p99_s:12,.0f}{theirs.makespan_s:13,.0f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
