"""The table of claims: as text, as CSV, and for the page. Pure but for reading jobs."""

from collections.abc import Mapping, Sequence

from artist.report.claims.evaluate import Place, Result
from artist.report.claims.judge import Judged, Row, summary
from artist.report.claims.schema import COUNTS, Claim, Where
from artist.report.claims.verdict import VERDICTS, in_words
from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.measures import BY_NAME, Estimate
from artist.tables.grid import Grid, csv_text

_CSV = (
    "paper", "claim", "source", "settings", "metric", "paper_weakest", "paper_strongest", "topology",
    "reading", "at", "ours", "ours_low95", "ours_high95", "seeds", "queueing_mean_s",
    "queueing_mean_of_others_s", "verdict", "near_paper", "one_trace", "decisive",
)  # fmt: skip
_HOUR_S = 3600.0


def claims_text(judged: Judged) -> str:
    """Return the tables as aligned lines, one per fabric, with details below the line of a claim."""
    return "\n".join(_fabric_text(judged, fabric) for fabric in judged.fabrics)


def claims_csv(*papers: Judged) -> str:
    """Return all places as CSV, in fractions: a row for each claim, fabric, reading, metric, swept value."""
    lines: list[Sequence[object]] = [_CSV]
    for judged in papers:
        lines += _csv_lines(judged)
    return csv_text(lines)


def _csv_lines(judged: Judged) -> list[Sequence[object]]:
    lines: list[Sequence[object]] = []
    first, *others = tuple(judged.file.readings) or ("",)
    for row in judged.rows:
        changed = zip(others, row.readings, strict=True)
        read = [(name, result) for name, result in changed if result.claim != row.result.claim]
        for reading, result in [(first, row.result), *((first, metric) for metric in row.metrics), *read]:
            for place in result.places:
                lines.append([judged.file.paper, *_csv_cells(row.fabric, reading, result, place)])
    return lines


def claims_not_run(judged: Judged) -> list[tuple[str, str]]:
    """Return the claims without runs, with the missing policies."""
    several = len(judged.fabrics) > 1
    return [
        (
            f"{row.fabric}: " * several + row.result.claim.says,
            f"{'; '.join(row.result.claim.source)}; no run of {', '.join(row.result.decisive.missing)} fits",
        )
        for row in judged.rows
        if not row.was_run
    ]


def claims_table(judged: Judged, name: str = "claims") -> DataTable:
    """Return the table for the page, of the claims that were run."""
    readings, several = judged.readings, len(judged.fabrics) > 1
    columns = [
        *[Column("fabric", "fabric", word=True)] * several,
        Column("claim", "claim", word=True),
        Column("source", "in the paper", word=True, more=True),
        Column("settings", "settings", word=True, more=True),
        Column("paper", "paper"),
        Column("ours", "ours"),
        Column("places", "where swept", word=True, more=True),
        Column("seeds", "seeds"),
        Column("queueing", "mean queueing", "h"),
        Column("verdict", "verdict", word=True),
        Column("near", "the paper's number", word=True),
        *[Column("metrics", "other metrics", word=True)] * any(row.metrics for row in judged.rows),
        *(Column(f"reading{at}", f"read as {name}", word=True) for name, at in readings.items()),
    ]
    rows = tuple(_cells(row, columns, readings) for row in judged.rows if row.was_run)
    texts = tuple(" ".join(cell.text for cell in row).lower() for row in rows)
    return DataTable(name, tuple(columns), rows, texts)


def claim_notes(judged: Judged) -> tuple[str, ...]:
    """Return the sentences below the table."""
    results = [result for row in judged.rows for result in (row.result, *row.readings, *row.metrics)]
    verdicts = {result.verdict for result in results}
    within = ", ".join(f"{100 * share:.0f}" for share in sorted({result.claim.within for result in results}))
    legend = "; ".join(f"{name}: {words}" for name, words in VERDICTS.items() if name in verdicts)
    how = (
        "Ours: the change, taken seed by seed, mean and 95 % interval (Student's t; where the best of k is "
        "picked, one of k that hold together, after Bonferroni). Queueing: the mean of ours and of what it "
        "is compared with. A claim about the best of several values is judged where the mean is best, one "
        "about each of them where the verdict is worst, with the number of values at which it holds. The "
        "paper's number: our mean is within 25 % of it (of both ends of a range), or in its range; else it "
        "is reached, beyond twice it, or short of it. "
        f"Verdicts: {legend.format(within=f'{within} %')}. One trace: nothing is random, so the number "
        "decides; jobs come from a file, and runs of two seeds or more are equal."
    )
    first = next(iter(judged.file.readings), "")
    hangs = (
        f"Where the paper's text may be read in several ways, {first} decides; * marks a claim whose verdict "
        "hangs on the reading."
    )
    return *summary(judged), how, *[hangs] * bool(judged.readings), *judged.file.notes


