"""Claims under several readings, by several metrics, on several fabrics; what is counted and told."""

import csv
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from artist.report.claims.judge import Judged, judge, summary
from artist.report.claims.schema import Claim, ClaimFile
from artist.report.claims.table import (
    claim_notes,
    claims_csv,
    claims_not_run,
    claims_table,
    claims_text,
    paper_text,
)
from artist.results.run import Run

Maker = Callable[..., list[Run]]


@pytest.fixture
def judged(makespan_claim: Mapping[str, Any]) -> Callable[..., Judged]:
    """Return a function that holds a claim of -50 % against runs, or claims that differ from it."""

    def hold(built: list[Run], *more: dict[str, Any], **file: Any) -> Judged:
        claims = [makespan_claim | {"paper": -0.5} | value for value in more or ({},)]
        return judge(ClaimFile.model_validate({"paper": "a paper", "claims": claims} | file), built)

    return hold


READINGS = {"first": {}, "second": {"new": "newer"}, "third": {"new": {"name": "new", "policy.eager": True}}}


@pytest.fixture
def read(runs: Maker, judged: Callable[..., Judged]) -> Judged:
    """New -60 %, newer +10 %; eager new was not run. A second claim is about other policies."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0, ("newer", 2): 110.0, ("other", 2): 50.0})
    other = {"policy": "other", "says": "shorter still"}
    return judged(finished, {}, other, readings=READINGS)


def test_the_first_reading_decides(read: Judged) -> None:
    """The others stand beside it; a claim hangs on the reading unless no reading changes it."""
    row, other = read.rows
    assert (row.result.verdict, row.hangs) == ("shown", True)
    assert [reading.verdict for reading in row.readings] == ["opposite", "not run"]
    assert "shown *  within 25 %\n" in claims_text(read)
    assert (other.hangs, [reading.verdict for reading in other.readings]) == (False, ["shown", "shown"])


def test_the_first_reading_may_name_others(runs: Maker, judged: Callable[..., Judged]) -> None:
    """By its words new is newer: +10 %, not -60 %."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0, ("newer", 2): 110.0})
    (row,) = judged(finished, readings={"first": {"new": "newer"}, "second": {}}).rows
    assert (row.result.verdict, row.readings[0].verdict) == ("opposite", "shown")


def test_no_claim_hangs_on_a_reading_that_was_not_run(runs: Maker, judged: Callable[..., Judged]) -> None:
    """Eager new has no runs, so nothing is known of it."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0})
    result = judged(finished, readings={"first": {}, "third": READINGS["third"]})
    assert (result.rows[0].hangs, result.rows[0].readings[0].verdict) == (False, "not run")


def test_a_reading_that_was_not_run_has_no_column(read: Judged) -> None:
    """Nor does it say that a claim hangs on it."""
    assert read.readings == {"second": 0}
    assert [column.name for column in claims_table(read).columns][-1] == "reading0"


def test_shown_is_counted_under_each_reading(read: Judged) -> None:
    """Two under the first, one under the second."""
    assert summary(read) == (
        "a paper, near: of 2 claims 2 shown, 2 of 2 within 25 % of the paper's number; read as second "
        "instead of first, 1 shown; verdicts that hang on the reading: 1.",
    )


def test_a_metric_beside_the_first_is_shown_and_not_counted(
    runs: Maker, judged: Callable[..., Judged]
) -> None:
    """The paper's words allow both; makespan is 60 % less, the mean JCT the same."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0})
    result = judged(finished, {"metric": ["makespan_s", "jct_mean_s", "jct_job_by_job_s"]})
    (row,) = result.rows
    assert (row.result.verdict, row.metrics[0].verdict) == ("shown", "open")
    assert summary(result) == (
        "a paper, near: of 1 claim 1 shown, 1 of 1 within 25 % of the paper's number.",
    )
    told = "    JCT mean: open (+0.0 %); jct_job_by_job_s: open (+0.0 %)"
    assert told in claims_text(result).splitlines()


