"""The rule of verdicts. Pure."""

from artist.report.claims.schema import Claim
from artist.results.measures import Estimate

SEEDS = 5  # least number for a verdict
SHOWN, SMALLER, OPEN, OPPOSITE = "shown", "smaller", "open", "opposite"
NEAR, FITTED, OFF = "near", "fitted", "off"
FEW, IDLE = "few seeds", "no queueing"
WITHIN, IN_RANGE = "within 25 %", "in its range"  # our mean beside the paper's number
REACHED, BEYOND, SHORT = "reached", "beyond", "short"
NO_RATIO, UNFINISHED, NOT_RUN = "no ratio", "unfinished", "not run"  # of which there is no number
VERDICTS = {
    SHOWN: "the whole interval lies at or beyond half of the paper's effect (of two numbers the weaker; on "
    "its side, where it gives none; within {within} of no change, where it says that there is none)",
    SMALLER: "the interval lies on the paper's side of no effect, but not that far",
    OPEN: "the interval contains no effect (or the edge of {within}): these runs do not settle it",
    OPPOSITE: "the interval lies on the other side",
    NEAR: "a number within {within} of the paper's, or that rounds to it",
    FITTED: "near or shown, but profiles, the trace or its load were chosen for it: an input, not a result",
    OFF: "farther from it",
    FEW: f"fewer than {SEEDS} seeds; of a real trace two suffice if they agree: nothing is random there",
    IDLE: "jobs queue for at most 1 % of their mean JCT under every policy compared: nothing is exercised",
    NO_RATIO: "what it is compared with is 0 in some run",
    UNFINISHED: "some run ended before its jobs had finished, so its means leave out the longer ones",
    NOT_RUN: "some of the runs that it is about are not here",
}
HOLDS = (SHOWN, NEAR, FITTED)
WORST_FIRST = (NOT_RUN, UNFINISHED, NO_RATIO, FEW, OPPOSITE, OFF, OPEN, IDLE, SMALLER, SHOWN, NEAR, FITTED)


def of_number(claim: Claim, mean: float) -> str:
    """Return the verdict of a number that is compared with nothing but the paper's."""
    assert isinstance(claim.paper, float)
    if abs(mean - claim.paper) > max(claim.within * abs(claim.paper), claim.printed / 2):
        return OFF
    return FITTED if claim.fitted else NEAR


def of_change(claim: Claim, ours: Estimate, seeds: int, *, one_trace: bool, queues: bool) -> str:
    """Return the verdict of a change.

    Parameters
    ----------
    ours
        Mean and interval over seeds.
    one_trace
        Whether nothing is random: the number decides.
    queues
        Whether jobs queue under any of the policies, in the mean over seeds.
    """
    assert ours.mean is not None
    if not queues:
        return IDLE
    if not one_trace and seeds < SEEDS:
        return FEW
    low = ours.mean if one_trace or ours.low is None else ours.low
    high = ours.mean if one_trace or ours.high is None else ours.high
    if claim.paper == "not higher":
        return _inside(high <= claim.within, low > claim.within)
    if claim.paper == "same":
        return _inside(max(-low, high) <= claim.within, max(low, -high) > claim.within)
    near, far = (low, high) if claim.sign > 0 else (-high, -low)  # both positive: as the paper says
    if far < 0:
        return OPPOSITE
    if near <= 0:
        return OPEN
    if near < abs(claim.weakest or 0.0) / 2:
        return SMALLER
    return FITTED if claim.fitted else SHOWN


def in_words(claim: Claim, verdict: str) -> str:
    """Return a verdict, with the margin within which a change is shown to be none."""
    none = claim.paper in ("same", "not higher")
    return f"{verdict} within {100 * claim.within:.0f} %" if none and verdict == SHOWN else verdict


def is_within(ours: float, paper: float) -> bool:
    """Return whether the difference is at most a quarter of the paper's number."""
    return round(abs(ours - paper) - 0.25 * abs(paper), 9) <= 0  # 0.75 x 0.4 > 0.3 in floats


def nearness(claim: Claim, mean: float) -> str:
    """Return the place of a mean beside the paper's number, or its range; empty if it gives none.

    Within a quarter of it, or of both ends of a range; else in the range; else, of a change, short of it,
    past it (reached), or past twice it (beyond).
    """
    if isinstance(claim.paper, str):
        return ""
    ends = claim.paper if isinstance(claim.paper, tuple) else (claim.paper,)
    weak, *_, strong = sorted(abs(end) for end in (*ends, *ends))
    size = claim.sign * mean
    if is_within(size, weak) and is_within(size, strong):
        return WITHIN
    if not claim.against:
        return ""
    if weak <= size <= strong:
        return IN_RANGE
    return SHORT if size < weak else REACHED if size <= 2 * strong else BEYOND


def _inside(inside: bool, outside: bool) -> str:
    return SHOWN if inside else OFF if outside else OPEN
