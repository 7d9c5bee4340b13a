"""The numbers of a paper's figure beside those of our runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artist.errors import InputError
from artist.report.claims.evidence import Evidence, fits, is_of, several
from artist.report.claims.schema import ClaimFile, Panel, PaperFigure, Where, Who, papers, read_claims
from artist.report.claims.verdict import is_within
from artist.results.measures import Estimate, estimated
from netmodels.inputs.naming import allowed_names

ALL = "all"
_SCALE = {"%": 100.0, "h": 1 / 3600, "s": 1.0, "": 1.0}


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar or point of a panel, in the panel's unit.

    Attributes
    ----------
    name, group
        As in the paper.
    paper
        Its number; None if the paper gives none.
    ours
        Mean over seeds, with its 95 % interval; empty if it was not run.
    """

    name: str
    group: str
    paper: float | None
    ours: Estimate
    seeds: int


def figures_asked(text: str) -> list[tuple[str, ClaimFile, PaperFigure]]:
    """Return the figures that a text such as `muri 9`, `muri table 4`, `muri` or `all` names.

    Raises
    ------
    InputError
        If there is no such paper or figure.
    """
    paper, _, figure = text.strip().partition(" ")
    names = papers() if paper == ALL else [paper]
    known = [(name, file, entry) for name in names for file in (read_claims(name),) for entry in file.figures]
    wanted = _plain(figure)
    asked = [entry for entry in known if not wanted or _plain(entry[2].name) == wanted]
    if not asked:
        listed = [f"{name} {_plain(entry.name)}" for name, _, entry in known]
        raise InputError(
            "no such figure", where="--figure", found=text, allowed=f"{allowed_names(text, listed)}, or all"
        )
    return asked


def _plain(figure: str) -> str:
    """Return `9` for `Fig. 9`, and `table 4` for `Table 4`."""
    return figure.lower().replace("figure", "").replace("fig", "").replace(".", "").strip()


def bars_of(figure: PaperFigure, evidence: Sequence[Evidence]) -> tuple[tuple[Bar, ...], ...]:
    """Return the bars of each panel.

    A ratio is taken seed by seed, over the seeds that both policies have.

    Raises
    ------
    InputError
        If two runs with different numbers fit one bar.
    """
    return tuple(tuple(_bars(figure, panel, evidence)) for panel in figure.panels)


def near_bars(bars: Sequence[Sequence[Bar]]) -> tuple[int, int]:
    """Return the number of means of ours within 25 % of the paper's, and the number of bars of both."""
    pairs = [
        (bar.ours.mean, bar.paper)
        for panel in bars
        for bar in panel
        if bar.ours.mean is not None and bar.paper is not None
    ]
    return sum(is_within(*pair) for pair in pairs), len(pairs)


def _bars(figure: PaperFigure, panel: Panel, evidence: Sequence[Evidence]) -> list[Bar]:
    bars = []
    for at, (group, where) in enumerate(panel.groups.items()):
        base = _by_seed(figure, panel, panel.against, where and (panel.against_where or where), evidence)
        for name, policy in panel.bars.items():
            mine = _by_seed(figure, panel, policy, where, evidence)
            if panel.against is None:
                values = [value * _SCALE[panel.unit] for value in mine.values()]
            else:
                pairs = [(mine[seed], base[seed]) for seed in mine.keys() & base.keys()]
                pairs = [
                    (other, value) if panel.unit == "speedup" else (value, other) for value, other in pairs
                ]
                values = [above / below for above, below in pairs if below]
            ours = estimated(sorted(values)) if values else Estimate()
            bars.append(Bar(name, group, panel.paper[name][at], ours, len(values)))
    return bars


def _by_seed(
    figure: PaperFigure, panel: Panel, policy: Who | None, where: Where | None, evidence: Sequence[Evidence]
) -> Mapping[int, float]:
    """Return the metric by seed, of the runs of a policy in a group whose jobs all finished."""
    known: dict[int, tuple[float, Evidence]] = {}
    for run in evidence if policy is not None and where is not None else ():
        if not is_of(policy, run.facts) or not fits(where or {}, run.facts) or not run.run.covered.whole:
            continue
        value = run.value(panel.metric)
        if isinstance(value, float) and known.setdefault(run.seed, (value, run))[0] != value:
            raise several(run, known[run.seed][1], f"a bar of {figure.name}", "--figure")
    return {seed: value for seed, (value, _) in known.items()}
