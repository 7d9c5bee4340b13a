"""The table of claims: as text, as CSV, and for the page. Pure but for reading jobs."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from artist.report.claims.evaluate import VERDICTS, Evidence, Result, evaluate
from artist.report.claims.schema import Claim, ClaimFile
from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.measures import Estimate
from artist.results.names import listed
from artist.results.run import Run
from artist.results.tables import Grid

_TOPOLOGY = "topology.name"
_CSV = (
    *("claim", "source", "paper_weakest", "paper_strongest", "topology", "at"),
    *("ours", "ours_low95", "ours_high95", "seeds", "verdict", "decisive"),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """The claims of a paper beside what runs say of them.

    Attributes
    ----------
    settings
        Name of each fabric that the runs were made on.
    results
        For each claim, one result a setting.
    """

    file: ClaimFile
    settings: tuple[str, ...]
    results: tuple[tuple[Result, ...], ...]


def judge(file: ClaimFile, runs: Sequence[Run]) -> Judged:
    """Hold the claims against the runs, fabric by fabric."""
    by_setting: dict[str, list[Evidence]] = {}
    for run in runs:
        evidence = Evidence(run)
        by_setting.setdefault(evidence.facts.get(_TOPOLOGY, ""), []).append(evidence)
    settings = tuple(sorted(by_setting))
    results = tuple(tuple(evaluate(claim, by_setting[name]) for name in settings) for claim in file.claims)
    return Judged(file, settings, results)


def claims_grid(judged: Judged) -> Grid:
    """Return the table as aligned text."""
    heads = [("", "claim", ""), ("", "source", ""), ("", "paper", "")]
    for name in judged.settings:
        heads += [("", "ours", name), ("", "verdict", "")]
    rows = [
        (row[0].claim.says, row[0].claim.source, paper_text(row[0].claim), *_cells(row))
        for row in judged.results
    ]
    return Grid(tuple(heads), tuple(rows), len(heads), _summary(judged))


def claims_csv(judged: Judged) -> str:
    """Return the table as CSV, in fractions: a row for each claim and fabric, and for each swept value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    for row in judged.results:
        for setting, each in zip(judged.settings, row, strict=True):
            paper = each.claim.paper if isinstance(each.claim.paper, tuple) else (each.claim.paper,) * 2
            for place in each.places:
                ours = ["" if part is None else repr(part) for part in place.ours]
                lead = [each.claim.says, each.claim.source, *paper, setting, place.at]
                writer.writerow([*lead, *ours, place.seeds, place.verdict, int(place is each.decisive)])
    return text.getvalue()


def claims_table(judged: Judged) -> DataTable:
    """Return the table for the page."""
    columns = [
        Column("claim", "claim", word=True),
        Column("source", "source", word=True),
        Column("paper", "paper"),
    ]
    for number, name in enumerate(judged.settings):
        columns += [Column(f"ours{number}", f"ours {name}"), Column(f"verdict{number}", "verdict", word=True)]
    rows = []
    for row in judged.results:
        claim = row[0].claim
        cells = [
            Cell(claim.says, claim.says),
            Cell(claim.source, claim.source),
            Cell(paper_text(claim), None),
        ]
        for each in row:
            cells += [Cell(ours_text(each), each.decisive.ours.mean), Cell(each.verdict, each.verdict)]
        rows.append(tuple(cells))
    texts = tuple(" ".join(cell.text for cell in row).lower() for row in rows)
    return DataTable("claims", tuple(columns), tuple(rows), texts)


def claim_notes(judged: Judged) -> tuple[str, ...]:
    """Return the sentences below the table."""
    said = {each.verdict for row in judged.results for each in row}
    within = " or ".join(f"{100 * w:.0f} %" for w in sorted({r[0].claim.within for r in judged.results}))
    legend = "; ".join(f"{name}: {words}" for name, words in VERDICTS.items() if name in said)
    counts = {each.decisive.seeds for row in judged.results for each in row if each.claim.others}
    seeds = listed([str(count) for count in sorted(counts) if count]) or "none"
    how = (
        "Ours: mean over seeds of the change, taken seed by seed, and its 95 % bootstrap interval; in "
        "brackets the mean at each value that was swept over. A claim about the best of them is judged where "
        "the mean is best, one about each where the verdict is worst. "
        f"Verdicts: {legend.format(within=within)}."
    )
    few = (
        f"Seeds: {seeds}. From fewer than five a verdict may be chance, and from one there is no interval; "
        "seeds that change nothing, as where jobs come from a file, are one."
    )
    return _summary(judged), how, few, *judged.file.notes


def paper_text(claim: Claim) -> str:
    """Return what the paper says: a change in per cent, or a number."""
    if isinstance(claim.paper, str):
        return claim.paper
    if not claim.others:
        assert isinstance(claim.paper, float)
        return f"{100 * claim.paper:.0f} %"
    ends = claim.paper if isinstance(claim.paper, tuple) else (claim.paper,)
    return " to ".join(f"{100 * end:+.0f}" for end in ends) + " %"


def ours_text(result: Result) -> str:
    """Return our change or number, with its interval, and what it is at each value that was swept over."""
    signed = bool(result.claim.others)
    places = ", ".join(f"{each.at}: {_number(each.ours.mean, signed=signed)}" for each in result.places)
    told = f" ({places})" if result.claim.along and any(each.seeds for each in result.places) else ""
    if result.decisive.ours.mean is None:
        return f"-{told}"
    at = f"at {result.decisive.at}: " if result.claim.along else ""
    return f"{at}{_with_interval(result.decisive.ours, signed=signed)}{told}"


def _with_interval(ours: Estimate, *, signed: bool) -> str:
    text, low, high = (_number(part, signed=signed) for part in ours)
    return f"{text} %" if low == high else f"{text} % [{low}, {high}]"


def _number(part: float | None, *, signed: bool) -> str:
    if part is None:
        return "-"
    size = abs(100 * part)
    digits = 0 if size >= 9.95 else 1
    return f"{100 * part:+.{digits}f}" if signed else f"{100 * part:.{digits}f}"


def _cells(row: Sequence[Result]) -> list[str]:
    return [text for each in row for text in (ours_text(each), each.verdict)]


def _summary(judged: Judged) -> str:
    """Return how many claims have which verdict."""
    said = []
    for number, name in enumerate(judged.settings):
        counts = Counter(row[number].verdict for row in judged.results)
        words = listed([f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]])
        said.append(f"{name}: {words}" if name else words)
    return f"Of {len(judged.results)} claims of {judged.file.paper}. " + "; ".join(said) + "."
