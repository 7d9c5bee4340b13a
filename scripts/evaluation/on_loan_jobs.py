"""Jobs that ran on loaned machines, against the same jobs under a baseline: Table 7 of the Lyra paper.

    artist experiment=lyra_loaning hydra/launcher=joblib
    python scripts/evaluation/on_loan_jobs.py runs/sweeps/lyra_loaning

prints a row per policy that took loans: the share of its jobs that were on a loaned machine, and their
queueing and completion times under the baseline and under the policy, job by job the same. A mean over
seeds stands before each; a ratio above 1 means that the policy's is shorter.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.entry import script
from artist.errors import InputError
from artist.results.folder import find_runs, read_run
from artist.results.jobcolumns import measured_jobs
from artist.results.run import Run

Floats = npt.NDArray[np.float64]
STATISTICS = ("mean", "median", "p95")
_SAME = ("workload", "cluster", "arrivals", "performance", "network", "topology")  # within a comparison


@dataclass(frozen=True, slots=True)
class OnLoan:
    """Jobs on loaned machines in one run, in seconds.

    Attributes
    ----------
    share
        Of the measured jobs that finished under both.
    baseline, ours : ndarray, shape (2, 3)
        Queueing, then completion time: mean, median, 95th percentile.
    """

    share: float
    baseline: Floats
    ours: Floats


def on_loan(run: Run, baseline: Run) -> OnLoan | None:
    """Return the jobs of a run that were on loaned machines; None if there are none."""
    loaned_s, *ours = run.numbers("jobs", ["on_loan_s", "queueing_s", "jct_s"])
    theirs = baseline.numbers("jobs", ["queueing_s", "jct_s"])
    finished = measured_jobs(run, len(loaned_s)) & ~np.isnan(ours[1]) & ~np.isnan(theirs[1])
    chosen = finished & (loaned_s > 0)
    if not chosen.any():
        return None
    return OnLoan(chosen.sum() / finished.sum(), _statistics(theirs, chosen), _statistics(ours, chosen))


def _statistics(columns: Sequence[Floats], chosen: npt.NDArray[np.bool_]) -> Floats:
    values = [column[chosen] for column in columns]
    return np.array([[column.mean(), *np.percentile(column, [50, 95])] for column in values])


def comparisons(runs: Sequence[Run], baseline: str) -> dict[str, list[OnLoan]]:
    """Return the jobs on loan of each policy, one entry per seed, by policy and scenario."""
    known = {_setting(run): run for run in runs if run.summary["policy"] == baseline}
    by_policy: dict[str, list[OnLoan]] = {}
    for run in runs:
        other = known.get(_setting(run))
        if other is None or run is other or "on_loan_s" not in run.jobs.columns:
            continue
        jobs = on_loan(run, other)
        if jobs is not None:
            by_policy.setdefault(_name(run), []).append(jobs)
    return dict(sorted(by_policy.items()))


def _setting(run: Run) -> str:
    """Return the seed and the settings that are equal for the same jobs on the same machines."""
    return str([run.summary["seed"], *(run.config.get(key) for key in _SAME)])


def _name(run: Run) -> str:
    scaling = run.config["policy"].get("scaling", "none")
    return f"{run.summary['policy']}, scaling {scaling}, {scenario(run.config['workload'])}"


def scenario(workload: Mapping[str, Any]) -> str:
    """Return the scenario of the Lyra paper that a workload is, or the nearest."""
    if workload["elastic"] == 1:
        return "ideal"
    if not workload["heterogeneous"]:
        return "basic"
    return "advanced" if workload["fungible"] else "heterogeneous"


def table(by_policy: Mapping[str, Sequence[OnLoan]]) -> str:
    """Return the table, times in seconds."""
    heads = [f"{of} {statistic}" for of in ("queueing", "JCT") for statistic in STATISTICS]
    lines = [
        f"| jobs on loan under | of all, % | {' | '.join(heads)} |",
        f"|---|--:|{'--:|' * len(heads)}",
    ]
    for name, runs in by_policy.items():
        share = 100 * float(np.mean([run.share for run in runs]))
        theirs = np.mean([run.baseline for run in runs], axis=0).ravel()
        ours = np.mean([run.ours for run in runs], axis=0).ravel()
        ratios = [f"{a / b:.2f}x" if b > 0 else "" for a, b in zip(theirs, ours, strict=True)]
        lines.append(f"| {name}: baseline | {share:.1f} | {' | '.join(f'{value:.0f}' for value in theirs)} |")
        lines.append(f"| {name} | | {' | '.join(f'{value:.0f}' for value in ours)} |")
        lines.append(f"| ratio | | {' | '.join(ratios)} |")
    return "\n".join(lines)


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="of the runs")
    parser.add_argument("--baseline", default="lyra_fifo", help="policy that they are compared with")
    arguments = parser.parse_args(argv)
    runs = [read_run(folder) for folder in find_runs(arguments.folders).runs]
    compared = comparisons(runs, arguments.baseline)
    if not compared:
        where, allowed = (
            ", ".join(map(str, arguments.folders)),
            f"runs of {arguments.baseline}, and others",
        )
        raise InputError("no two runs of one setting, one with jobs on loan", where=where, allowed=allowed)
    print(table(compared))
    return 0


if __name__ == "__main__":
    sys.exit(main())
