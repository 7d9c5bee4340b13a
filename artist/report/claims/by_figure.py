"""Claims that were run, counted by the figure or table of the paper that makes them."""

import re
from collections.abc import Sequence

from artist.report.claims.evaluate import Result
from artist.report.claims.judge import Judged
from artist.report.claims.table import change_text, paper_text
from artist.report.claims.verdict import HOLDS

_FIGURE = re.compile(r"(Fig\.|Table) ?(\d+|[IVX]+)")


def by_figure(judged: Judged) -> tuple[str, ...]:
    """Return a sentence for each figure and table of which claims were run, in the order of their numbers."""
    sentences = []
    for fabric in judged.fabrics:
        by_place: dict[tuple[str, str], list[Result]] = {}
        for row in judged.rows:
            if row.fabric == fabric and row.was_run:
                for place in dict.fromkeys(_FIGURE.findall("; ".join(row.result.claim.source))):
                    by_place.setdefault(place, []).append(row.result)
        lead = f"{fabric}, " if len(judged.fabrics) > 1 else ""
        for kind, number in sorted(by_place, key=_in_order):
            near, bars = judged.near.get((fabric, f"{kind} {number}"), (0, 0))
            drawn = f"; {near} of {bars} bars within 25 % of the paper's" * bool(bars)
            sentences.append(f"{lead}{kind} {number}: {_of_figure(by_place[kind, number])}{drawn}.")
    return tuple(sentences)


def _in_order(place: tuple[str, str]) -> tuple[str, int, str]:
    kind, number = place
    return kind, int(number) if number.isdigit() else 0, number


def _of_figure(results: Sequence[Result]) -> str:
    """Return the number of claims that hold, and the first mean that has a number in the paper."""
    changes = [result.verdict in HOLDS for result in results if result.claim.against]
    numbers = [result.verdict in HOLDS for result in results if not result.claim.against]
    clauses = [f"{sum(changes)} of {len(changes)} shown"] * bool(changes)
    clauses += [f"{sum(numbers)} of {len(numbers)} number{'s' * (len(numbers) > 1)} near"] * bool(numbers)
    for result in results:
        if result.claim.weakest is not None and result.decisive.ours.mean is not None:
            says = result.claim.says
            head = says[0].lower() if says[1:2].islower() else says[0]
            ours = change_text(result.claim, result.decisive.ours.mean)
            return ", ".join([*clauses, f"{head}{says[1:]} {ours} for {paper_text(result.claim)}"])
    return ", ".join(clauses)
