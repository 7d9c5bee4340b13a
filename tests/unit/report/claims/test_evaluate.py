"""Claims of a paper held against runs: changes seed by seed, swept values, and what is compared with what."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from artist.errors import InputError
from artist.report.claims.evaluate import Result, evaluate
from artist.report.claims.evidence import Evidence
from artist.report.claims.schema import Claim
from artist.report.claims.table import ours_text
from artist.results.run import Run

Maker = Callable[..., list[Run]]
Holder = Callable[..., Result]
SWEPT: dict[tuple[str, int], float] = {
    ("old", 2): 100.0, ("new", 2): 90.0, ("old", 16): 100.0, ("new", 16): 40.0
}  # fmt: skip


def test_changes_are_taken_seed_by_seed(runs: Maker, held: Holder) -> None:
    """-50, -10, -30 %: mean -30 %; the change of the means would be 400 / 500 - 1 = -20 %.

    s is 20 %, half the interval 4.303 x 20 / sqrt(3) = 49.7 %.
    """
    result = held(runs({("old", 2): (100.0, 300.0, 100.0), ("new", 2): (50.0, 270.0, 70.0)}))
    assert result.decisive.ours == pytest.approx((-0.3, -0.797, 0.197), abs=1e-3)
    assert (ours_text(result), result.verdict) == ("-30 % [-80, +20]", "few seeds")


@pytest.mark.parametrize(
    ("new", "verdict"),
    [((40.0, 50.0, 60.0, 50.0, 50.0), "shown"), ((50.0, 90.0, 70.0, 60.0, 80.0), "smaller")],
)
def test_the_interval_decides(runs: Maker, held: Holder, new: Sequence[float], verdict: str) -> None:
    """-50 +- 9 % (2.776 x 7.1 / sqrt(5)) is beyond -25 %; -30 +- 20 % (2.776 x 15.8 / sqrt(5)) below 0."""
    assert held(runs({("old", 2): 100.0, ("new", 2): new})).verdict == verdict


@pytest.mark.parametrize(("take", "ours", "verdict"), [("best", -0.6, "shown"), ("each", -0.1, "smaller")])
def test_along_a_sweep(runs: Maker, held: Holder, take: str, ours: float, verdict: str) -> None:
    """-10 % at 2 racks and -60 % at 16: the best of them, or what holds at each."""
    result = held(runs(SWEPT), along="cluster.racks", values=[2, 16], take=take)
    assert (result.decisive.ours.mean, result.verdict) == (pytest.approx(ours), verdict)
    assert [(place.at, place.near) for place in result.places] == [("2", "short"), ("16", "within 25 %")]
    assert result.holds == ("holds at 1 of 2" if take == "each" else "")
    assert ours_text(result).endswith(f" at {result.decisive.at}")


def test_the_best_place_is_the_same_for_all_seeds(runs: Maker, held: Holder) -> None:
    """-40 and +40 % in turn at 2 and at 16: 0 in the mean; picked seed by seed it would be -40 %."""
    one, other = (60.0, 140.0) * 3, (140.0, 60.0) * 3
    finished = runs(
        {("old", 2): (100.0,) * 6, ("new", 2): one, ("old", 16): (100.0,) * 6, ("new", 16): other}
    )
    result = held(finished, along="cluster.racks", values=[2, 16], take="best")
    assert (result.decisive.ours.mean, result.verdict) == (pytest.approx(0.0), "open")


def test_each_place_has_to_be_settled(runs: Maker, held: Holder) -> None:
    """-30 % at 2 racks, settled; -90 to +10 % at 16, mean -40 %: open, though the mean is the better one."""
    wide = (10.0, 110.0, 60.0, 10.0, 110.0)
    finished = runs({("old", 2): 100.0, ("new", 2): 70.0, ("old", 16): 100.0, ("new", 16): wide})
    result = held(finished, along="cluster.racks", values=[2, 16], take="each", paper="lower")
    assert (result.decisive.at, result.verdict) == ("16", "open")


def test_ties_of_verdicts_take_the_weakest_mean(runs: Maker, held: Holder) -> None:
    """-60 % at 2 racks, -40 % at 16, both shown: at 16."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0, ("old", 16): 100.0, ("new", 16): 60.0})
    assert held(finished, along="cluster.racks", values=[2, 16], take="each").decisive.at == "16"


