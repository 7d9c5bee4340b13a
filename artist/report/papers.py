"""Runs beside papers alone: the claims of all papers on one page, and figures with the paper's numbers."""

from collections.abc import Sequence

from artist.errors import InputError
from artist.report.claims.bars import Bar, bars_of, near_bars
from artist.report.claims.by_figure import by_figure
from artist.report.claims.evidence import Evidence
from artist.report.claims.judge import Judged, judge_each, summary
from artist.report.claims.schema import ClaimFile, PaperFigure, papers, read_claims
from artist.report.claims.table import claim_notes, claims_csv, claims_not_run, claims_table
from artist.report.figures.drawing import Drawing
from artist.report.figures.paper_bars import BarPanel, paper_drawing
from artist.report.images import all_drawn
from artist.report.page.page import TITLE, Section, report_page
from artist.report.words.notes import FOOTER, about
from artist.results.compare import Comparison
from artist.tables.grid import Grid, csv_text

Files = dict[str, bytes]
_HEADS = ("figure", "panel", "bar", "group", "paper", "ours", "low95", "high95", "seeds")


def papers_report(comparison: Comparison) -> tuple[str, Files]:
    """Return a line for each paper, and the files of a page with the claims of all."""
    names = papers()
    files, evidence = [read_claims(name) for name in names], _evidence(comparison)
    judged = [paper.where_run() for paper in judge_each(files, evidence)]
    ran = [(name, paper) for name, paper in zip(names, judged, strict=True) if paper.rows]
    lines = [
        (_title(paper.file), _summary(paper)) for paper in sorted(judged, key=lambda paper: not paper.rows)
    ]
    page = report_page(
        TITLE,
        f"{len(evidence)} runs, held against what {len(names)} papers claim.",
        about(comparison),
        [],
        lines,
        None,
        [(f"{_title(paper.file)}: claims that were not run", claims_not_run(paper)) for _, paper in ran],
        [
            Section(
                name,
                f"Claims of {paper.file.paper}",
                claims_table(paper, name),
                (*by_figure(paper), *claim_notes(paper)[len(paper.fabrics) :]),  # the counts are above
            )
            for name, paper in ran
        ],
        [],
        [],
        [],
        FOOTER,
    )
    text = "\n".join(f"{title}: {line}" for title, line in lines)
    return text, {
        "report.html": page.encode(),
        "claims.csv": claims_csv(*(paper for _, paper in ran)).encode(),
    }


def figures_report(
    comparison: Comparison, asked: Sequence[tuple[str, ClaimFile, PaperFigure]]
) -> tuple[str, Files]:
    """Return the numbers of figures as text, and the files of a page with the figures beside the papers'.

    Of several figures those are left out of which nothing was run.

    Raises
    ------
    InputError
        If nothing of any was run.
    """
    evidence = _evidence(comparison)
    every = [(name, file, figure, bars_of(figure, evidence)) for name, file, figure in asked]
    ran = [entry for entry in every if any(bar.seeds for panel in entry[3] for bar in panel)]
    if not ran:
        wanted = sorted({policy for _, _, figure in asked for policy in _policies(figure)})
        here = sorted({str(run.facts["policy"]) for run in evidence})
        raise InputError(
            "no run fits",
            where="--figure",
            found=f"runs of {', '.join(here)}",
            allowed=f"runs of {', '.join(wanted)}, as docs/experiments.md lists them",
        )
    rows = [
        row for _, file, figure, bars in ran for row in _rows(f"{_title(file)}, {figure.name}", figure, bars)
    ]
    drawn = all_drawn([paper_figure(*entry) for entry in ran], "")
    page = report_page(
        TITLE,
        "Figures of papers, and our runs beside them.",
        about(comparison),
        [],
        [],
        None,
        [],
        [],
        [figure for figure, _ in drawn],
        [],
        [],
        FOOTER,
    )
    shown = [tuple(map(_shown, row)) for row in rows if row[-1]]
    files = {"figures.html": page.encode(), "figures.csv": csv_text([_HEADS, *rows]).encode()}
    head, _, _, *lines = Grid(tuple((head, "", "") for head in _HEADS), tuple(shown), 4).text().splitlines()
    text = "\n".join([head, *lines, *(_near(figure, bars) for _, _, figure, bars in ran)])
    return text, files | {name: content for _, images in drawn for name, content in images.items()}


def paper_figure(name: str, file: ClaimFile, figure: PaperFigure, bars: Sequence[Sequence[Bar]]) -> Drawing:
    """Return the drawing of a figure, named after the paper's claims."""
    sentences = [f"{figure.says}. Bars: {file.paper}, {figure.read}.", *[figure.ours] * bool(figure.ours)]
    return paper_drawing(
        f"{name}_{figure.name.lower().removeprefix('fig. ').replace(' ', '_')}",
        f"{_title(file).removeprefix('The ')}, {figure.name}",
        " ".join([*sentences, _near(figure, bars)]),
        [
            BarPanel(
                f"{panel.says}{f' ({panel.unit})' * (panel.against is None and bool(panel.unit))}",
                panel.axis,
                tuple(panel.groups),
                tuple(panel.bars),
                tuple((bar.paper, bar.ours) for bar in of_panel),
            )
            for panel, of_panel in zip(figure.panels, bars, strict=True)
        ],
    )


def _near(figure: PaperFigure, bars: Sequence[Sequence[Bar]]) -> str:
    near, both = near_bars(bars)
    return f"{figure.name}: within 25 % of the paper's numbers lie {near} of our {both} means."


def _policies(figure: PaperFigure) -> list[str]:
    return [
        policy.name for panel in figure.panels for policy in (*panel.bars.values(), panel.against) if policy
    ]


def _evidence(comparison: Comparison) -> list[Evidence]:
    return [Evidence(run) for group in comparison.groups for run in group.runs]


def _title(file: ClaimFile) -> str:
    return file.paper[:1].upper() + file.paper[1:]


def _summary(paper: Judged) -> str:
    """Return the counts of a paper's claims, on each fabric where they were run on several."""
    of_one = f"{paper.fabrics[0]}: " if len(paper.fabrics) == 1 else ""
    lines = [line.removeprefix(paper.file.paper).lstrip(",: ") for line in summary(paper)]
    counts = [line.removeprefix(of_one) for line in lines]
    return " ".join(counts) or f"None of its {len(paper.file.claims)} claims was run."


def _rows(name: str, figure: PaperFigure, bars: Sequence[Sequence[Bar]]) -> list[tuple[object, ...]]:
    return [
        (name, panel.says, bar.name, bar.group, bar.paper, *bar.ours, bar.seeds)
        for panel, of_panel in zip(figure.panels, bars, strict=True)
        for bar in of_panel
    ]


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
