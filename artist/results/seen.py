"""Runs against their site, in sentences and by group of jobs. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

from artist.results.compare import POLICY, Comparison, Replicates
from artist.results.measures import SEEN, column_unit
from artist.results.names import VARIANT, listed, spoken

NEAR = 1.3  # a mean wait within 30 % of that met is explained
FAR = 2.0
_ALIKE = 0.8  # correlation of the queues by hour from which they rise and fall together
_MOST = 8  # rows or groups in a sentence
_MORE = "cluster.more=0,10"
ALL_CHANGED = "Unknown: every run here changes the site's machines. Run one with the machines as they were."
POOLS = {"partition": "partitions", "vc": "virtual clusters"}
KINDS = POOLS | {"gpus": "sizes of jobs"}
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of a comparison whose site's waits are known.

    Attributes
    ----------
    today
        The row that represents the site: of those with its machines, the one that explains the waits best.
        That is the one whose waits correlate best by job of those within 30 % of the mean wait, and the one
        nearest to the mean where none is within it. Of named variants, it is the first.
    rules
        Rows on the machines of `today`, itself included.
    variants
        The others, each with its changes to today in words.
    """

    today: Replicates
    rules: tuple[Replicates, ...]
    variants: tuple[tuple[str, Replicates], ...]


def held(comparison: Comparison, today: Replicates | None = None) -> Held | None:
    """Return the rows against their site; None without real starts, or if all change the site's machines.

    Parameters
    ----------
    today
        The row that represents the site, if the user names one.
    """
    rows = have_seen(comparison.groups)
    named = VARIANT in comparison.keys
    if today not in rows:
        as_it_was = [row for row in rows if _as_it_was(row)]
        today = min(as_it_was[: 1 if named else None], key=lambda row: _farness(seen_of(row)), default=None)
    if today is None:
        return None
    rows = [row for row in rows if _site_of(row) == _site_of(today)]  # not of other traces, or unfinished
    rules = tuple(row for row in rows if row is today or (not named and _cluster(row) == _cluster(today)))
    others = tuple((_changes(comparison, row, today), row) for row in rows if row not in rules)
    return Held(today, rules, others)


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
    """Return the answers to an operator's questions, and the distances of the rules that were tried."""
    rows = held(comparison)
    if rows is None:
        return [f"Can I believe it? {ALL_CHANGED}"] * bool(have_seen(comparison.groups))
    if not seen_of(rows.today)["jobs"]:
        return []
    notes = [f"Can I believe it? {believable(rows)}"]
    notes += [text for text in (tried(rows),) if text]
    return [*notes, f"What if? {what_if(rows)}"]


def believable(rows: Held) -> str:
    """Return the distance of the simulated waits from those met: in all, by group, and over time."""
    seen = seen_of(rows.today)
    if not seen["seen_mean_s"]:
        (simulated,) = _durations(seen["simulated_mean_s"])
        return f"No job waited on the site; in the simulation jobs wait {simulated} on average."
    met, simulated = _durations(seen["seen_mean_s"], seen["simulated_mean_s"])
    groups = [group for group in groups_of(seen) if group["seen_mean_s"]]
    near = sum(map(_is_near, groups))
    rule = f" ({rows.today.label})" if len(rows.rules) > 1 else ""
    sentences = [
        f"{_verdict(seen, near, len(groups))}{rule}: users waited {met} on average, and {simulated} in the "
        f"simulation, {_ratio(seen)} times as long ({_counted(seen['jobs'], 'job')}).",
        _by_group(rows, groups),
        _over_time(seen),
    ]
    pools = next((POOLS[group["by"]] for group in groups if group["by"] in POOLS), "")
    if pools and not _is_near(seen) and not _cluster(rows.today).get("partition_by"):
        sentences.append(f"Here all {pools} share their machines; cluster=partitions keeps them apart.")
    if seen["ran_not_placed"]:
        sentences.append(
            f"{_counted(seen['ran_not_placed'], 'job')} that ran when the trace begins found no GPUs at once."
        )
    return " ".join(filter(None, sentences))


def tried(rows: Held) -> str:
    """Return the rules on the site's machines by their distance from the waits met; empty for one."""
    others = [f"{row.label} {_ratio(seen_of(row))}" for row in rows.rules if row is not rows.today]
    if not others:
        return ""
    text = f"Mean waits of the other rules, times that met: {listed(others[:_MOST])}."
    return text + " No rule explains these waits." * (distance(seen_of(rows.today)) > log(FAR))


def what_if(rows: Held) -> str:
    """Return the mean wait of each variant beside today's; without any, the settings to run."""
    if not rows.variants:
        command = next_command(rows)
        then = f"`{command}`" if command else f"the same command with {_MORE}"
        return f"Not run yet; for 10 more machines: {then}"
    waits_s = [seen_of(row)["simulated_mean_s"] for row in (rows.today, *(row for _, row in rows.variants))]
    today, *others = (_beside(wait_s, waits_s[0]) for wait_s in waits_s)
    knows = " (which knows run times in advance)"
    names = [f"{name}{knows * row.knows_run_times}" for name, row in rows.variants]
    named = sorted(zip(waits_s[1:], others, names, strict=True))  # the best first
    texts = [f"{wait} with {name}" for _, wait, name in named][:_MOST]
    return f"Instead of {today} on average, jobs wait {listed(texts)}."


