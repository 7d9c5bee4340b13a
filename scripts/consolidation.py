"""When do the CPUs of several servers pay for the network between them? One plot of a finished sweep.

    artist experiment=synergy_consolidation hydra/launcher=joblib
    python scripts/consolidation.py runs/sweeps/synergy_consolidation --plot consolidation.png

prints, and draws, by how much mean JCT of the jobs of several GPUs changes where a job may be split
(policy.split=when_faster against never), by fabric, type of server and load. Jobs of one GPU cannot be split.
Changes are taken seed by seed; the interval is that of 95 % (Student's t).
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from artist.report.figures.looks import marked_look, style
from artist.results.folder import find_runs, read_run
from artist.results.jobcolumns import measured_jobs
from artist.results.measures import Estimate, estimated
from artist.results.run import Run

NEVER, SPLIT = "never", "when_faster"
FABRICS = ("dgx_h100_3tier", "v100_100g", "cloud_ethernet")  # fastest first; others after them
Case = tuple[str, str, float]
"""Type of server, fabric, jobs an hour."""


def case(run: Run) -> Case:
    """Return the case of a run."""
    config = run.config
    rate = float(config["workload"]["jobs_per_hour"])
    return config["cluster"]["machine_type"], config["topology"]["name"], rate


def mean_jct_s(run: Run) -> float:
    """Return mean JCT of the measured jobs of several GPUs; NaN if one of them has not finished."""
    gpus, jct_s = run.numbers("jobs", ["gpus", "jct_s"])
    several = measured_jobs(run, len(gpus)) & (gpus > 1)
    return float(np.mean(jct_s[several])) if several.any() else math.nan


def changes(runs: Sequence[Run]) -> dict[Case, Estimate]:
    """Return when_faster / never - 1 by case, in order of server, fabric and load."""
    found: dict[Case, dict[str, dict[int, float]]] = {}
    for run in runs:
        by_split = found.setdefault(case(run), {NEVER: {}, SPLIT: {}})
        by_split[run.config["policy"]["split"]][run.summary["seed"]] = mean_jct_s(run)
    return {each: _change(found[each]) for each in sorted(found, key=_place)}


def _change(by_split: Mapping[str, Mapping[int, float]]) -> Estimate:
    never, split = by_split[NEVER], by_split[SPLIT]
    ratios = [split[seed] / never[seed] - 1.0 for seed in sorted(set(never) & set(split))]
    return estimated(ratios) if ratios and not np.isnan(ratios).any() else Estimate()


def _place(each: Case) -> tuple[str, int, str, float]:
    machine, fabric, rate = each
    return machine, FABRICS.index(fabric) if fabric in FABRICS else len(FABRICS), fabric, rate


def draw(found: Mapping[Case, Estimate], path: Path) -> None:
    """Draw a panel a type of server, fabrics from left to right, a line a load."""
    import matplotlib.pyplot as plt

    machines, fabrics = (
        list(dict.fromkeys(m for m, _, _ in found)),
        list(dict.fromkeys(f for _, f, _ in found)),
    )
    rates = sorted({rate for _, _, rate in found})
    with style():
        figure, (places,) = plt.subplots(
            1, len(machines), figsize=(8, 3.2), layout="constrained", sharey=True, squeeze=False
        )
        for axes, machine in zip(places, machines, strict=True):
            for number, rate in enumerate(rates):
                line = [found.get((machine, fabric, rate), Estimate()) for fabric in fabrics]
                mean, low, high = 100 * np.array(line, dtype=np.float64).T  # NaN for None
                whiskers = np.nan_to_num([mean - low, high - mean])
                x = np.arange(len(fabrics)) + 0.08 * (number - (len(rates) - 1) / 2)
                look = marked_look(number) | {"markevery": None, "capsize": 2}
                axes.errorbar(x, mean, yerr=whiskers, label=f"{rate:g} jobs an hour", **look)
            axes.axhline(0.0, color="0.4", linewidth=0.8, linestyle="--")
            axes.set_xticks(range(len(fabrics)), fabrics, fontsize=8)
            axes.set_title(machine, fontsize=9, loc="left")
        places[0].set_ylabel("change of mean JCT of jobs\nof several GPUs if split (%)")
        places[-1].legend()
        figure.savefig(path, dpi=150)
        plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="of the runs")
    parser.add_argument("--plot", type=Path, help="file to draw to, such as consolidation.png")
    arguments = parser.parse_args(argv)
    found = changes([read_run(folder) for folder in find_runs(arguments.folders).runs])
    print("| server | fabric | jobs/h | mean JCT of jobs of several GPUs, split against never, % |")
    print("|---|---|--:|--:|")
    for (machine, fabric, rate), each in found.items():
        print(f"| {machine} | {fabric} | {rate:g} | {_text(each)} |")
    if arguments.plot:
        draw(found, arguments.plot)
    return 0


def _text(each: Estimate) -> str:
    if each.mean is None:
        return ""
    if each.low is None or each.high is None:
        return f"{100 * each.mean:.1f}"
    return f"{100 * each.mean:.1f} ({100 * each.low:.1f} to {100 * each.high:.1f})"


if __name__ == "__main__":
    sys.exit(main())
