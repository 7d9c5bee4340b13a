"""Compare our runs of Muri's 400 jobs with its authors' measurements in ../shared, job by job.

    python scripts/validation/testbed.py ../shared

prints a table per scheduler: completion times and makespan of the testbed, then ours with
`experiment=muri_testbed`, then with other properties of the testbed, switched on one after the other; and the
rank correlation of completion times of jobs (Spearman). For schedulers whose measurements are not in the
folder, ours are printed alone: a prediction.

Other properties of the testbed (Rivendile/Muri @4e69a78, cluster_exp/run.py, and the times of its jobs):

- An iteration of a job alone took 1.015 times its profile; so the authors' simulator has it, and so have
  the testbed's own times: 1.012 to 1.018 for jobs above 28 hours.
- It decides at a multiple of 360 s if a job came, ended or, under Tiresias, fell to another queue. Rounds
  under Themis are these decisions.
- Every decision restarts all jobs, those that stay as well: 8 to 16 starts per job under SRTF, SRSF and
  Tiresias, about 30 s each by the times of the jobs; the table of restarts has 4 to 46 s by model.

The testbed fast-forwards: it ran some 60 iterations after each decision and skipped the others; its clock is
the trace's. p99 is sorted[int(0.99 n)], as in the paper.

The Themis that ran there is the linear program of Gavel with mixed units (`policy=themis_muri`); of its run
four figures are known.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from artist.app import composing
from artist.core.events import Arrival, Finish
from artist.core.plan import Plan
from artist.core.view import ClusterView, Policy
from artist.run.build import Simulation, build, check_config
from artist.units import NS_PER_S

Floats = npt.NDArray[np.float64]

FOLDER = "reference/muri"
STRETCH = 1.015
_NOT_QUITE_ALL = 1 - 2**-40  # a cap of the memory bandwidth that changes nothing but the allocation


@dataclass(frozen=True, slots=True)
class Times:
    """Completion times and last finish, in seconds; jobs in order of arrival."""

    jct_s: Floats
    makespan_s: float

    def row(self) -> list[float]:
        """Return mean, median, p99, makespan."""
        ordered = np.sort(self.jct_s)
        p99 = ordered[int(0.99 * len(ordered))]
        return [float(self.jct_s.mean()), float(np.median(self.jct_s)), float(p99), self.makespan_s]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler of the testbed.

    Attributes
    ----------
    policy
        Ours for it.
    file
        Measurements of its jobs; empty if there are none.
    figures
        Of a run without them: mean, median, p99 and makespan in seconds.
    always
        Whether it decides at every tick; otherwise if a job came or ended since the last one.
    """

    policy: str
    file: str = ""
    figures: tuple[float, float, float, float] | None = None
    always: bool = False


SCHEDULERS: Mapping[str, Scheduler] = {
    "SRTF": Scheduler("srtf", file="SRTF.job.csv"),
    "SRSF": Scheduler("srsf", file="SRSF.job.csv"),
    "Tiresias": Scheduler("tiresias_open", file="tiresias.job.csv", always=True),
    "Muri-L": Scheduler("muri_l", file="Muri-L.job.csv"),
    "Themis": Scheduler("themis_muri", figures=(461_456, 4_269, 2_876_143, 3_924_819)),
    "Muri-S": Scheduler("muri_s"),
}


class AllStartAnew(Policy):
    """Another policy, after whose every decision all jobs restart, those that stay as well.

    Parameters
    ----------
    inner
        The other policy.
    always
        Whether it decides at every tick; otherwise if a job came or ended since the last one.
    """

    def __init__(self, inner: Policy, *, always: bool) -> None:
        self._inner = inner
        self._always = always
        self.on_events, self.interval_s = False, 360.0
        for knowledge in ("durations", "iterations", "models", "performance", "stages"):
            setattr(self, f"knows_{knowledge}", getattr(inner, f"knows_{knowledge}", False))

    def decide(self, view: ClusterView) -> Plan:
        """Decide, and touch the jobs that stay."""
        news = any(isinstance(event, Arrival | Finish) for event in view.news)
        changes = self._inner.decide(view).changes if news or self._always else {}
        plan = view.plan()
        for job in view.jobs.job.tolist() if news or changes else ():
            held, new = view.allocation(job), changes.get(job)
            if job in changes and new is None:
                plan.stop(job)
            elif (stays := new or held) is not None:
                cap = _NOT_QUITE_ALL if held is not None and held.bandwidth_cap == 1 else 1.0
                plan.place(job, replace(stays, bandwidth_cap=cap))
        return plan.done()