def test_a_place_that_was_not_run_is_missed(runs: Maker, held: Holder) -> None:
    """A claim about 2, 4 and 16 racks is not settled by two of them, which are known all the same."""
    result = held(runs(SWEPT), along="cluster.racks", values=[2, 4, 16], take="best")
    assert (result.verdict, ours_text(result)) == ("not run", "-")
    assert [place.ours.mean for place in result.places] == [pytest.approx(-0.1), None, pytest.approx(-0.6)]


@pytest.mark.parametrize(
    ("paper", "ours"), [("lower", 0.125), (-0.5, 0.125), ("higher", -0.82), (0.5, -0.82)]
)
def test_against_the_best_of_several(runs: Maker, held: Holder, paper: object, ours: float) -> None:
    """New has 90 s; of 80 and 500 s the best are 80, or 500 if more is better; others do not count."""
    finished = runs({("new", 2): 90.0, ("old", 2): 80.0, ("bad", 2): 500.0, ("good", 2): 1.0})
    assert held(finished, against=["old", "bad"], paper=paper).decisive.ours.mean == pytest.approx(ours)


def test_only_seeds_that_all_have_count(runs: Maker, held: Holder) -> None:
    """The second seed of new has nothing to be compared with."""
    result = held(runs({("old", 2): (100.0,), ("new", 2): (50.0, 1.0)}))
    assert (result.decisive.ours.mean, result.decisive.seeds) == (-0.5, 1)


@pytest.mark.parametrize(("new", "verdict"), [(0.0, "open"), (5.0, "no ratio")])
def test_nothing_to_compare_with(runs: Maker, held: Holder, new: float, verdict: str) -> None:
    """From 0 to 0 is no change; from 0 to 5 there is no ratio, and runs there are."""
    assert held(runs({("old", 2): 0.0, ("new", 2): new})).verdict == verdict


def test_only_runs_that_fit_count(runs: Maker, held: Holder) -> None:
    """At 16 racks only; and the jobs of these runs do not arrive together."""
    finished = runs(SWEPT)
    assert held(finished, where={"cluster.racks": 16.0}).decisive.ours.mean == pytest.approx(-0.6)
    assert held(finished, where={"arrivals": "batch"}).verdict == "not run"
    assert held(finished, where={"arrivals": "spread", "cluster.racks": 2}).verdict == "smaller"


def test_where_accepts_several_values_and_none(runs: Maker, held: Holder) -> None:
    """Racks 2 or 4; a key that no run has is empty."""
    finished = runs({("old", 2): 100.0, ("new", 2): 90.0, ("new", 16): 10.0})
    where = {"cluster.racks": [2, 4], "policy.noise": ["", 0]}
    assert held(finished, where=where, paper="lower").decisive.ours.mean == pytest.approx(-0.1)


def test_two_runs_for_one_place_are_refused(runs: Maker, held: Holder) -> None:
    """Without its racks the claim does not say which run it is about; the message names what differs."""
    with pytest.raises(InputError, match="several runs of new with seed 0 fit a claim") as error:
        held(runs(SWEPT))
    assert error.value.allowed == "one of them; they differ in cluster.racks (2, 16)"