def paper_text(claim: Claim) -> str:
    """Return the paper's number: a change in per cent, or a value."""
    if isinstance(claim.paper, str):
        return claim.paper
    if not claim.against:
        return change_text(claim, claim.weakest)
    ends = claim.paper if isinstance(claim.paper, tuple) else (claim.paper,)
    return " to ".join(f"{100 * end:+.0f}" for end in ends) + " %"


def ours_text(result: Result) -> str:
    """Return our change or number, with its interval, and where it is."""
    ours = result.decisive.ours
    if ours.mean is None:
        return "-"
    return f"{_with_interval(result.claim, ours)}{_at(result)}"


_LEGEND = (
    "n: seeds; queue h: mean queueing of ours, then of each that it is compared with; near: our mean beside "
    "the paper's number, beyond if over twice it. The page explains the verdicts."
)


def _fabric_text(judged: Judged, fabric: str) -> str:
    rows = [row for row in judged.rows if row.fabric == fabric and row.was_run]
    absent = [row for row in judged.rows if row.fabric == fabric and not row.was_run]
    missing = dict.fromkeys(name for row in absent for name in row.result.decisive.missing)
    heads = ("claim", "paper", "ours", "n", "queue h", "verdict", "near")
    lines = [
        (
            row.result.claim.says,
            paper_text(row.result.claim),
            ours_text(row.result),
            str(row.result.decisive.seeds),
            _queueing(row.result.decisive),
            _whole_verdict(row),
            row.result.decisive.near,
        )
        for row in rows
    ]
    head, _, _, *body = Grid(tuple((head, "", "") for head in heads), tuple(lines), 7).text().split("\n")
    lines_shown = [
        line for row, text in zip(rows, body, strict=True) for line in (text, *_details(row, judged))
    ]
    folded = [f"not run: {len(absent)} claims, for which no run of {', '.join(missing)} fits"] * bool(absent)
    return "\n".join([head, *lines_shown, *folded, _LEGEND, summary(judged)[judged.fabrics.index(fabric)]])


def _details(row: Row, judged: Judged) -> list[str]:
    """Return the details below a line: swept values, other metrics, other readings."""
    parts = [_places(row.result)] * (len(row.result.places) > 1)
    parts += [f"{_metric(metric)}: {_short(metric)}" for metric in row.metrics]
    for name, at in judged.readings.items():
        if row.readings[at].claim != row.result.claim:
            parts.append(f"{name}: {_short(row.readings[at])}")
    return [f"    {'; '.join(parts)}"] if parts else []


def _cells(row: Row, columns: Sequence[Column], readings: Mapping[str, int]) -> tuple[Cell, ...]:
    result, claim, decisive = row.result, row.result.claim, row.result.decisive
    words = {
        "fabric": row.fabric,
        "claim": claim.says,
        "source": "; ".join(claim.source),
        "settings": _settings(claim),
        "places": _places(result),
        "verdict": _whole_verdict(row),
        "near": decisive.near,
        "metrics": "; ".join(f"{_metric(metric)}: {_short(metric)}" for metric in row.metrics),
    }
    for at in readings.values():
        words[f"reading{at}"] = _short(row.readings[at]) if row.readings[at].claim != claim else ""
    cells = {name: Cell(text, text) for name, text in words.items()} | {
        "paper": Cell(paper_text(claim), claim.weakest),
        "ours": Cell(ours_text(result), decisive.ours.mean),
        "seeds": Cell(str(decisive.seeds), decisive.seeds),
        "queueing": Cell(_queueing(decisive), decisive.queueing_s[0] if decisive.queueing_s else None),
    }
    return tuple(cells[column.name] for column in columns)


