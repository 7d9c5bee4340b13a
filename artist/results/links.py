"""Shared links of a run: use over time, the most contended ones, and the jobs' slowdowns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from artist.recording.names import LINK_USES, LINKS_FILE, SLOWDOWN, TIERS_FILE
from artist.results.digest import SPANS, Gauge, gauge_of_steps
from artist.results.jobcolumns import measured_jobs
from artist.results.run import Run
from artist.results.steps import Floats

_TIERS, _LINKS = (name.removesuffix(".parquet") for name in (TIERS_FILE, LINKS_FILE))


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A port of a machine or an uplink of a rack; both directions carry the same.

    Attributes
    ----------
    gbit_s
        Capacity.
    use, contended
        Mean part of the capacity in use, and part of the time in which jobs could overload it together; means
        over replicates.
    """

    name: str
    gbit_s: float
    use: float
    contended: float


def has_contention(run: Run) -> bool:
    """Return whether jobs on the same links affected each other."""
    return "contention" in run.summary


def read_tiers(run: Run, work_end_s: float | None = None) -> dict[str, dict[str, Gauge]]:
    """Return LINK_USES of each tier of links, as parts of 1; raise InputError if damaged."""
    names = [name for name in run.columns(_TIERS) if name != "time_s"]
    times_s, *values = run.numbers(_TIERS, ["time_s", *names])
    thinned = len(times_s) > 2 * SPANS  # all alike
    gauges = {
        name: gauge_of_steps(times_s, value, SPANS, thinned=thinned, done_s=work_end_s)
        for name, value in zip(names, values, strict=True)
    }
    tiers = dict.fromkeys(name.rpartition("_")[0] for name in names)
    return {tier: {what: gauges[f"{tier}_{what}"] for what in LINK_USES} for tier in tiers}


def read_slowdowns(runs: Sequence[Run]) -> Floats:
    """Return time running / time without contention of the measured jobs that ran, replicates pooled.

    Raises
    ------
    InputError
        If the jobs of a run are damaged.
    """
    slowdowns = []
    for run in runs:
        (slower,) = run.numbers("jobs", [SLOWDOWN])
        slowdowns.append(slower[measured_jobs(run, len(slower)) & ~np.isnan(slower)])
    return np.concatenate(slowdowns)


def top_contended(runs: Sequence[Run], most: int) -> list[SharedLink]:
    """Return at most `most` links that were contended, the longest contended first.

    Raises
    ------
    InputError
        If the links of a run are damaged.
    """
    capacity: dict[str, float] = {}
    sums: dict[str, Floats] = {}
    for run in runs:
        tier, machine, way = run.words(_LINKS, ["tier", "machine", "way"])
        numbers = np.stack(run.numbers(_LINKS, ["rack", "capacity_gbit_s", "use", "contended"]), axis=1)
        words = (
            np.array(words_of.names, dtype=object)[words_of.codes].tolist()
            for words_of in (tier, machine, way)
        )
        for of, name, direction, numbers_of in zip(*words, numbers, strict=True):
            if direction == "out" and numbers_of[3] > 0:
                called = f"uplink of rack {numbers_of[0]:g}" if of == "rack" else f"port of {name}"
                called += ", to other racks" * (of == "network")
                gbit_s, *shares = numbers_of[1:]
                capacity[called] = gbit_s
                sums[called] = sums.get(called, np.zeros(2)) + shares
    links = [SharedLink(name, capacity[name], *(sums[name] / len(runs)).tolist()) for name in sums]
    return sorted(links, key=lambda link: (-link.contended, -link.use, link.name))[:most]
