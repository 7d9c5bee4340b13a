"""The top of the page: at most eight lines, one for each question of an operator. Pure."""

from collections.abc import Sequence

from artist.report.words.axes import SIZES, Axis, axes
from artist.report.words.fabrics import fabrics, no_part
from artist.report.words.policies import how_sure, which
from artist.report.words.reasons import drivers
from artist.report.words.sizes import along, sizes
from artist.report.words.verdicts import Verdict, at_scenarios, verdicts
from artist.report.words.wording import begun, duration
from artist.results.compare import POLICY, Comparison
from artist.results.digest import GAUGES, Digest
from artist.results.measures import BY_NAME, LEVEL, comparable
from artist.results.names import short_key
from artist.results.scenarios import Contest, of_policy

_FABRIC = "topology.name"


def answers(
    comparison: Comparison, contest: Contest, digests: Sequence[Digest], careful: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return questions and answers, at most eight; the first is what stands against comparing the rows.

    Parameters
    ----------
    careful
        Cautions; the first sentence of each is told.
    """
    varied = axes(comparison)
    found = verdicts(comparison, contest, BY_NAME["jct_mean_s"])
    fabric = next((axis for axis in varied if axis.key == _FABRIC), None)
    size = next((axis for axis in varied if axis.key in SIZES and axis.numeric), None)
    others = [axis for axis in varied if axis.numeric and axis is not size and axis.key != POLICY]
    capacity = GAUGES.index("capacity_gpus")
    gpus = [float(each.gauges[capacity].mean[0]) for each in digests]
    said = [
        ("Careful", " ".join(f"{text.split('. ')[0].rstrip('.')}." for _, text in careful)),
        _which(comparison, contest, found, [each for each in (fabric, size, *others) if each is not None]),
        ("Which fabric", "" if fabric is None else fabrics(fabric, comparison, gpus)),
        (
            "" if size is None else f"How many {SIZES[size.key]}",
            "" if size is None else sizes(size, comparison),
        ),
        *((f"What {short_key(axis.key)} changes", along(axis)) for axis in others[:1]),
        ("What drives it", drivers(varied, comparison, digests)),
        ("What does not matter", _idle(varied, comparison, contest, found)),
        ("How sure", how_sure(comparison, contest, found)),
    ]
    return [(question, answer) for question, answer in said if answer]


def has_choice(comparison: Comparison) -> bool:
    """Return whether several policies, or settings of one, were run."""
    at = [i for i, key in enumerate(comparison.keys) if of_policy(key)]
    return len({tuple(group.values[i] for i in at) for group in comparison.groups}) > 1


def _which(
    comparison: Comparison, contest: Contest, found: Sequence[Verdict], told: Sequence[Axis]
) -> tuple[str, str]:
    policy = comparison.groups[0].shown[0]
    if len(comparison.groups) == 1:
        return "Which policy", f"There is one row, {policy}, so there is nothing to compare."
    if has_choice(comparison):
        return "Which policy", which(found, contest) if found else _TOO_FEW
    if len(told) == len(comparison.keys) - 1:
        return "Which policy", f"Only {policy} was run, so there is none to choose."
    return "Which row", which(found, contest) if found else _TOO_FEW


_TOO_FEW = "Too few jobs have finished to say which is best."


def _idle(varied: Sequence[Axis], comparison: Comparison, contest: Contest, found: Sequence[Verdict]) -> str:
    """Return what hardly changes the mean JCT, and whether the network played no part."""
    said = [axis.name for axis in varied if axis.effect <= LEVEL]
    even = [each.scenario for each in found if each.even]
    policy = next((axis for axis in varied if axis.key == POLICY and axis.effect > LEVEL), None)
    if policy is not None and even:
        rows = [row for scenario in even for row in scenario.rows]
        waits = [comparable(BY_NAME["queueing_mean_s"], comparison.groups[row]).mean or 0.0 for row in rows]
        where = f" {at_scenarios(even)}".removesuffix(": ").rstrip()
        said.append(f"the policy{where}, where jobs wait {duration(max(waits))} on average at most")
    text = f"{begun(', '.join(said))} (mean JCTs within 1 % of each other). " if said else ""
    spans = verdicts(comparison, contest, BY_NAME["makespan_s"]) if policy is not None else []
    if spans and all(each.even for each in spans):
        text += "The policy does not matter for the makespan (within 1 %). "
    part = no_part(comparison)
    nothing = "All that was varied changes the mean JCT by more than 1 %." * bool(varied)
    return f"{text}{part}.".strip() if part else text.strip() or nothing
