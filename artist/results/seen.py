"""Runs against their site, in sentences and by group of jobs. Pure."""

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Any

from artist.results.compare import Comparison, Replicates
from artist.results.measures import column_unit, number_texts
from artist.results.names import listed

SEEN = "seen"
NEAR = 1.3  # a mean wait within 30 % of that met is explained
FAR = 2.0
_MOST = 8  # groups in a sentence
WORDS = {"partition": "partitions", "vc": "virtual clusters", "gpus": "GPUs of a job"}
Record = Mapping[str, Any]


def have_seen(groups: Sequence[Replicates]) -> list[Replicates]:
    """Return the rows whose site's waits are known."""
    return [group for group in groups if SEEN in group.runs[0].summary]


def seen_of(group: Replicates) -> Record:
    """Return the record of a row's first run."""
    seen: Record = group.runs[0].summary[SEEN]
    return seen


def distance(record: Record) -> float:
    """Return the absolute logarithm of simulated / seen mean wait; infinite if there is no ratio."""
    return abs(log(record["ratio"])) if record["ratio"] else inf


def seen_notes(comparison: Comparison) -> list[str]:
    """Return the waits met, the row that is nearest to them, and the groups that are far from all rows."""
    rows = have_seen(comparison.groups)
    if not rows:
        return []
    best = min(rows, key=lambda group: distance(seen_of(group)))
    seen = seen_of(best)
    if not seen["seen_mean_s"]:
        return ["no job waited on the site"] if seen["jobs"] else []
    met, simulated = _durations(seen["seen_mean_s"], seen["simulated_mean_s"])
    several = len(rows) > 1
    who = f"{best.name} comes closest with" if several else "simulated are"
    notes = [
        f"users met a mean wait of {met} ({seen['jobs']:,} jobs); {who} {simulated}, {_ratio(seen)} of it",
        _likeness(seen),
    ]
    others = [f"{group.name} {_ratio(seen_of(group))}" for group in rows if group is not best]
    notes += [f"the others, times the mean wait met: {'; '.join(others[:_MOST])}"] * several
    notes += _unexplained(rows, seen)
    if distance(seen) > log(FAR):
        notes.append("no row explains these waits: the nearest is more than two times off")
    if seen["ran_not_placed"]:
        notes.append(f"{seen['ran_not_placed']} jobs that ran when the trace begins found no GPUs at once")
    return notes


def groups_of(record: Record) -> list[Record]:
    """Return the groups by pool, and those by size."""
    return [group for group in record["groups"] if group["jobs"]]


def _unexplained(rows: Sequence[Replicates], best: Record) -> list[str]:
    """Return the number of groups that the best row explains, and the groups that no row explains."""
    notes = []
    for by, word in WORDS.items():
        groups = [group for group in groups_of(best) if group["by"] == by and group["seen_mean_s"]]
        if not groups:
            continue
        near = sum(distance(group) <= log(NEAR) for group in groups)
        nearest = {
            group["value"]: min(
                (other for row in rows for other in groups_of(seen_of(row)) if _same(other, group)),
                key=distance,
            )
            for group in groups
        }
        far = [f"{name} ({_ratio(one)})" for name, one in nearest.items() if distance(one) > log(NEAR)]
        none = f"; none explains {listed(far[:_MOST])}" if far else ""
        notes.append(f"by {word}: within 30 % for {near} of {len(groups)}{none}")
    return notes


def _same(one: Record, other: Record) -> bool:
    return bool(one["by"] == other["by"] and one["value"] == other["value"])


def _likeness(seen: Record) -> str:
    numbers = {
        "by job": seen["correlation"],
        "median of the clusters": seen["median_correlation"],
        "of ranks": seen["rank_correlation"],
        "of waiting jobs by hour": seen["queue_correlation"],
        "of busy GPUs": seen["busy_correlation"],
    }
    known = [f"{value:.2f} {name}" for name, value in numbers.items() if value is not None]
    return (
        f"correlation {', '.join(known) or 'unknown'}; busy GPUs {seen['busy_ratio'] or 0:.2f} of those met"
    )


def _ratio(record: Record) -> str:
    return "-" if record["ratio"] is None else f"{record['ratio']:.2f}"


def _durations(*seconds: float) -> list[str]:
    unit, scale = column_unit("time", seconds)
    return [f"{text} {unit}" for text, _ in number_texts([(value, None) for value in seconds], scale, "time")]