def test_settings_of_a_claim_hold_under_a_reading() -> None:
    """A reading replaces the policy and keeps what the claim asks of its settings."""
    who = {"name": "new", "policy.a": 1}
    claim = Claim.model_validate(
        {
            "says": "s",
            "source": "1",
            "metric": "makespan_s",
            "paper": "lower",
            "policy": who,
            "against": "old",
        }
    )
    reading = ClaimFile.model_validate(
        {"paper": "p", "readings": {"r": {"new": {"name": "newer", "policy.b": 2}}}, "claims": [claim]}
    ).readings["r"]
    policy = claim.under(reading).policy
    assert policy is not None
    assert (policy.name, policy.where) == ("newer", {"policy.a": 1, "policy.b": 2})
    assert claim.under(reading).against == claim.against


def test_fabrics_are_judged_apart(runs: Maker, judged: Callable[..., Judged]) -> None:
    """Shown on one, not run on the other, so folded there; the CSV has a row for each."""
    built = runs({("old", 2): 100.0, ("new", 2): 60.0}) + runs({("old", 2): 1.0}, "far")
    result = judged(built)
    assert summary(result) == (
        "a paper, far: of 1 claim 1 not run.",
        "a paper, near: of 1 claim 1 shown, 1 of 1 within 25 % of the paper's number.",
    )
    rows = list(csv.DictReader(claims_csv(result).splitlines()))
    assert [(row["topology"], row["verdict"], row["near_paper"]) for row in rows] == [
        ("far", "not run", ""), ("near", "shown", "within 25 %")
    ]  # fmt: skip
    table = claims_table(result)
    assert [row[0].text for row in table.rows] == ["near"]
    assert claims_not_run(result) == [("far: shorter", "5.1; no run of new fits")]
    at = [column.name for column in table.columns].index("ours")
    assert [row[at].text for row in table.rows] == ["-40 % [-40, -40]"]


@pytest.mark.parametrize("name", ["profiles", "system.preset"])
def test_profiles_and_presets_are_judged_apart(runs: Maker, judged: Callable[..., Judged], name: str) -> None:
    """The same fabric with two sets of profiles, or of collectives: two tables, not one that is refused."""
    built = []
    for value, new in (("one", 40.0), ("two", 90.0)):
        network = {"profiles": value} if name == "profiles" else {"system": {"preset": value}}
        built += runs({("old", 2): 100.0, ("new", 2): new}, network=network)
    result = judged(built)
    assert result.fabrics == ("near, one", "near, two")
    assert [row.result.verdict for row in result.rows] == ["shown", "smaller"]


def test_the_text_has_claim_source_and_verdict(runs: Maker, judged: Callable[..., Judged]) -> None:
    """Number, interval, seeds, queueing of 3 and 30 h, verdict; below it where it was swept."""
    finished = runs({("old", 2): 100.0, ("new", 2): 40.0, ("old", 4): 100.0, ("new", 4): 30.0})
    for run in finished:
        run.summary["queueing_s"]["mean"] = 10800.0 if run.summary["policy"] == "new" else 108000.0
    along = {"along": "cluster.racks", "values": [2, 4], "take": "best"}
    head, line, detail, legend, told = claims_text(judged(finished, along)).splitlines()
    assert head.split() == ["claim", "paper", "ours", "n", "queue", "h", "verdict", "near"]
    assert line == "shorter  -50 %  -70 % [-70, -70] at 4  5  3.00, 30  shown    reached"
    assert detail == "    2: -60, 4: -70"
    assert legend.startswith(
        "n: seeds; queue h: mean queueing of ours, then of each that it is compared with;"
    )
    assert told == "a paper, near: of 1 claim 1 shown, 0 of 1 within 25 % of the paper's number."


def test_policies_without_runs_are_named(runs: Maker, judged: Callable[..., Judged]) -> None:
    """Runs of the policy are here, none of what it is compared with: a typo, or a missing run."""
    lines = claims_text(judged(runs({("new", 2): 40.0}))).splitlines()
    assert lines[1] == "not run: 1 claims, for which no run of old fits"


def test_one_trace_is_marked_and_counted_apart(runs: Maker, judged: Callable[..., Judged]) -> None:
    """Two equal runs of a file decide by their number."""
    result = judged(runs({("old", 2): (100.0,) * 2, ("new", 2): (70.0,) * 2}, workload={"path": "jobs.csv"}))
    assert "-30 %  2  0.00, 0.00  shown, one trace" in claims_text(result)
    assert summary(result) == (
        "a paper, near: of 1 claim 1 shown (1 on one trace), 0 of 1 within 25 % of the paper's number.",
    )