def test_a_policy_may_be_named_with_its_settings(runs: Maker, held: Holder) -> None:
    """New with eager=true has 60 s, with eager=false 90; against old, and against each other."""
    finished = runs({("old", 2): 100.0, ("new", 2): 60.0}, policy={"eager": True})
    finished += runs({("new", 2): 90.0}, policy={"eager": False})
    eager, lazy = ({"name": "new", "policy.eager": value} for value in (True, False))
    assert held(finished, policy=eager).decisive.ours.mean == pytest.approx(-0.4)
    assert held(finished, policy=lazy).decisive.ours.mean == pytest.approx(-0.1)
    assert held(finished, policy=eager, against=[lazy]).decisive.ours.mean == pytest.approx(60 / 90 - 1)


def test_a_policy_against_itself_where_something_else_holds(runs: Maker, held: Holder) -> None:
    """New at 16 racks has 60 s, at 2 racks 80: a quarter less; the seeds pair up."""
    finished = runs({("new", 2): 80.0, ("new", 16): 60.0})
    asked: dict[str, Any] = {
        "against": "new", "where": {"cluster.racks": 16}, "against_where": {"cluster.racks": 2}
    }  # fmt: skip
    assert held(finished, **asked, paper="lower").decisive.ours.mean == -0.25
    along = {"against": "new", "against_where": {"cluster.racks": 2}, "along": "cluster.racks"}
    result = held(finished, **along, values=[2, 16], take="best", paper="lower")
    assert [place.ours.mean for place in result.places] == [0, -0.25]


def test_a_change_compared_with_a_change(runs: Maker, held: Holder) -> None:
    """-10 % at 2 racks, -60 % at 16: 0.4 / 0.9 - 1 = -56 % of what it is at 2; without runs there, none."""
    asked: dict[str, Any] = {"where": {"cluster.racks": 16}, "than_where": {"cluster.racks": 2}}
    result = held(runs(SWEPT), **asked, paper="lower")
    assert (result.decisive.ours.mean, result.verdict) == (pytest.approx(0.4 / 0.9 - 1), "shown")
    assert len(result.decisive.queueing_s) == 4
    assert held(runs({("old", 16): 100.0, ("new", 16): 40.0}), **asked).verdict == "not run"
    nothing = runs(SWEPT | {("new", 2): 0.0})
    assert held(nothing, **asked).verdict == "no ratio"


def test_queueing_is_shown_beside_the_number(runs: Maker, held: Holder) -> None:
    """3 s in the mean on paper; over five seeds 0.55 / 5 = 0.11 s are under 1 % of 11.83 s, 0.6 / 5 are over.

    One run of the five with 0.55 s queues for 4.6 % of its JCT, which is not enough.
    """
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0})
    assert held(finished).decisive.queueing_s == (3.0, 3.0)
    for seconds, verdict in ((0.55, "no queueing"), (0.6, "shown")):
        for run in finished:
            run.summary["queueing_s"]["mean"] = 0.0
        finished[0].summary["queueing_s"]["mean"] = seconds  # under old alone
        assert held(finished).verdict == verdict
        assert held(finished).decisive.queueing_s == pytest.approx((0.0, seconds / 5))
        assert held(finished, policy="old", against="new", paper=0.5).verdict == verdict  # or under new
        assert held(finished, unqueued=True).verdict == "shown"  # what makes jobs themselves faster


FILE = {"path": "/d/jobs.csv"}


@pytest.mark.parametrize(
    ("sections", "verdict"),
    [
        ({"workload": FILE}, "shown"),
        ({"workload": {"path": None}}, "few seeds"),
        ({}, "few seeds"),  # jobs are drawn
        ({"workload": FILE | {"seed": 0}}, "few seeds"),  # also in the run of seed 1
        ({"workload": FILE, "arrivals": {"seed": 0}}, "few seeds"),
        ({"workload": FILE, "policy": {"seed": 7}}, "few seeds"),
        ({"workload": FILE, "policy": {"placement_low_skew": "random"}}, "shown"),  # both came out equal
        ({"workload": FILE, "cluster": {"failures": {"mtbf_h": 9}}}, "few seeds"),
        ({"workload": FILE, "cluster": {"failures": "random"}}, "few seeds"),
        ({"workload": FILE, "cluster": {"failures": None}}, "shown"),
    ],
)
def test_the_number_decides_where_nothing_is_random(
    runs: Maker, held: Holder, sections: dict[str, Any], verdict: str
) -> None:
    """Jobs from a file, equal runs of seeds 0 and 1, no seed but the run's: -60 % is shown without five."""
    result = held(runs({("old", 2): (100.0, 100.0), ("new", 2): (40.0, 40.0)}, **sections))
    assert (result.verdict, result.decisive.one_trace) == (verdict, verdict == "shown")


