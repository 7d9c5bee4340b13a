"""The rule of verdicts, on means and intervals: every side of every limit."""

from typing import Any

import pytest

from artist.report.claims.schema import Claim
from artist.report.claims.verdict import nearness, of_change, of_number
from artist.results.measures import Estimate

CHANGE = {"says": "less", "source": "5.1", "metric": "makespan_s", "policy": "new", "against": "old"}


def claim(paper: object, **more: Any) -> Claim:
    """Return a claim on the makespan."""
    return Claim.model_validate(CHANGE | {"paper": paper} | more)


def verdict(paper: object, low: float, high: float, **more: Any) -> str:
    """Return the verdict of an interval over five seeds, in the middle of which the mean is."""
    ours = Estimate((low + high) / 2, low, high)
    return of_change(claim(paper, **more), ours, 5, one_trace=False, queues=True)


@pytest.mark.parametrize(
    ("paper", "low", "high", "expected"),
    [
        (-0.5, -0.40, -0.25, "shown"),  # all of it is at half of -0.5, or beyond
        (-0.5, -0.90, -0.60, "shown"),  # more than the paper says
        (-0.5, -0.60, -0.24, "smaller"),  # its weak end is not
        (-0.5, -0.05, -0.01, "smaller"),
        (-0.5, -0.90, 0.00, "open"),  # no effect is its end
        (-0.5, -0.90, 0.90, "open"),
        (-0.5, 0.01, 0.02, "opposite"),
        (-0.5, 0.00, 0.02, "open"),
        (0.4, 0.20, 0.30, "shown"),
        (0.4, 0.19, 0.90, "smaller"),
        (0.4, 0.00, 0.90, "open"),
        (0.4, -0.30, -0.20, "opposite"),
        ([-0.3, -0.6], -0.40, -0.15, "shown"),  # half of the weaker
        ([-0.3, -0.6], -0.40, -0.14, "smaller"),
        ([-0.6, -0.3], -0.40, -0.15, "shown"),  # whichever comes first
        (-0.5, 0.00, 0.00, "open"),  # exactly no effect
    ],
)
def test_a_number_is_shown_from_half_of_it_on(paper: object, low: float, high: float, expected: str) -> None:
    """Of -0.5 it is -0.25: shown if the whole interval is at or beyond it."""
    assert verdict(paper, low, high) == expected


@pytest.mark.parametrize(
    ("paper", "low", "high", "expected"),
    [
        ("lower", -0.02, -0.001, "shown"),
        ("lower", -0.90, 0.0, "open"),
        ("lower", 0.001, 0.02, "opposite"),
        ("higher", 0.001, 0.02, "shown"),
        ("higher", 0.0, 0.90, "open"),
        ("higher", -0.02, -0.001, "opposite"),
    ],
)
def test_lower_needs_an_interval_below(paper: str, low: float, high: float, expected: str) -> None:
    """No number is claimed, so any effect on the side is enough, and none is not."""
    assert verdict(paper, low, high) == expected


@pytest.mark.parametrize(
    ("paper", "low", "high", "expected"),
    [
        ("same", -0.10, 0.10, "shown"),
        ("same", -0.11, 0.10, "open"),
        ("same", -0.10, 0.11, "open"),
        ("same", 0.11, 0.20, "off"),
        ("same", -0.20, -0.11, "off"),
        ("not higher", -0.90, 0.10, "shown"),
        ("not higher", -0.90, 0.11, "open"),
        ("not higher", 0.10, 0.20, "open"),
        ("not higher", 0.11, 0.20, "off"),
    ],
)
def test_no_change_has_a_width(paper: str, low: float, high: float, expected: str) -> None:
    """Within 10 %: shown inside, off outside, open across; `not higher` has one edge only."""
    assert verdict(paper, low, high, within=0.1) == expected