def test_no_change_is_shown_within_a_margin(runs: Maker, judged: Callable[..., Judged]) -> None:
    """4 % more is as good as none within 5 %; the word stands in the text, and is counted as any other."""
    finished = runs({("old", 2): 100.0, ("new", 2): 104.0})
    result = judged(finished, *({"paper": paper, "says": paper, "within": 0.05, "against": ["old"]}
                           for paper in ("not higher",)))  # fmt: skip
    assert "shown within 5 %\n" in claims_text(result)
    assert "1 shown." in summary(result)[0]
    assert "shown within 5 %" in [cell.text for cell in claims_table(result).rows[0]]
    (same,) = (judged(finished, {"paper": "same", "within": 0.05, "metric": ["jct_mean_s", "makespan_s"]}),)
    assert "makespan: shown within 5 % (+4.0 %)" in claims_text(same)


def test_numbers_are_counted_apart(runs: Maker, judged: Callable[..., Judged]) -> None:
    """BERT has 25 % in a rack: near 24 %, and no claim of a change."""
    overhead = {
        "metric": "overhead",
        "policy": None,
        "against": [],
        "model": "bert_large",
        "tier": "rack",
        "paper": 0.24,
    }
    result = judged(runs({("old", 2): (100.0,), ("new", 2): (70.0,)}), {}, overhead | {"says": "much"})
    assert summary(result) == (
        "a paper, near: of 1 claim 1 few seeds, 0 of 1 within 25 % of the paper's number; of 1 number 1 "
        "near, 1 of 1 within 25 % of the paper's number.",
    )
    assert "much     24 %   25 %" in claims_text(result)


def test_notes_explain_the_verdicts_that_were_given(read: Judged) -> None:
    """And no others; the star is explained where there are readings."""
    text = " ".join(claim_notes(read))
    assert "opposite: the interval lies on the other side" in text
    assert "smaller:" not in text
    assert "* marks a claim whose verdict hangs on the reading" in text


def test_the_csv_has_every_reading_metric_and_place(read: Judged) -> None:
    """Rows of the second claim stand once, as no reading changes it."""
    rows = list(csv.DictReader(claims_csv(read).splitlines()))
    assert [(row["claim"], row["reading"], row["verdict"]) for row in rows] == [
        ("shorter", "first", "shown"),
        ("shorter", "second", "opposite"),
        ("shorter", "third", "not run"),
        ("shorter still", "first", "shown"),
    ]
    assert rows[0]["settings"] == "new; against old"
    assert (rows[0]["ours"], rows[0]["seeds"], rows[0]["queueing_mean_s"]) == ("-0.6", "5", "3.0")


@pytest.mark.parametrize(
    ("paper", "text"),
    [("same", "same"), (-0.5, "-50 %"), ([-0.1, -0.2], "-10 to -20 %"), (12.07, "+1207 %")],
)
def test_the_papers_number_is_in_its_words(
    makespan_claim: Mapping[str, Any], paper: object, text: str
) -> None:
    """Changes in per cent, spans from the weaker end."""
    assert paper_text(Claim.model_validate(makespan_claim | {"paper": paper})) == text


def test_settings_are_shown_in_full(
    makespan_claim: Mapping[str, Any], runs: Maker, judged: Callable[..., Judged]
) -> None:
    """Policies with their settings, where, against what, compared with what, along what."""
    where = {"where": {"arrivals": "batch", "x": ["", 2]}, "against_where": {"x": 3}}
    claims = (
        {"policy": {"name": "new", "policy.a": 1}} | where,
        {"than_where": {"x": 3}},
        {"along": "x", "values": [1, 2], "take": "each"},
    )  # fmt: skip
    rows = csv.DictReader(claims_csv(judged(runs({("old", 2): (1.0,)}), *claims)).splitlines())
    assert list(dict.fromkeys(row["settings"] for row in rows)) == [
        "new (policy.a=1); against old; arrivals=batch x=-,2; against x=3",
        "new; against old; compared with x=3",
        "new; against old; each of x=1,2",
    ]
