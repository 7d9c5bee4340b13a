"""Print the table of the experiment `failures`, and draw its figure beside this file.

    python docs/draw_failures.py runs/sweeps/failures [runs/sweeps/failures_muri ...]

Mean JCT of all jobs and of large ones, in hours. Differences from the same policy without failures,
or of the first policy under the same failures, are paired by seed and have 95 % intervals (Student's t).
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

import artist
from artist.results.interval import interval_95

PICTURE = Path(__file__).with_name("failures.svg")
LARGE = 32  # GPUs
TEN = "ten times RSC-1"
ORDER = (
    "none",
    "RSC-1",
    TEN,
    "as racks",
    "as slow links",
    "1 spare per rack",
    "2 spares per rack",
    "4 spares per rack",
    "not saved",
)


def scenario(config: dict[str, Any]) -> str:
    """Return the name of a run's failures, spares and preemptions."""
    failures, spares = config["cluster"]["failures"], config["cluster"]["spares"]
    if config["overheads"]["on_preemption"] is None:
        return ORDER[-1]
    if spares:
        return f"{spares} spares per rack" if spares > 1 else ORDER[5]
    if not isinstance(failures, list):
        return {None: "none", "rsc1": "RSC-1"}[failures]
    return {"any": TEN, "rack": "as racks", "link": "as slow links"}[failures[0]["cause"]]


def times(folder: Path) -> pd.DataFrame:
    """Return the mean JCT of all jobs and of large ones by policy, scenario and seed, hours."""
    rows = []
    for run in artist.read_sweep(folder).runs:
        jobs = run.jobs[["gpus", "jct_s"]] / [1, 3600]
        large = LARGE if jobs.gpus.max() >= LARGE else 8  # Lyra's jobs are smaller
        rows.append(
            {
                "policy": run.summary["policy"],
                "scenario": scenario(run.config),
                "seed": run.summary["seed"],
                "all": jobs.jct_s.mean(),
                "large": jobs.jct_s[jobs.gpus >= large].mean(),
            }
        )
    frame = pd.DataFrame(rows).set_index(["policy", "scenario", "seed"]).sort_index()
    runs = frame.groupby(["policy", "scenario"])["all"].transform("size")
    return frame[runs == runs.max()]  # of scenarios that have all seeds


def difference(one: pd.Series, other: pd.Series) -> tuple[float, float]:
    """Return the mean of the paired differences and half of its interval."""
    paired = (one - other).dropna()
    low, high = interval_95(paired.tolist()) or (float("nan"), float("nan"))
    return float(paired.mean()), (high - low) / 2


def rows_of(of: pd.DataFrame) -> list[tuple[str, str, list[float]]]:
    """Return policy, scenario, and, of all jobs and of large ones, the mean JCT and its paired differences.

    From the same policy without failures and at ten times RSC-1's rate, and from the first policy, FIFO or
    SRTF, in the same scenario.
    """
    policies = list(dict.fromkeys(of.index.get_level_values("policy")))
    first = next(name for name in ("fifo_backfill", "lyra_fifo", "srtf") if name in policies)
    rows = []
    for policy in sorted(policies, key=lambda name: (name != first, name)):
        for name in (name for name in ORDER if name in of.loc[policy].index):
            here, numbers = of.loc[policy, name], []
            known = of.index.droplevel("seed")
            same = (first, name) if (first, name) in known else (first, TEN)
            for size in ("all", "large"):
                numbers.append(float(here[size].mean()))
                for other in ((policy, "none"), (policy, TEN), same):
                    numbers += difference(here[size], of.loc[other][size])
            rows.append((policy, name, numbers))
    return rows


def draw(rows: list[tuple[str, str, list[float]]]) -> None:
    """Draw the differences from no failures, by scenario and policy: all jobs, large jobs."""
    plt.rcParams.update({"svg.hashsalt": "failures", "font.size": 9})
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 4.2), sharey=True, layout="constrained")
    policies = list(dict.fromkeys(policy for policy, _, _ in rows))
    names = [name for name in ORDER if name != "none"]
    for axes, at, title in zip(panels, (1, 8), ("all jobs", f"jobs of {LARGE} GPUs or more"), strict=True):
        for number, policy in enumerate(policies):
            of_policy = [(name, numbers) for who, name, numbers in rows if who == policy and name != "none"]
            y = [names.index(name) + 0.17 * (number - (len(policies) - 1) / 2) for name, _ in of_policy]
            x, half = zip(*((numbers[at], numbers[at + 1]) for _, numbers in of_policy), strict=True)
            axes.errorbar(x, y, xerr=half, fmt="o", ms=3.5, capsize=2, lw=1, label=policy)
        axes.axvline(0, color="0.6", lw=0.8)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("mean JCT, hours more than without failures")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    panels[1].legend(frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def print_tables(rows: list[tuple[str, str, list[float]]]) -> None:
    """Print the means by scenario and policy, all / large, and then the differences."""
    means = {(policy, name): f"{numbers[0]:.1f} / {numbers[7]:.1f}" for policy, name, numbers in rows}
    policies = list(dict.fromkeys(policy for policy, _ in means))
    print("| failures |", " | ".join(policies), "|\n|---|" + "---|" * len(policies))
    for name in (name for name in ORDER if any((policy, name) in means for policy in policies)):
        print(f"| {name} |", " | ".join(means.get((policy, name), "") for policy in policies), "|")
    print("\n| policy | failures | JCT of | mean, h | from none | from ten times | from the first policy |")
    print("|---|---|---|---|---|---|---|")
    for policy, name, numbers in rows:
        for size, at in (("all", 0), ("large", 7)):
            pairs = [f"{numbers[at + i]:+.2f} ± {numbers[at + i + 1]:.2f}" for i in (1, 3, 5)]
            print(f"| {policy} | {name} | {size} | {numbers[at]:.2f} | {' | '.join(pairs)} |")


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        of_folder = rows_of(times(folder))
        print_tables(of_folder)
        if folder.name == "failures":
            draw(of_folder)