@pytest.mark.parametrize(("seeds", "expected"), [(1, "few seeds"), (4, "few seeds"), (5, "shown")])
def test_a_verdict_takes_five_seeds(seeds: int, expected: str) -> None:
    """-55 % of -50 %, however narrow the interval of fewer is."""
    ours = Estimate(-0.55, *((-0.6, -0.5) if seeds > 2 else (None, None)))
    assert of_change(claim(-0.5), ours, seeds, one_trace=False, queues=True) == expected


@pytest.mark.parametrize(
    ("mean", "expected"), [(-0.25, "shown"), (-0.24, "smaller"), (0.0, "open"), (0.01, "opposite")]
)
def test_without_randomness_the_number_decides(mean: float, expected: str) -> None:
    """One run, by the same limits."""
    assert of_change(claim(-0.5), Estimate(mean), 1, one_trace=True, queues=True) == expected


@pytest.mark.parametrize("one_trace", [True, False])
def test_without_queueing_nothing_is_shown(one_trace: bool) -> None:
    """Even an interval beyond the paper's number, and whatever the seeds."""
    ours = Estimate(-0.6, -0.7, -0.5)
    assert of_change(claim(-0.5), ours, 5, one_trace=one_trace, queues=False) == "no queueing"


@pytest.mark.parametrize(
    ("paper", "mean", "expected"),
    [
        (-0.4, -0.3, "within 25 %"), (-0.4, -0.29, "short"), (-0.4, -0.5, "within 25 %"),
        (-0.4, -0.51, "reached"), (-0.4, -0.8, "reached"), (-0.4, -0.81, "beyond"),
        (0.4, 0.3, "within 25 %"), (0.4, -0.4, "short"), (0.4, 0.81, "beyond"), (-0.346, -0.91, "beyond"),
        ([-0.2, -0.4], -0.19, "short"), ([-0.4, -0.2], -0.2, "in its range"),
        ([-0.2, -0.4], -0.4, "in its range"), ([-0.2, -0.4], -0.41, "reached"),
        ([-0.2, -0.3], -0.22, "in its range"), ([-0.2, -0.3], -0.23, "within 25 %"),
        ([-0.2, -0.4], -0.81, "beyond"), ("lower", -0.9, ""), ("same", 0.0, ""),
    ],
)  # fmt: skip
def test_a_mean_is_within_a_quarter_of_the_papers_number_or_past_it(
    paper: object, mean: float, expected: str
) -> None:
    """Of -0.4 from -0.3 to -0.5; past twice it, -0.8, it is beyond. -0.23 is near both -0.2 and -0.3."""
    assert nearness(claim(paper), mean) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(-0.6, -0.3, "fitted"), (-0.6, -0.1, "smaller"), (0.1, 0.2, "opposite")]
)
def test_a_change_that_was_chosen_to_come_out_is_not_shown(low: float, high: float, expected: str) -> None:
    """The paper's is -0.5; what misses it is what it is. No change is nothing to fit to."""
    assert verdict(-0.5, low, high, fitted=True) == expected
    with pytest.raises(ValueError, match="nothing is fitted to no change"):
        claim("same", fitted=True)


@pytest.mark.parametrize(
    ("paper", "printed", "fitted", "expected"),
    [
        (0.24, 0.0, False, "near"),  # 0.25 is 4 % more
        (0.25, 0.0, True, "fitted"),
        (0.2, 0.0, False, "off"),  # 25 % more
        (0.2, 0.0, True, "off"),
        (0.2, 0.1, False, "near"),  # rounds to it: 0.15 to 0.25
    ],
)
def test_a_number_is_near_or_rounds_to_the_printed_one(
    paper: float, printed: float, fitted: bool, expected: str
) -> None:
    """Ours is 0.25; near is within 15 %."""
    number = {"says": "much", "source": "1", "metric": "overhead", "model": "VGG11", "tier": "rack"}
    asked = Claim.model_validate(number | {"paper": paper, "printed": printed, "fitted": fitted})
    assert of_number(asked, 0.25) == expected
    assert nearness(asked, 0.25) == "within 25 %"  # 0.25 / 0.2 is just 1.25
    assert nearness(asked, 0.32) == nearness(asked, 0.14) == ""
