"""All claims of a paper held against runs: fabric by fabric, and under each reading of the paper."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from artist.errors import InputError
from artist.report.claims.bars import bars_of, near_bars
from artist.report.claims.evaluate import Result, evaluate
from artist.report.claims.evidence import Evidence
from artist.report.claims.schema import ClaimFile, PaperFigure
from artist.report.claims.verdict import BEYOND, IN_RANGE, NOT_RUN, SHOWN, VERDICTS, WITHIN
from artist.results.names import listed
from artist.results.run import Run

_TOPOLOGY, _NETWORK = "topology.name", ("network.profiles", "network.system.preset")


@dataclass(frozen=True, slots=True)
class Row:
    """A claim on one fabric.

    Attributes
    ----------
    fabric
        Name of the topology.
    result
        Under the reading and by the metric that decide.
    readings
        Under each other reading of the paper, in the order of the file.
    metrics
        By each other metric that the paper's words allow.
    """

    fabric: str
    result: Result
    readings: tuple[Result, ...]
    metrics: tuple[Result, ...]

    @property
    def was_run(self) -> bool:
        """Return whether there are runs of it."""
        return self.result.verdict != NOT_RUN

    @property
    def hangs(self) -> bool:
        """Return whether the verdict is another one under some reading that was run."""
        return len({reading.verdict for reading in (self.result, *self.readings)} - {NOT_RUN}) > 1


@dataclass(frozen=True, slots=True)
class Judged:
    """The claims of a paper beside their evaluation by runs.

    Attributes
    ----------
    fabrics
        Name of each fabric that the runs were made on.
    rows
        Claim by claim, a row for each fabric.
    near
        By fabric and figure, how many bars of ours lie within 25 % of the paper's, and of how many.
    """

    file: ClaimFile
    fabrics: tuple[str, ...]
    rows: tuple[Row, ...]
    near: Mapping[tuple[str, str], tuple[int, int]]

    @property
    def readings(self) -> dict[str, int]:
        """Return the readings that were run beside the one that decides, with their place in a row."""
        others = enumerate(tuple(self.file.readings)[1:])
        return {
            name: at
            for at, name in others
            if any(
                row.readings[at].claim != row.result.claim and row.readings[at].verdict != NOT_RUN
                for row in self.rows
            )
        }

    def where_run(self) -> "Judged":
        """Return it on the fabrics on which some claim was run."""
        fabrics = tuple(sorted({row.fabric for row in self.rows if row.was_run}))
        return replace(self, fabrics=fabrics, rows=tuple(row for row in self.rows if row.fabric in fabrics))


def judge(file: ClaimFile, runs: Sequence[Run]) -> Judged:
    """Hold the claims against the runs."""
    return judge_each([file], [Evidence(run) for run in runs])[0]


def judge_each(papers: Sequence[ClaimFile], evidence: Sequence[Evidence]) -> tuple[Judged, ...]:
    """Hold the claims of several papers against the same runs, each of which is read once."""
    by_fabric = _by_fabric(evidence)
    return tuple(_judged(file, by_fabric) for file in papers)


def _judged(file: ClaimFile, by_fabric: Mapping[str, Sequence[Evidence]]) -> Judged:
    first, *others = tuple(file.readings.values()) or ({},)
    rows = []
    for claim in file.claims:
        decides = claim.under(first)
        for fabric in sorted(by_fabric):
            evidence = by_fabric[fabric]
            result = evaluate(decides, evidence)
            read = [claim.under(reading) for reading in others]
            readings = tuple(
                result if reading == decides else evaluate(reading, evidence) for reading in read
            )
            metrics = tuple(evaluate(decides.by(metric), evidence) for metric in claim.metric[1:])
            rows.append(Row(fabric, result, readings, metrics))
    near = {
        (fabric, figure.name): _near(figure, evidence)
        for fabric, evidence in by_fabric.items()
        for figure in file.figures
    }
    return Judged(file, tuple(sorted(by_fabric)), tuple(rows), near)


def _near(figure: PaperFigure, evidence: Sequence[Evidence]) -> tuple[int, int]:
    """Return the number of near bars and of all; none where runs of several studies fit one bar."""
    try:
        return near_bars(bars_of(figure, evidence))
    except InputError:
        return 0, 0


def summary(judged: Judged) -> tuple[str, ...]:
    """Return the numbers of claims by verdict, and of those shown under each reading, a line per fabric."""
    return tuple(_of_fabric(judged, fabric) for fabric in judged.fabrics)


def _by_fabric(evidence: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    """Return the runs by topology, and by profiles and preset where those of a topology used several."""
    names = [tuple(run.facts.get(key, "") for key in (_TOPOLOGY, *_NETWORK)) for run in evidence]
    values: dict[str, set[tuple[int, str]]] = {}
    for topology, *settings in names:
        values.setdefault(topology, set()).update(enumerate(settings))
    by_fabric: dict[str, list[Evidence]] = {}
    for run, (topology, *settings) in zip(evidence, names, strict=True):
        several = Counter(at for at, _ in values[topology])
        varied = [value for at, value in enumerate(settings) if several[at] > 1]
        by_fabric.setdefault(", ".join([topology, *varied]), []).append(run)
    return by_fabric


def _of_fabric(judged: Judged, fabric: str) -> str:
    rows = [row for row in judged.rows if row.fabric == fabric]
    changes = [row for row in rows if row.result.claim.against]
    clauses = [
        f"of {len(changes)} claim{'s' * (len(changes) != 1)} {_counted([row.result for row in changes])}"
    ]
    numbers = [row.result for row in rows if not row.result.claim.against]
    if numbers:
        clauses.append(f"of {len(numbers)} number{'s' * (len(numbers) > 1)} {_counted(numbers)}")
    first = next(iter(judged.file.readings), "")
    for name, at in judged.readings.items():
        shown = sum(row.readings[at].verdict == SHOWN for row in changes)
        clauses.append(f"read as {name} instead of {first}, {shown} shown")
    if judged.readings:
        clauses.append(f"verdicts that hang on the reading: {sum(row.hangs for row in rows)}")
    lead = f"{judged.file.paper}, {fabric}" if fabric else judged.file.paper
    return f"{lead}: {'; '.join(clauses)}."


def _counted(results: Sequence[Result]) -> str:
    counts = Counter(result.verdict for result in results)
    traces = sum(result.verdict == SHOWN and result.decisive.one_trace for result in results)
    words = []
    for verdict in VERDICTS:
        alone = f" ({traces} on one trace)" if verdict == SHOWN and traces else ""
        if counts[verdict]:
            words.append(f"{counts[verdict]} {verdict}{alone}")
    near = Counter(result.decisive.near for result in results)
    numbers = sum(r.claim.weakest is not None and r.decisive.ours.mean is not None for r in results)
    beside = [f"{near[WITHIN]} of {numbers} within 25 % of the paper's number"] * bool(numbers)
    beside += [f"{near[IN_RANGE]} in its range"] * bool(near[IN_RANGE])
    beside += [f"{near[BEYOND]} beyond twice it"] * bool(near[BEYOND])
    return ", ".join([listed(words), *beside])