def _csv_cells(fabric: str, reading: str, result: Result, place: Place) -> list[object]:
    claim = result.claim
    paper = claim.paper if isinstance(claim.paper, tuple) else (claim.paper,) * 2
    mine, *rest = place.queueing_s or ("",)
    return [
        *(claim.says, "; ".join(claim.source), _settings(claim), claim.metric[0], *paper, fabric, reading),
        *(place.at, *("" if part is None else repr(part) for part in place.ours), place.seeds),
        *(mine, " ".join(map(str, rest)), place.verdict, place.near),
        *(int(place.one_trace), int(place is result.decisive)),
    ]


def _settings(claim: Claim) -> str:
    """Return the runs that a claim is about."""
    clauses = [f"{claim.policy.name}{_where(claim.policy.where)}"] if claim.policy else []
    if claim.against:
        clauses.append(
            "against " + " and ".join(f"{policy.name}{_where(policy.where)}" for policy in claim.against)
        )
    if claim.where:
        clauses.append(_pairs(claim.where))
    if claim.against_where:
        clauses.append(f"against {_pairs(claim.against_where)}")
    if claim.than_where:
        clauses.append(f"compared with {_pairs(claim.than_where)}")
    if claim.along:
        clauses.append(f"{claim.take} of {claim.along}={','.join(map(str, claim.values))}")
    return "; ".join(clauses)


def _where(where: Where) -> str:
    return f" ({_pairs(where)})" if where else ""


def _pairs(where: Where) -> str:
    """Return settings as texts; none is `-`."""
    texts = {k: v if isinstance(v, tuple) else (v,) for k, v in where.items()}
    return " ".join(f"{key}={','.join(str(v) or '-' for v in values)}" for key, values in texts.items())


def _short(result: Result) -> str:
    """Return verdict and mean."""
    mean, verdict = result.decisive.ours.mean, in_words(result.claim, result.verdict)
    if mean is None:
        return verdict
    return f"{verdict} ({change_text(result.claim, mean)}{_at(result)})"


def _at(result: Result) -> str:
    return f" at {result.decisive.at}" if result.claim.along else ""


def _places(result: Result) -> str:
    """Return the mean at each value that was swept over."""
    if not result.claim.along:
        return ""
    signed = bool(result.claim.against)
    return ", ".join(f"{place.at}: {_number(place.ours.mean, signed=signed)}" for place in result.places)


def _metric(result: Result) -> str:
    """Return the heading of a metric's column, or its name if it has none."""
    name = result.claim.metric[0]
    return " ".join(filter(None, BY_NAME[name].title)) if name in BY_NAME else name


def _whole_verdict(row: Row) -> str:
    """Return the verdict, whether it is of one trace, at how many values it holds, and * if it hangs."""
    claim, decisive = row.result.claim, row.result.decisive
    words = [
        in_words(claim, decisive.verdict),
        *["one trace"] * decisive.one_trace,
        *filter(None, [row.result.holds]),
    ]
    return ", ".join(words) + " *" * row.hangs


def _queueing(place: Place) -> str:
    """Return mean queueing in hours: whose number it is, and the others."""
    hours = [f"{seconds / _HOUR_S:.{0 if seconds >= 10 * _HOUR_S else 2}f}" for seconds in place.queueing_s]
    return ", ".join(hours)


def _with_interval(claim: Claim, ours: Estimate) -> str:
    text = change_text(claim, ours.mean)
    if not claim.against or ours.low is None:
        return text
    return f"{text} [{_number(ours.low, signed=True)}, {_number(ours.high, signed=True)}]"


def change_text(claim: Claim, value: float | None) -> str:
    """Return a number or a change in per cent; counts as they are."""
    if claim.metric[0] in COUNTS and value is not None:
        return f"{value:.1f}" if value < 10 else f"{value:.0f}"
    return f"{_number(value, signed=bool(claim.against))} %"


def _number(part: float | None, *, signed: bool) -> str:
    if part is None:
        return "-"
    digits = 0 if abs(100 * part) >= 9.95 else 1
    return f"{100 * part:+.{digits}f}" if signed else f"{100 * part:.{digits}f}"
