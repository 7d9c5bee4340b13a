"""Findings on pools: loans, returns, and shortages, in sentences. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from artist.report.words.wording import MAX_ROWS, few, named, per_cent, under_each
from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.names import listed

_SHORT = "_short"
_MAY_USE = (
    " On GPUs of a type that training has not, Lyra runs only jobs that are fungible or name that type "
    "(columns fungible and gpu_types of a trace)."
)
_NEED = " Short: needs more than is there, by the larger of the signal's present and next value."


def pools(digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return (topic, sentence) pairs; none where clusters have one pool."""
    groups = [digest.group for digest in digests]
    sentences = (
        ("GPUs in use", _use(groups)),
        ("Unused loans", _unused(groups)),
        ("Pools short of machines", _short(groups)),
        ("Machines returned", _returned(groups)),
    )
    return [(topic, text) for topic, text in sentences if text]


def _use(groups: Sequence[Replicates]) -> str:
    """Return the shares of all GPUs, and of those on loan, in use while jobs arrived."""
    names = _short_names(groups)
    with_all = [group for group in groups if all(_all(group, name) for name in names)]
    users = listed(["jobs", *map(_spoken, names)])
    clauses = [
        f"{users_of} {listed(shares)}"
        for users_of, of, key, pool_gpus in (
            (f"{users} used", with_all, "combined", "all GPUs"),
            ("jobs held", groups, "on_loan_held", "GPUs on loan"),
        )
        if (shares := _shares(of, key, pool_gpus))
    ]
    sentence = f"While jobs arrived, {'; '.join(clauses)}." if clauses else ""
    others = [named(group.name) for group in groups if group not in with_all and _all(group, "pools")]
    if not others:
        return sentence
    series = listed([_spoken(name) for name in names])
    without = f"{listed(few(others))}: without the series {series}"
    return f"{sentence} The use of all GPUs is not compared with {without}."


def _unused(groups: Sequence[Replicates]) -> str:
    """Return under which policies machines were on loan, and no job held GPUs there."""
    unused = [
        named(group.name)
        for group in groups
        if (entries := _all(group, "pools")) and all(entry["on_loan_held"] == 0 for entry in entries)
    ]
    return f"No job used the machines on loan under {listed(few(unused))}.{_MAY_USE}" if unused else ""


def _shares(groups: Sequence[Replicates], key: str, pool_gpus: str) -> list[str]:
    """Return a share under each row that has it; of many rows the greatest and the least."""
    known = [(group, entries) for group in groups if (entries := _all(group, "pools"))]
    shares = [
        (named(group.name), _mean(entries, key))
        for group, entries in known
        if all(entry[key] is not None for entry in entries)
    ]
    return under_each(sorted(shares, key=lambda pair: -pair[1]), f"of {pool_gpus}")


def _short(groups: Sequence[Replicates]) -> str:
    """Return for how long, and by how much, pools lacked machines that they needed."""
    return " ".join(_short_of(name, groups) for name in _short_names(groups))


def _short_names(groups: Sequence[Replicates]) -> list[str]:
    return sorted({key for group in groups for key in group.runs[0].summary if key.endswith(_SHORT)})


def _spoken(name: str) -> str:
    return name.removesuffix(_SHORT).replace("_", " ")


def _short_of(name: str, groups: Sequence[Replicates]) -> str:
    pool = _spoken(name)
    known = [(group, entries) for group in groups if (entries := _all(group, name))]
    lacked = [(group, entries) for group, entries in known if any(entry["server_s"] for entry in entries)]
    never = [named(group.name) for group, entries in known if (group, entries) not in lacked]
    if not lacked:
        return f"The {pool} pool was never short of machines."
    lacked.sort(key=lambda pair: -_mean(pair[1], "server_s"))
    clauses = [
        f"for {_mean(entries, 'server_s'):,.0f} server-seconds, at worst by "
        f"{_count(max(entry['worst_servers'] for entry in entries), 'machine')}, under {named(group.name)}"
        for group, entries in lacked[:MAX_ROWS]
    ]
    rest = len(lacked) - len(clauses)
    clauses += [f"for less under {_count(rest, 'other')}"] * bool(rest)
    text = f"The {pool} pool was short {listed(clauses)}"
    return text + (f"; never under {listed(few(never))}." if never else ".") + _NEED


def _returned(groups: Sequence[Replicates]) -> str:
    """Return the numbers of returned machines, by how they were cleared."""
    known = [(group, entries) for group in groups if (entries := _all(group, "reclaims"))]
    known = [(group, entries) for group, entries in known if _mean(entries, "machines")]
    if not known:
        return ""
    if len(known) <= MAX_ROWS:
        return "; ".join(f"{named(group.name)} returned {_how(entries)}" for group, entries in known) + "."
    jobs = [_mean(entries, "preempted_jobs") / _mean(entries, "machines") for _, entries in known]
    ends = (("fewest", jobs.index(min(jobs))), ("most", jobs.index(max(jobs))))
    clauses = [
        f"{word} jobs per returned machine were preempted under {named(known[at][0].name)}, "
        f"which returned {_how(known[at][1])}"
        for word, at in ends
    ]
    return f"Of {len(known)} rows, {'; '.join(clauses)}."


def _how(entries: Sequence[dict[str, Any]]) -> str:
    counts = {name: _mean(entries, name) for name in ("machines", "idle", "flexible", "preempting")}
    total = counts["machines"]
    ways = {
        "idle": "were idle",
        "flexible": "were cleared by shrinking or moving jobs",
        "preempting": f"were cleared by preempting {_count(_mean(entries, 'preempted_jobs'), 'job')}",
    }
    parts = [f"{per_cent(counts[name] / total)} {how}" for name, how in ways.items() if counts[name]]
    return f"{_count(total, 'machine')}, of which {listed(parts)}"


def _count(value: float, word: str) -> str:
    return f"{value:,.{0 if value == round(value) else 1}f} {word}{'s' * (value != 1)}"


def _all(group: Replicates, key: str) -> list[dict[str, Any]]:
    """Return an entry of the summaries of a row; empty if a replicate lacks it."""
    entries = [run.summary.get(key) for run in group.runs]
    return [entry for entry in entries if entry] if all(entries) else []


def _mean(entries: Sequence[dict[str, Any]], key: str) -> float:
    return math.fsum(entry[key] for entry in entries) / len(entries)
