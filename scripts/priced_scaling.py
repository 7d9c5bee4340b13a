"""What is left of Lyra's gain if workers do not scale linearly? One plot of finished sweeps.

    for E in table5 ideal imperfect priced priced_ideal
    do artist experiment=lyra_$E hydra/launcher=joblib; done
    S=runs/sweeps
    python scripts/priced_scaling.py $S/lyra_{table5,ideal,imperfect,priced,priced_ideal} --plot gain.png

prints, and draws, how many times as long the mean JCT of FIFO is: with linear scaling, with 0.8 of a worker
for each beyond the least, and with the network model's throughput of workers where they are, on the paper's
fabric, on that of a cloud, and with the pools a tier apart. FIFO runs on the same fabric, and the Basic
scenario's is that of all, as in the paper. Ratios are taken seed by seed; the interval is that of 95 %
(Student's t).
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from on_loan_jobs import scenario

from artist.report.figures.looks import marked_look, style
from artist.results.folder import find_runs, read_run
from artist.results.jobcolumns import measured_jobs
from artist.results.measures import Estimate, estimated
from artist.results.run import Run

BASELINE = ("basic", "lyra_fifo")
POLICIES = ("lyra", "lyra_no_loans")
LINEAR, LOSSY = "linear", "0.8 a worker"
FABRICS = {
    "v100_t4_pools": "priced:\nthe paper's fabric",
    "v100_t4_cloud": "priced:\ncloud",
    "v100_t4_apart": "priced:\npools a tier apart",
}
CASES = (LINEAR, LOSSY, *FABRICS.values())
Row = tuple[str, str]
"""Scenario, policy."""


def case(run: Run) -> str:
    """Return how the workers of a run scale."""
    if not str(run.config["network"]["model"]["_target_"]).endswith("ZeroModel"):
        name = str(run.config["topology"]["name"])
        return FABRICS.get(name, name)
    return LOSSY if run.config["performance"]["scaling_loss"] > 0 else LINEAR


def mean_jct_s(run: Run) -> float:
    """Return mean JCT of the measured jobs; NaN if one of them has not finished."""
    (jct_s,) = run.numbers("jobs", ["jct_s"])
    return float(np.mean(jct_s[measured_jobs(run, len(jct_s))]))


def gains(runs: Sequence[Run]) -> dict[Row, dict[str, Estimate]]:
    """Return FIFO's mean JCT over that of each policy, by scenario and policy, then by case."""
    baseline: dict[tuple[str, int], float] = {}
    ours: dict[Row, dict[str, dict[int, float]]] = {}
    for run in runs:
        policy, seed, at = str(run.summary["policy"]), int(run.summary["seed"]), case(run)
        row = (scenario(run.config["workload"]), policy)
        if row == BASELINE:
            baseline[at, seed] = mean_jct_s(run)
        elif policy in POLICIES:
            ours.setdefault(row, {}).setdefault(at, {})[seed] = mean_jct_s(run)
    return {
        row: {at: _gain(at, ours[row][at], baseline) for at in CASES if at in ours[row]}
        for row in sorted(ours)
    }


def _gain(at: str, ours: Mapping[int, float], baseline: Mapping[tuple[str, int], float]) -> Estimate:
    of = LINEAR if at == LOSSY else at
    ratios = [baseline[of, seed] / ours[seed] for seed in sorted(ours) if (of, seed) in baseline]
    return estimated(ratios) if ratios and not np.isnan(ratios).any() else Estimate()


def draw(found: Mapping[Row, Mapping[str, Estimate]], path: Path) -> None:
    """Draw a line for each scenario and policy, cases from left to right."""
    import matplotlib.pyplot as plt

    with style():
        figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
        for number, (row, by_case) in enumerate(found.items()):
            line = [by_case.get(each, Estimate()) for each in CASES]
            mean, low, high = np.array(line, dtype=np.float64).T  # NaN for None
            whiskers = np.nan_to_num([mean - low, high - mean])
            x = np.arange(len(CASES)) + 0.08 * (number - (len(found) - 1) / 2)
            look = marked_look(number) | {"markevery": None, "capsize": 2, "linestyle": "none"}
            axes.errorbar(x, mean, yerr=whiskers, label=", ".join(row), **look)
        axes.axhline(1.0, color="0.4", linewidth=0.8, linestyle="--")
        axes.set_xticks(range(len(CASES)), CASES, fontsize=8)
        axes.set_ylabel("mean JCT of FIFO / that of the policy")
        axes.legend()
        figure.savefig(path, dpi=150)
        plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="of the runs")
    parser.add_argument("--plot", type=Path, help="file to draw to, such as priced_scaling.png")
    arguments = parser.parse_args(argv)
    found = gains([read_run(folder) for folder in find_runs(arguments.folders).runs])
    heads = [each.replace("\n", " ") for each in CASES]
    print(f"| scenario | policy | {' | '.join(heads)} |")
    print(f"|---|---|{'--:|' * len(heads)}")
    for row, by_case in found.items():
        cells = [_text(by_case.get(each, Estimate())) for each in CASES]
        print(f"| {' | '.join([*row, *cells])} |")
    if arguments.plot:
        draw(found, arguments.plot)
    return 0


def _text(each: Estimate) -> str:
    if each.mean is None or math.isnan(each.mean):
        return ""
    if each.low is None or each.high is None:
        return f"{each.mean:.2f}x"
    return f"{each.mean:.2f}x ({each.low:.2f} to {each.high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