def test_one_run_does_not_show_that_nothing_is_random(runs: Maker, held: Holder) -> None:
    """Models may be drawn for the jobs of a file, and a policy may draw: only another seed tells."""
    result = held(runs({("old", 2): (100.0,), ("new", 2): (40.0,)}, workload=FILE))
    assert (result.verdict, result.decisive.one_trace) == ("few seeds", False)


def test_runs_that_differ_by_the_seed_are_random(runs: Maker, held: Holder) -> None:
    """40, 40, 41 s of a file; and equal makespans, as one long job makes them, but another mean JCT."""
    file = {"workload": FILE}
    result = held(runs({("old", 4): (100.0,) * 3, ("new", 4): (40.0, 40.0, 41.0)}, **file))
    assert (result.verdict, result.decisive.one_trace) == ("few seeds", False)
    finished = runs({("old", 2): (100.0,) * 3, ("new", 2): (40.0,) * 3}, **file)
    assert held(finished).decisive.one_trace
    finished[0].summary["jct_s"]["mean"] += 1
    assert not held(finished).decisive.one_trace


def test_the_interval_of_the_best_is_wider(runs: Maker, held: Holder) -> None:
    """Five seeds, s = 7.1 %: t(0.975, 4) = 2.776 for one place, t(0.9875, 4) = 3.495 for the best of two."""
    new = (40.0, 50.0, 60.0, 50.0, 50.0)
    finished = runs(
        {(who, racks): new if who == "new" else 100.0 for who in ("old", "new") for racks in (2, 4)}
    )
    for take, t in (("each", 2.776), ("best", 3.495)):
        ours = held(finished, along="cluster.racks", values=[2, 4], take=take).decisive.ours
        assert ours.half == pytest.approx(t * 0.07071 / 5**0.5, rel=1e-3)


@pytest.mark.slow
def test_the_best_of_several_is_seldom_shown_by_luck(runs: Maker, makespan_claim: Mapping[str, Any]) -> None:
    """Four places with exactly half of -50 %: shown for at most 2.5 % of samples, not for 4 times as many.

    2000 samples of five seeds, s = 5 %; the standard error of 2.5 % is then 0.35 %.
    """
    sweep = {"along": "cluster.racks", "values": [2, 4, 8, 16], "take": "best"}
    claim = Claim.model_validate(makespan_claim | sweep | {"paper": -0.5})
    finished = runs({(who, racks): 100.0 for who in ("old", "new") for racks in sweep["values"]})
    evidence, random, shown = [Evidence(run) for run in finished], np.random.default_rng(1), 0
    new = [run.summary for run in finished if run.summary["policy"] == "new"]
    for _ in range(2000):
        for summary, makespan in zip(new, random.normal(75.0, 5.0, len(new)), strict=True):
            summary["makespan_s"] = float(makespan)
        shown += evaluate(claim, evidence).verdict == "shown"
    assert 0.01 < shown / 2000 < 0.03


def test_runs_that_leave_out_jobs_are_not_judged(runs: Maker, held: Holder) -> None:
    """One run of old ended with 2 of its 3 jobs; the others cover all three, so there is no number."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0})
    finished[0].summary["measured"] = {"finished": 2, "jobs": 3}
    result = held(finished)
    assert (result.verdict, result.decisive.ours.mean, ours_text(result)) == ("unfinished", None, "-")
