"""The top of the page: at most eight lines, one for each question of an operator. Pure."""

from collections.abc import Collection, Sequence

from artist.report.words.axes import SIZES, axes
from artist.report.words.fabrics import fabrics
from artist.report.words.gains import who_pays
from artist.report.words.idle import idle
from artist.report.words.policies import how_sure, which
from artist.report.words.reasons import drivers
from artist.report.words.sizes import along, sizes
from artist.report.words.verdicts import Verdict, in_words, verdicts
from artist.results.compare import POLICY, Comparison, of_policy
from artist.results.digest import Digest, growing
from artist.results.gains import Gain
from artist.results.jobcolumns import COMMUNICATION, PARTS
from artist.results.measures import BY_NAME
from artist.results.scenarios import Contest
from artist.results.seen import have_seen

_FABRIC = "topology.name"
_COMPUTING = PARTS.index("computing")


def answers(
    comparison: Comparison,
    contest: Contest,
    digests: Sequence[Digest],
    careful: Sequence[tuple[str, str]],
    gains: Sequence[Gain] = (),
) -> list[tuple[str, str]]:
    """Return questions and answers, at most eight; before them cautions about the rows.

    Parameters
    ----------
    careful
        Cautions.
    gains
        Changes of waits by groups of jobs.
    """
    contest, doubted = in_words(contest), growing(digests)
    varied = axes(comparison, doubted)
    ranked = verdicts(comparison, contest, BY_NAME["jct_mean_s"])
    fabric = next((axis for axis in varied if axis.key == _FABRIC), None)
    size = next((axis for axis in varied if axis.key in SIZES and axis.numeric), None)
    others = [axis for axis in varied if axis.numeric and axis is not size and axis.key != POLICY]
    gpus = [float(digest.gauges["capacity_gpus"].mean[0]) for digest in digests]
    shares = list(map(_communication, digests))
    lines = [
        *(("Careful", text) for _, text in careful),
        _which(comparison, contest, ranked, doubted),
        ("Who gains, who pays", who_pays(gains, contest)),
        ("Which fabric", "" if fabric is None else fabrics(fabric, comparison, gpus, shares)),
        *((f"How many {SIZES[axis.key]}", sizes(axis, comparison)) for axis in varied if axis is size),
        *((f"What {axis.name} changes", along(axis)) for axis in others[:1] if not axis.idle),
        ("What drives it", drivers(varied, comparison, digests)),
        ("What does not matter", idle(varied, comparison, contest, ranked, shares, digests)),
        ("How sure", "" if have_seen(comparison.groups) else how_sure(comparison, contest, ranked)),
    ]
    return [(question, answer) for question, answer in lines if answer]


def _communication(digest: Digest) -> float:
    """Return communication over computing, both summed over jobs."""
    exposed, computing = float(digest.parts_s[COMMUNICATION].sum()), float(digest.parts_s[_COMPUTING])
    return exposed / computing if computing > 0 else 0.0


def _which(
    comparison: Comparison, contest: Contest, ranked: Sequence[Verdict], doubted: Collection[int]
) -> tuple[str, str]:
    policy = comparison.groups[0].shown[0]
    if len(comparison.groups) == 1:
        return "Which policy", f"Only {policy} was run, so there is nothing to compare."
    if not comparison.has_choice:
        return "Which policy", f"Only {policy} was run, so there is none to choose."
    question = "Which policy" if all(map(of_policy, comparison.choices)) else "What to choose"
    if not ranked:
        alike = any(not group.partial for group in comparison.groups)
        return question, f"None can be called best: {_NOT_ALIKE if alike else _TOO_FEW}"
    return question, which(ranked, contest, comparison, doubted)


_TOO_FEW = (
    "runs ended before all jobs had finished, and the longer and later ones are missing. Run them to the end."
)
_NOT_ALIKE = "no two rows have the same seeds and all jobs. Run those that are missing."
