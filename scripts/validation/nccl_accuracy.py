"""Compare the model of NCCL's collectives with published runs of nccl-tests in ../shared.

    python scripts/validation/nccl_accuracy.py ../shared/reference/measured [--unseen]

The folder has nccl.csv (a row per size) and nccl_runs.csv (a row per run); traces/measured/nccl_runs.yaml
lists the runs that are used, and their roles. Prints the median and 90th percentile of |model / measured - 1|
for all sizes, from 1 MB and 64 MB up, and for the start-up of a run (median time up to 1 KB):

- nominal: `network.system.preset=machines`, the default, and `papers` on a fabric of each machine's data
  sheets (nothing fitted);
- within runs: every other size is fitted, the rest predicted, run by run;
- across machines: one and two machines are fitted, more are predicted, series by series;
- noise: runs of one kind, collective and size against each other, with equal settings and with other settings
  of the transport.

`--unseen` takes the machines that were kept aside instead. nccl_fabrics.py fits the measured fabrics
of topologies/.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from nccl_published import Published, Series, read_published

from artist.entry import script
from netmodels.api import Fabric, MeasuredRun, NcclFabric, SystemSettings, shape_of
from netmodels.collectives.algorithms import Collective
from netmodels.models.analytical import AnalyticalModel
from netmodels.nccl.fit import fit_nccl, predicted_us
from netmodels.nccl.parameters import nccl_of

Floats = npt.NDArray[np.float64]

MB = 1_000_000
LARGE, SMALL = 64 * MB, 1024
MAX_MACHINES = 64  # for the goals; more are reported beyond them
NOMINAL = SystemSettings(across_machines="hierarchical")  # as it was before there was a choice
_ASTRA_SIM: dict[str, Collective] = {
    "all_reduce": "all_reduce",
    "reduce_scatter": "reduce_scatter",
    "all_gather": "all_gather",
    "all_to_all": "all_to_all",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Answers of a model for some sizes of a run.

    Parameters
    ----------
    group
        Line of the table.
    run
        The run, cut down to the sizes that were asked for.
    ours_us
        The model's times, shape (n_points,).
    """

    group: str
    run: MeasuredRun
    ours_us: Floats

    @property
    def errors(self) -> Floats:
        """|ours / measured - 1|, shape (n_points,)."""
        errors: Floats = np.abs(self.ours_us / self.run.times_us - 1)
        return errors

    @property
    def start_up(self) -> float | None:
        """The error of the median time up to 1 KB; None where the run has no such size."""
        small = self.run.sizes_bytes <= SMALL
        if not small.any():
            return None
        return abs(float(np.median(self.ours_us[small]) / np.median(self.run.times_us[small])) - 1)


def halves(run: MeasuredRun) -> tuple[MeasuredRun, MeasuredRun]:
    """Return a run's 2nd, 4th, 6th ... size, which are fitted, and the others, which are predicted."""
    return replace(run, points=run.points[1::2]), replace(run, points=run.points[::2])