def next_command(rows: Held) -> str:
    """Return the command that runs today's row with more machines; empty if its run does not hold its own."""
    run = rows.today.runs[0].summary.get("run", {})
    overrides = run.get("overrides")
    return shlex.join(["artist", "-m", *overrides, _MORE]) if isinstance(overrides, list) else ""


def groups_of(record: Record) -> list[Record]:
    """Return the groups by pool, and those by size."""
    return [group for group in record["groups"] if group["jobs"]]


def group_name(group: Record) -> str:
    """Return a group in words: `vision`, `jobs of 2-7 GPUs`."""
    if group["by"] in POOLS:
        return str(group["value"]) or "none"
    return f"jobs of {group['value']} GPU{'s' * (group['value'] != '1')}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _cluster(row: Replicates) -> Mapping[str, Any]:
    return row.runs[0].config.get("cluster") or {}


def _site_of(row: Replicates) -> tuple[int, float | None]:
    return seen_of(row)["jobs"], seen_of(row)["seen_mean_s"]


def _as_it_was(row: Replicates) -> bool:
    cluster = _cluster(row)
    return not cluster.get("one_pool") and not cluster.get("more") and cluster.get("scale", 1) == 1


def _changes(comparison: Comparison, row: Replicates, today: Replicates) -> str:
    if VARIANT in comparison.keys:
        return row.label
    triples = zip(comparison.keys, row.shown, today.shown, strict=True)
    texts = [
        value if key == POLICY else spoken(key, [value])
        for key, value, now in triples
        if value not in ("", now)
    ]
    return ", ".join(texts) or row.label


def _verdict(seen: Record, near: int, of: int) -> str:
    queue = seen["queue_correlation"]
    alike = queue is None or queue >= _ALIKE
    if _is_near(seen) and alike and near >= of / 2:
        return "Yes" if near == of else "On the whole"
    return "In part" if distance(seen) <= log(FAR) else "No"


def _by_group(rows: Held, groups: Sequence[Record]) -> str:
    """Return the number of groups that the row explains by kind, and the groups that no rule explains."""
    counts = []
    for by, word in KINDS.items():
        of_kind = [group for group in groups if group["by"] == by]
        near, of = sum(map(_is_near, of_kind)), len(of_kind)
        part = ("both" if of == 2 else f"all {of}") if near == of else f"{near or 'none'} of {of}"
        counts += [f"{part} {word}"] * (of > 1)
    nearest = [_nearest(rows, group) for group in groups]
    far = [f"{group_name(group)} ({_ratio(group)} times)" for group in nearest if not _is_near(group)]
    more = [f"{len(far) - _MOST} others"] * (len(far) > _MOST)
    who = "no rule explains" if len(rows.rules) > 1 else "not for"
    none = f"; {who} {listed([*far[:_MOST], *more])}" if far else ""
    return f"The mean is within 30 % for {listed(counts)}{none}." if counts else ""


def _nearest(rows: Held, group: Record) -> Record:
    same = [
        other
        for row in rows.rules
        for other in groups_of(seen_of(row))
        if (other["by"], other["value"]) == (group["by"], group["value"])
    ]
    return min(same, key=distance)


def _over_time(seen: Record) -> str:
    queue, busy = seen["queue_correlation"], seen["busy_correlation"]
    if queue is None:
        return ""
    alike = "rises and falls as it did" if queue >= _ALIKE else "does not rise and fall as it did"
    gpus = "" if busy is None else f", that of busy GPUs {busy:.2f}"
    return f"The queue {alike}: its correlation by hour is {queue:.2f}{gpus}."


def _farness(seen: Record) -> tuple[bool, float]:
    """Return the key by which rows are sorted, the one that explains the waits best first."""
    if not _is_near(seen):
        return True, distance(seen)
    return False, -1.0 if seen["correlation"] is None else -seen["correlation"]


def _is_near(record: Record) -> bool:
    return distance(record) <= log(NEAR)


def _ratio(record: Record) -> str:
    return "-" if record["ratio"] is None else f"{record['ratio']:.2f}"


def _beside(seconds: float, other_s: float) -> str:
    """Return a time, in the unit of a longer one unless it is less than a tenth of it."""
    return _durations(other_s, seconds)[1] if other_s / 10 <= seconds < other_s else _durations(seconds)[0]


def _durations(*seconds: float) -> list[str]:
    """Return times in one unit, to three digits."""
    unit, scale = column_unit("time", seconds)
    values = [value * scale for value in seconds]
    texts = [f"{value:#.3g}".rstrip(".") if 0 < value < 1000 else f"{value:,.0f}" for value in values]
    return [f"{text} {unit if value else 's'}" for text, value in zip(texts, values, strict=True)]
