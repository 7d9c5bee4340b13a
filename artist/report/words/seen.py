"""The answers at the top of a page whose runs are held against a site, and the table below them. Pure."""

from artist.report.words.wording import duration, few, longer, per_cent
from artist.results.compare import Replicates
from artist.results.names import listed
from artist.results.seen import (
    KINDS,
    POOLS,
    Held,
    Record,
    believable,
    group_name,
    groups_of,
    seen_of,
    what_if,
)

_HEADS = (
    "",
    "mean wait",
    "90 % wait up to",
    "wait over 10 min",
    "mean against today",
    "who waits less or longer",
)
_MOST = 8  # rows
_CHANGE, _LEAST_S = 1.1, 1.0  # of a group's mean wait, from which it gains or loses
_NOTE = (
    "Today is the run on the site's machines with the waits most like those that users met. Its mean wait "
    "is {error} off that of users: take smaller differences between runs as none. There are no intervals, "
    "since the jobs happened once."
)
_Line = tuple[str, ...]


def seen_answers(rows: Held) -> list[tuple[str, str]]:
    """Return the questions of an operator, and their answers."""
    return [("Can I believe it?", believable(rows)), ("What if?", what_if(rows))]


def seen_glance(rows: Held) -> tuple[_Line, list[_Line]]:
    """Return the table: users, today's run, variants and the other rules, with those who gain and lose."""
    today = seen_of(rows.today)
    others = [(row.label, row) for row in rows.rules if row is not rows.today]
    now = ": ".join(dict.fromkeys(("today", rows.today.label)))
    resized = any(_gpus(row) != _gpus(rows.today) for _, row in rows.variants)
    size = f" ({_gpus(rows.today)})" * resized
    lines: list[_Line] = [
        ("met by users", *_waits(today["queueing_s"], today), "", ""),
        (f"{now}{size}", *_waits(today["simulated_s"], today), "", ""),
    ]
    lines += [_line(name, row, rows) for name, row in (*rows.variants, *others)[:_MOST]]
    return _HEADS, lines


def seen_note(rows: Held) -> str:
    """Return the sentence below the table."""
    ratio = seen_of(rows.today)["ratio"]
    return _NOTE.format(error="unknown" if ratio is None else per_cent(abs(ratio - 1)))


def _line(name: str, row: Replicates, rows: Held) -> _Line:
    """Return a row against today's, with the GPUs of a cluster of another size in its name."""
    seen, today = seen_of(row), seen_of(rows.today)
    gpus = f" ({_gpus(row)})" * (_gpus(row) != _gpus(rows.today))
    waits = _waits(seen["simulated_s"], today)
    return f"{name}{gpus}", *waits, _against(seen, today), _gains(seen, today)


def _gpus(row: Replicates) -> str:
    cluster = row.runs[0].summary.get("setting", {}).get("Cluster", {})
    return str(cluster.get("GPUs", "")).removesuffix(" in all")


def _waits(waits_s: Record, today: Record) -> list[str]:
    if waits_s["mean"] is None:
        return ["-", "-", "-"]
    beside = [today["simulated_s"][name] or 0.0 for name in ("mean", "p90")]
    mean, most = (duration(waits_s[name], now) for name, now in zip(("mean", "p90"), beside, strict=True))
    return [mean, most, per_cent(waits_s["over_10min"])]


def _against(seen: Record, today: Record) -> str:
    mean_s, now_s = seen["simulated_mean_s"], today["simulated_mean_s"]
    if not now_s:
        return "-"
    change = mean_s / now_s - 1
    return f"{per_cent(-change)} shorter" if change <= 0 else longer([change])


def _gains(seen: Record, today: Record) -> str:
    """Return the pools, or else the sizes of jobs, that wait clearly less or longer than today."""
    of_pools = [group for group in groups_of(seen) if group["by"] in POOLS]
    now_s = {(group["by"], group["value"]): group["simulated_mean_s"] for group in groups_of(today)}
    less, longer = [], []
    groups = of_pools or groups_of(seen)
    for group in groups:
        before_s, after_s = now_s.get((group["by"], group["value"])), group["simulated_mean_s"]
        if before_s is None or abs(after_s - before_s) < _LEAST_S:
            continue
        less += [group_name(group)] * (after_s * _CHANGE < before_s)
        longer += [group_name(group)] * (after_s > before_s * _CHANGE)
    count = "both" if len(groups) == 2 else f"all {len(groups)}"
    every = f"{count} {KINDS[groups[0]['by']]}" if groups else ""
    texts = [
        f"{word}: {every if 1 < len(names) == len(groups) else listed(few(names))}"
        for word, names in (("less", less), ("longer", longer))
        if names
    ]
    return "; ".join(texts) or "as today"