def nominal_us(run: MeasuredRun, fabric: Fabric) -> Floats:
    """Return the times of a run by the preset `papers` on nominal figures, shape (n_points,).

    nccl-tests counts an all-gather's total over ranks, the model the bytes that a GPU starts with. Its send
    and receive is a ring: each rank sends to the next, so that one GPU's link leaves each machine.
    """
    shape = shape_of((0, "", run.gpus_per_machine) for _ in range(run.machines))
    if run.collective == "send_receive":
        (link,) = fabric.rack if run.machines > 1 else fabric.machine
        sent_ns = run.sizes_bytes / link.bandwidth_bytes_per_ns
        return (2 * link.latency_ns + sent_ns) / 1e3
    start = run.machines * run.gpus_per_machine if run.collective == "all_gather" else 1
    model, collective = AnalyticalModel(), _ASTRA_SIM[run.collective]
    sizes = [max(1, size // start) for size, _ in run.points]
    return np.array([model.collective_ns(collective, size, shape, fabric, NOMINAL) for size in sizes]) / 1e3


def nominal(published: Published, names: Iterable[str], preset: str) -> Iterator[Answer]:
    """Yield answers of a preset, where the nominal figures are known."""
    for name in names:
        fabric, run = published.nominal[name], published.runs[name]
        if fabric is not None:
            machines = preset == "machines"
            ours_us = predicted_us(run, nccl_of(fabric)) if machines else nominal_us(run, fabric)
            yield Answer(run.collective, run, ours_us)


def within_runs(published: Published, names: Iterable[str]) -> Iterator[Answer]:
    """Yield predictions of one half of each run's sizes by a fit to the other."""
    for name in names:
        known, asked = halves(published.runs[name])
        nccl = fitted(published, [known])
        yield Answer(asked.collective, asked, predicted_us(asked, nccl))


def across_machines(published: Published, series: Iterable[Series]) -> Iterator[Answer]:
    """Yield predictions of the runs of each series by a fit to its runs on one and two machines."""
    for runs in series:
        nccl = fitted(published, [published.runs[name] for name in runs.fitted])
        for name in runs.predicted:
            run = published.runs[name]
            yield Answer(group_of(runs, run), run, predicted_us(run, nccl))


def group_of(series: Series, run: MeasuredRun) -> str:
    """Return the line of the table for a prediction."""
    beyond = f", more than {MAX_MACHINES} machines" if run.machines > MAX_MACHINES else ""
    note = ", apart" if series.apart else ", borrowed" if series.borrowed else ""
    return f"{series.family}, {run.collective}{note}{beyond}"


def fitted(published: Published, runs: Sequence[MeasuredRun]) -> NcclFabric:
    """Return the parameters that fit some runs of machines of one type best."""
    widest = max(runs, key=lambda run: run.machines)
    return fit_nccl(runs, nccl_of(published.priors[widest.name])).nccl


def noise(published: Published, names: Iterable[str]) -> Iterator[Answer]:
    """Yield runs of equal machines and collective against each other, equal settings and others apart."""
    for one, other in combinations([published.runs[name] for name in names], 2):
        if _setup(published, one) == _setup(published, other):
            times_us = dict(other.points)
            common = tuple(point for point in one.points if point[0] in times_us)
            alike = "equal" if one.settings == other.settings else "other"
            group = f"{one.collective}, {alike} settings"
            yield Answer(group, replace(one, points=common), np.array([times_us[size] for size, _ in common]))


def _setup(published: Published, run: MeasuredRun) -> tuple[object, ...]:
    row = published.rows[run.name]
    return row["machine_kind"], row["nic_gbit_s_total"], run.collective, run.machines, run.gpus_per_machine


def table(title: str, answers: Iterable[Answer]) -> str:
    """Return a line per group and one for all: runs, sizes, median and 90th percentile, %."""
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(answer.group, []).append(answer)
    heads = ("all sizes", "from 1 MB", "from 64 MB", "up to 1 KB, per run")
    lines = [f"\n{title}", f"{'runs':>4} {'sizes':>5}" + "".join(f"{head:>19}" for head in heads)]
    everything = [answer for members in groups.values() for answer in members]
    for group, members in (*sorted(groups.items()), ("all", everything)):
        lines.append(f"{_line(members)}  {group}")
    return "\n".join(lines)


def _line(answers: Sequence[Answer]) -> str:
    errors = np.concatenate([answer.errors for answer in answers])
    sizes = np.concatenate([answer.run.sizes_bytes for answer in answers])
    starts = [error for answer in answers if (error := answer.start_up) is not None]
    columns = (errors, errors[sizes >= MB], errors[sizes >= LARGE], np.array(starts))
    return f"{len(answers):4} {len(errors):5}" + "".join(f"{_two(column):>19}" for column in columns)


def _two(errors: Floats) -> str:
    if not len(errors):
        return "-"
    return f"{np.median(errors):.1%} {np.quantile(errors, 0.9):.1%}"


def report(published: Published, unseen: bool) -> str:
    """Return all tables, of the machines seen or of those kept aside."""
    names = published.unseen if unseen else published.seen
    series = [one_series for one_series in published.series if (one_series.family == "unseen") == unseen]
    return "\n".join(
        (
            table("Nominal figures, machines", nominal(published, names, "machines")),
            table("Nominal figures, papers", nominal(published, names, "papers")),
            table("Within runs: every other size fitted", within_runs(published, names)),
            table("One and two machines fitted, more predicted", across_machines(published, series)),
            table("Runs against each other", noise(published, names)),
        )
    )


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 0, or 2 if the folder lacks a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--unseen", action="store_true", help="the machines that were kept aside")
    chosen = parser.parse_args(argv)
    print(report(read_published(chosen.folder), chosen.unseen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
