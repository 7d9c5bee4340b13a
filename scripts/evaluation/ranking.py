"""Cost of shared links by policy, and the rank of policies: the contention experiments.

    python scripts/evaluation/ranking.py runs/sweeps/contention_* [--plot FILE.svg]

Prints a Markdown table by fabric: the mean JCT in hours without contention, mean over seeds with its 95 %
interval (Student's t), and by oversubscription of the uplinks its increase in % with contention,
seed by seed: geometric mean with the 95 % interval of the logarithms; of one seed or two, each. A policy
around another is compared with that one. Runs without contention count whatever their oversubscription: on
these fabrics a job alone takes the same time. A second table ranks the policies by the % by which their mean
JCT exceeds that of the best one, over the seeds that all of them have, which are named if some have more. The
plot has a panel per fabric, a line per policy.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from artist.drawing.looks import example_lines, marked_look, style
from artist.drawing.panels import head, label_rows, legend, panels
from artist.entry import script
from artist.errors import InputError
from artist.results.folder import find_runs, read_run
from artist.results.interval import interval_95
from artist.results.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POLICIES = ("fifo", "tiresias", "dally", "synergy")
"""Policies that are ranked."""
_TICKS = (0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100)
_ASIDE = 0.05  # how far apart the whiskers of neighbours are, in steps between ratios


@dataclass(frozen=True, slots=True)
class Point:
    """Runs that are compared over seeds; `ratio` is None without contention."""

    fabric: str
    policy: str
    ratio: float | None


Hours = Mapping[Point, Mapping[int, float]]
"""Mean JCT in hours by seed."""


def read(folders: Sequence[Path]) -> Hours:
    """Return the mean JCT of runs; fabrics are named with the preset of collectives if runs have both.

    Raises
    ------
    InputError
        If two runs of different mean JCTs belong to one cell and seed.
    """
    hours: dict[Point, dict[int, float]] = {}
    runs = [read_run(folder) for folder in find_runs(folders).runs]
    both = len({_preset(run) for run in runs}) > 1
    for run in runs:
        way, topology = run.config["performance"]["contention"], run.config["topology"]
        fabric, seed = topology["name"] + f", {_preset(run)}" * both, int(run.config["seed"])
        policy = run.summary["policy"] + " in time" * (way == "packets")
        ratio = None if way == "none" else float(topology["oversubscription"]["rack"])
        found = run.summary["jct_s"]["mean"] / 3600
        for name in (policy, f"{policy} in time") if ratio is None else (policy,):
            jct = hours.setdefault(Point(fabric, name, ratio), {}).setdefault(seed, found)
            if jct != found:
                where, cell = str(run.folder), f"{fabric}, {name}, contention {way}, seed {seed}"
                what, allowed = f"a second run of {cell}", f"one, or runs of equal mean JCT ({jct:g} h)"
                raise InputError(what, where=where, found=f"{found:g} h", allowed=allowed)
    return {point: hours[point] for point in sorted(hours, key=lambda point: (point.fabric, point.policy))}


def _preset(run: Run) -> str:
    return str(run.config["network"]["system"]["preset"])


def factors(hours: Hours, point: Point) -> list[float]:
    """Return mean JCT / that without contention under the policy, or the policy inside, by seed."""
    inner = point.policy.partition("(")[2].replace(")", "") or point.policy
    alone = hours.get(Point(point.fabric, inner, None), {})
    return _over(hours[point], alone)


def _over(these: Mapping[int, float], those: Mapping[int, float]) -> list[float]:
    """Return the ratios of these to those, by seed."""
    return [these[seed] / those[seed] for seed in sorted(these) if seed in those]


def geometric(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the geometric mean of factors and its 95 % interval; None for fewer than 3."""
    logs = [log(value) for value in values]
    ends = interval_95(logs)
    return None if ends is None else (exp(mean(logs)), exp(ends[0]), exp(ends[1]))


def lines(hours: Hours) -> Iterator[str]:
    """Yield the table in Markdown."""
    ratios = sorted({point.ratio for point in hours if point.ratio is not None})
    shared = [(point.fabric, point.policy) for point in hours if point.ratio is not None]
    yield f"| fabric | policy | no contention, h | {' | '.join(f'{ratio:g}:1, %' for ratio in ratios)} |"
    yield "|---" * (3 + len(ratios)) + "|"
    for fabric, policy in dict.fromkeys(shared):
        cells = [_hours([*hours.get(Point(fabric, policy, None), {}).values()])]
        for ratio in ratios:
            point = Point(fabric, policy, ratio)
            cells.append(_times(factors(hours, point)) if point in hours else "")
        yield f"| `{fabric}` | {policy} | {' | '.join(cells)} |"


