"""What was lent and returned between pools, and whether a pool was short, in sentences. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from artist.report.words.wording import few, per_cent
from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.names import listed

_SHORT = "_short"
_MOST_ROWS = 4  # told one by one


def pools(digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return (topic, sentence) pairs; none where clusters have one pool."""
    groups = [each.group for each in digests]
    said = (("Short pools", _short(groups)), ("Machines returned", _returned(groups)))
    return [(topic, text) for topic, text in said if text]


def _short(groups: Sequence[Replicates]) -> str:
    """Return for how long, and by how much, pools lacked machines that they needed."""
    names = sorted({key for group in groups for key in group.runs[0].summary if key.endswith(_SHORT)})
    return " ".join(_short_of(name, groups) for name in names)


def _short_of(name: str, groups: Sequence[Replicates]) -> str:
    pool = name.removesuffix(_SHORT).replace("_", " ")
    known = [(group, found) for group in groups if (found := _all(group, name))]
    lacked = [(group, found) for group, found in known if any(each["server_s"] for each in found)]
    never = [group.name for group, found in known if (group, found) not in lacked]
    if not lacked:
        return f"The {pool} pool was never short of machines."
    lacked.sort(key=lambda pair: -_mean(pair[1], "server_s"))
    clauses = [
        f"for {_mean(found, 'server_s'):,.0f} server-seconds, at worst by "
        f"{_count(max(each['worst_servers'] for each in found), 'machine')}, under {group.name}"
        for group, found in lacked[:_MOST_ROWS]
    ]
    rest = len(lacked) - len(clauses)
    clauses += [f"for less under {_count(rest, 'other')}"] * bool(rest)
    text = f"The {pool} pool was short {listed(clauses)}"
    return text + (f"; never under {listed(few(never))}." if never else ".")


def _returned(groups: Sequence[Replicates]) -> str:
    """Return how many machines went back, and how they were cleared."""
    known = [(group, found) for group in groups if (found := _all(group, "reclaims"))]
    known = [(group, found) for group, found in known if _mean(found, "machines")]
    if not known:
        return ""
    if len(known) <= _MOST_ROWS:
        return "; ".join(f"{group.name} returned {_how(found)}" for group, found in known) + "."
    jobs = [_mean(found, "preempted_jobs") / _mean(found, "machines") for _, found in known]
    ends = (("fewest", jobs.index(min(jobs))), ("most", jobs.index(max(jobs))))
    clauses = [
        f"{word} jobs a machine were preempted under {known[at][0].name}, which returned {_how(known[at][1])}"
        for word, at in ends
    ]
    return f"Of {len(known)} rows, {'; '.join(clauses)}."


def _how(found: Sequence[dict[str, Any]]) -> str:
    counts = {name: _mean(found, name) for name in ("machines", "idle", "flexible", "preempting")}
    total = counts["machines"]
    return (
        f"{_count(total, 'machine')}: {per_cent(counts['idle'] / total)} idle, "
        f"{per_cent(counts['flexible'] / total)} by shrinking or moving jobs, "
        f"{per_cent(counts['preempting'] / total)} by preempting "
        f"{_count(_mean(found, 'preempted_jobs'), 'job')}"
    )


def _count(value: float, word: str) -> str:
    return f"{value:,.0f} {word}{'s' * (round(value) != 1)}"


def _all(group: Replicates, key: str) -> list[dict[str, Any]]:
    """Return an entry of the summaries of a row; empty if a replicate lacks it."""
    found = [run.summary.get(key) for run in group.runs]
    return [each for each in found if each] if all(found) else []


def _mean(found: Sequence[dict[str, Any]], key: str) -> float:
    return math.fsum(each[key] for each in found) / len(found)