def measured(shared: Path, scheduler: Scheduler) -> Times | None:
    """Read the testbed's measurements of the jobs of a scheduler, if there are any."""
    if not scheduler.file:
        return None
    jobs = pd.read_csv(shared / FOLDER / "testbed" / scheduler.file).sort_values("job_id")
    last_s = float(jobs["end_time"].max() - jobs["submit_time"].min())
    return Times(jobs["JCT"].to_numpy(np.float64), last_s)


def simulated(shared: Path, scheduler: Scheduler, *, stretch: bool, anew: bool) -> Times:
    """Run the experiment, with more properties of the testbed."""
    simulation = _simulation(shared, scheduler)
    jobs = simulation.jobs
    if stretch:
        jobs = [replace(job, compute_ns=round(job.compute_ns * STRETCH)) for job in jobs]
    decides = simulation.policy
    if anew:
        decides = AllStartAnew(decides, always=scheduler.always)
    columns = replace(simulation, jobs=jobs, policy=decides).run([]).columns
    jct_s = (columns["finish_ns"] - columns["submit_ns"]) / NS_PER_S
    order = np.argsort([int(job.job_id) for job in jobs])
    last_ns = int(columns["finish_ns"].max() - columns["submit_ns"].min())
    return Times(jct_s[order], last_ns / NS_PER_S)


def _simulation(shared: Path, scheduler: Scheduler) -> Simulation:
    path = shared / FOLDER / "testbed_400job.csv"
    return composed(["experiment=muri_testbed", f"policy={scheduler.policy}", f"workload.path={path}"])


def composed(overrides: Sequence[str]) -> Simulation:
    """Return the simulation of a command line."""
    return build(check_config(composing.composed(overrides)))


def table(name: str, scheduler: Scheduler, rows: Sequence[tuple[str, Times]], real: Times | None) -> str:
    """Return the table of a scheduler: differences in % of the testbed's."""
    lines = [f"{name}", f"{'':44}{'mean s':>12}{'median s':>12}{'p99 s':>13}{'makespan s':>13}{'rank':>8}"]
    known = real.row() if real is not None else scheduler.figures
    if known is not None:
        lines.append(f"{'the testbed':44}{_numbers(known)}")
    for label, ours in rows:
        ranks = "" if real is None else f"{rank(ours.jct_s, real.jct_s):8.4f}"
        lines.append(f"{label:44}{_numbers(ours.row())}{ranks}")
        if known is not None:
            shares = [100 * (a / b - 1) for a, b in zip(ours.row(), known, strict=True)]
            numbers = (f"{share:{width}.1f}" for share, width in zip(shares, _WIDTHS, strict=True))
            lines.append(f"{'  difference, %':44}{''.join(numbers)}")
    return "\n".join(lines)


_WIDTHS = (12, 12, 13, 13)


def _numbers(row: Sequence[float]) -> str:
    return "".join(f"{value:{width},.0f}" for value, width in zip(row, _WIDTHS, strict=True))


def rank(ours: Floats, theirs: Floats) -> float:
    """Return the rank correlation of completion times (Spearman), equal ones by their mean rank."""
    return float(pd.Series(ours).corr(pd.Series(theirs), method="spearman"))


STEPS = (
    ("ours: experiment=muri_testbed", {"stretch": False, "anew": False}),
    ("+ iterations alone take 1.015 times as long", {"stretch": True, "anew": False}),
    ("+ all jobs restart at every decision", {"stretch": True, "anew": True}),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder of reference material")
    arguments = parser.parse_args(argv)
    if not (arguments.shared / FOLDER).is_dir():
        parser.error(f"no folder {arguments.shared / FOLDER}; give the folder that holds {FOLDER}")
    for name, scheduler in SCHEDULERS.items():
        real = measured(arguments.shared, scheduler)
        rows = [(label, simulated(arguments.shared, scheduler, **how)) for label, how in STEPS]
        title = name if real or scheduler.figures else f"{name} (prediction)"
        print(table(title, scheduler, rows, real), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