def ranks(hours: Hours) -> Iterator[str]:
    """Yield the table of the best policy and the distance of the others, in Markdown."""
    yield "| fabric | uplinks | best | others, % more |"
    yield "|---|---|---|---|"
    contests = dict.fromkeys((point.fabric, point.ratio) for point in hours)
    for fabric, ratio in sorted(contests, key=lambda contest: (contest[0], contest[1] or 0)):
        there = {
            point.policy: by_seed
            for point, by_seed in hours.items()
            if (point.fabric, point.ratio) == (fabric, ratio) and point.policy in POLICIES
        }
        if not there:
            continue
        uplinks = "no contention" if ratio is None else f"{ratio:g}:1"
        seeds = sorted(set.intersection(*map(set, there.values())))
        if any(len(by_seed) > len(seeds) for by_seed in there.values()):
            uplinks += f", seeds {', '.join(map(str, seeds)) or 'in common: none'}"
        if not seeds:
            yield f"| `{fabric}` | {uplinks} | | |"
            continue
        there = {policy: {seed: by_seed[seed] for seed in seeds} for policy, by_seed in there.items()}
        best, *others = sorted(there, key=lambda policy: mean(map(log, there[policy].values())))
        behind = [f"{policy} {_times(_over(there[policy], there[best]))}" for policy in others]
        yield f"| `{fabric}` | {uplinks} | {best} | {', '.join(behind)} |"


def _hours(values: Sequence[float]) -> str:
    ends = interval_95(values)
    return f"{mean(values):.2f} ± {(ends[1] - ends[0]) / 2:.2f}" if ends else ""


def _times(values: Sequence[float]) -> str:
    interval = geometric(values)
    if interval is None:
        return ", ".join(map(_percent, values))
    return "{} ({} to {})".format(*map(_percent, interval))


def _percent(factor: float) -> str:
    """Return the increase by a factor in %, with one decimal below 10."""
    more = 100 * (factor - 1)
    return f"{more:+.0f}" if abs(more) >= 10 else f"{more:+.1f}".replace("-0.0", "0").replace("+0.0", "0")


def _draw_factors(axes: "Axes", hours: Hours, points: Sequence[Point], number: int, aside: float) -> None:
    """Draw the factors of one policy at the points that were run, with intervals."""
    spans = [(x, geometric(factors(hours, point))) for x, point in enumerate(points) if point in hours]
    drawn = [(x, *span) for x, span in spans if span is not None]
    whiskers = [[mid - low for _, mid, low, _ in drawn], [high - mid for _, mid, _, high in drawn]]
    look = marked_look(number) | {"markevery": None, "capsize": 2, "elinewidth": 0.8}
    axes.errorbar([x + aside for x, *_ in drawn], [mid for _, mid, _, _ in drawn], yerr=whiskers, **look)


def draw(hours: Hours, path: Path) -> None:
    """Draw the factors by oversubscription."""
    ratios = sorted({point.ratio for point in hours if point.ratio is not None})
    fabrics = list(dict.fromkeys(point.fabric for point in hours))
    policies = list(dict.fromkeys(point.policy for point in hours if point.ratio is not None))
    with style():
        figure, places = panels(len(fabrics), 2.6, policies, shared=False, max_columns=2)
        for axes, fabric in zip(places, fabrics, strict=True):
            for number, policy in enumerate(policies):
                points = [Point(fabric, policy, ratio) for ratio in ratios]
                _draw_factors(axes, hours, points, number, _ASIDE * (number - (len(policies) - 1) / 2))
            axes.set_yscale("log")
            axes.set_xlim(-0.3, len(ratios) - 0.7)
            low, high = axes.get_ylim()
            low, high = min(low, 0.9), max(high, 1.1)  # less is next to nothing, and looks like it
            ticks = [tick for tick in _TICKS if low <= tick <= high]
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.set_yticks([], minor=True)
            axes.set_ylim(low, high)
            axes.set_xticks(range(len(ratios)), [f"{ratio:g}:1" for ratio in ratios])
            head(axes, fabric, places, figure.get_figwidth())
        label_rows(figure, "mean JCT / without contention", policies)
        legend(figure, policies, example_lines([marked_look(number) for number in range(len(policies))]))
        figure.savefig(path)


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, help="folders of runs")
    parser.add_argument("--plot", type=Path, help="file to draw to, such as ranking.svg")
    arguments = parser.parse_args(argv)
    hours = read(arguments.folders)
    print(*lines(hours), "", *ranks(hours), sep="\n")
    if arguments.plot:
        draw(hours, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
