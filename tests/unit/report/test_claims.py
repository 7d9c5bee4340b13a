"""Claims of a paper: changes seed by seed, verdicts, and a file that is refused when it makes no sense."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from artist.errors import InputError
from artist.report.claims.evaluate import Evidence, Result, evaluate
from artist.report.claims.schema import Claim, ClaimFile, read_claims
from artist.report.claims.table import (
    claim_notes,
    claims_csv,
    claims_grid,
    claims_table,
    judge,
    ours_text,
    paper_text,
)
from artist.report.command import main
from artist.results.folder import read_run
from artist.results.run import Run

MAKESPAN = {"says": "shorter", "source": "5.1", "metric": "makespan_s", "policy": "new", "against": "old"}
Maker = Callable[..., list[Run]]


@pytest.fixture
def runs(run_folder: Callable[..., Path], tmp_path: Path) -> Maker:
    """Return a maker of runs from {(policy, racks): makespans by seed}; all jobs arrive at 0, 1 and 2 s."""

    def make(makespans: dict[tuple[str, int], Sequence[float]], topology: str = "near") -> list[Run]:
        made = []
        for (policy, racks), values in makespans.items():
            for seed, makespan in enumerate(values):
                config = {
                    "policy": {"name": policy}, "cluster": {"racks": racks}, "seed": seed,
                    "topology": {"name": topology},
                }  # fmt: skip
                run = read_run(run_folder(tmp_path / f"{topology}-{policy}-{racks}-{seed}", config))
                run.summary.update(policy=policy, makespan_s=makespan, seed=seed)
                made.append(run)
        return made

    return make


def held(made: Sequence[Run], **more: Any) -> Result:
    """Hold a claim on the makespan against runs."""
    claim = Claim.model_validate(MAKESPAN | {"paper": -0.5} | more)
    return evaluate(claim, [Evidence(run) for run in made])


@pytest.mark.parametrize(
    ("new", "paper", "verdict"),
    [
        ((40.0, 100.0), -0.5, "shown"),  # 100 -> 40 and 200 -> 100: -60 and -50 %, mean -55 %
        ((60.0, 160.0), -0.5, "smaller"),  # -40 and -20 %: shorter, but the interval ends at -40 %
        ((90.0, 220.0), -0.5, "open"),  # -10 and +10 %
        ((110.0, 240.0), -0.5, "opposite"),  # +10 and +20 %
        ((110.0, 240.0), 0.15, "shown"),  # an exception that the paper owns up to
        ((99.0, 199.0), "lower", "shown"),  # no number is claimed
        ((100.0, 200.0), "lower", "equal"),
        ((99.0, 199.0), "higher", "opposite"),
        ((60.0, 160.0), [-0.3, -0.6], "shown"),  # a span is reached at its weaker end
    ],
)
def test_verdicts(runs: Maker, new: Sequence[float], paper: object, verdict: str) -> None:
    """Old takes 100 and 200 s; of two seeds the interval goes from one change to the other."""
    made = runs({("old", 2): (100.0, 200.0), ("new", 2): new})
    assert held(made, paper=paper).verdict == verdict


def test_changes_are_taken_seed_by_seed(runs: Maker) -> None:
    """-50 % and -10 %: mean -30 %; the change of the means would be 230 / 300 - 1 = -23 %."""
    result = held(runs({("old", 2): (100.0, 200.0), ("new", 2): (50.0, 180.0)}))
    assert result.decisive.ours == pytest.approx((-0.3, -0.5, -0.1))
    assert ours_text(result) == "-30 % [-50, -10]"


SWEPT = {("old", 2): (100.0,), ("new", 2): (90.0,), ("old", 16): (100.0,), ("new", 16): (40.0,)}


@pytest.mark.parametrize(("take", "ours", "verdict"), [("best", -0.6, "shown"), ("each", -0.1, "smaller")])
def test_along_a_sweep(runs: Maker, take: str, ours: float, verdict: str) -> None:
    """-10 % at 2 racks and -60 % at 16: the best of them, or what holds at each."""
    result = held(runs(SWEPT), along="cluster.racks", values=[2, 16], take=take)
    assert (result.decisive.ours.mean, result.verdict) == (pytest.approx(ours), verdict)
    assert [place.at for place in result.places] == ["2", "16"]
    assert ours_text(result).endswith("(2: -10, 16: -60)")


def test_the_best_place_is_the_same_for_all_seeds(runs: Maker) -> None:
    """-40 and +40 % at 2, +40 and -40 % at 16: 0 in the mean; picked seed by seed it would be -40 %."""
    made = runs(
        {
            ("old", 2): (100.0,) * 2,
            ("new", 2): (60.0, 140.0),
            ("old", 16): (100.0,) * 2,
            ("new", 16): (140.0, 60.0),
        }
    )
    result = held(made, along="cluster.racks", values=[2, 16], take="best")
    assert (result.decisive.ours.mean, result.verdict) == (pytest.approx(0.0), "open")


def test_each_place_has_to_be_settled(runs: Maker) -> None:
    """-30 % at 2 racks, settled; -90 and +10 % at 16, mean -40 %: open, though the mean is the better one."""
    made = runs(
        {
            ("old", 2): (100.0,) * 2,
            ("new", 2): (69.0, 71.0),
            ("old", 16): (100.0,) * 2,
            ("new", 16): (10.0, 110.0),
        }
    )
    result = held(made, along="cluster.racks", values=[2, 16], take="each", paper="lower")
    assert (result.decisive.at, result.verdict) == ("16", "open")


def test_a_place_that_was_not_run_is_missed(runs: Maker) -> None:
    """A claim about 2, 4 and 16 racks is not settled by two of them, which are shown all the same."""
    result = held(runs(SWEPT), along="cluster.racks", values=[2, 4, 16], take="best")
    assert result.verdict == "not run"
    assert ours_text(result) == "- (2: -10, 4: -, 16: -60)"


def test_against_the_best_of_several(runs: Maker) -> None:
    """New has 90 s; the best of the others 80: 12.5 % more; who is not named does not count."""
    made = runs({("new", 2): (90.0,), ("old", 2): (80.0,), ("bad", 2): (500.0,), ("good", 2): (1.0,)})
    assert held(made, against=["old", "bad"], paper="lower").decisive.ours.mean == pytest.approx(0.125)


def test_only_seeds_that_all_have_count(runs: Maker) -> None:
    """The second seed of new has nothing to be compared with."""
    result = held(runs({("old", 2): (100.0,), ("new", 2): (50.0, 1.0)}))
    assert (result.decisive.ours.mean, result.decisive.seeds) == (-0.5, 1)


@pytest.mark.parametrize(("new", "verdict"), [(0.0, "equal"), (5.0, "no ratio")])
def test_nothing_to_compare_with(runs: Maker, new: float, verdict: str) -> None:
    """From 0 to 0 is no change; from 0 to 5 there is no ratio, and runs there are."""
    assert held(runs({("old", 2): (0.0,), ("new", 2): (new,)})).verdict == verdict


def test_only_runs_that_fit_count(runs: Maker) -> None:
    """At 16 racks only; and the jobs of these runs do not arrive together."""
    made = runs(SWEPT)
    assert held(made, where={"cluster.racks": 16.0}).decisive.ours.mean == pytest.approx(-0.6)
    assert held(made, where={"arrivals": "batch"}).verdict == "not run"
    assert held(made, where={"arrivals": "spread", "cluster.racks": 2}).verdict == "smaller"


def test_two_runs_for_one_place_are_refused(runs: Maker) -> None:
    """Without its racks the claim does not say which run it is about."""
    with pytest.raises(InputError, match="several runs of new with seed 0 fit a claim"):
        held(runs(SWEPT))


def test_a_number_is_near_or_rounds_to_what_is_printed(runs: Maker) -> None:
    """BERT of the run on paper is mostly on a rack: 2.5 s of 10 s, 25 %."""
    (run,) = runs({("old", 2): (1.0,)})
    overhead = {
        "says": "much",
        "source": "Table 1",
        "metric": "overhead",
        "model": "bert_large",
        "tier": "rack",
    }
    for paper, printed, verdict in ((0.24, 0.0, "near"), (0.2, 0.0, "off"), (0.2, 0.1, "near")):
        claim = Claim.model_validate(overhead | {"paper": paper, "printed": printed})
        assert evaluate(claim, [Evidence(run)]).verdict == verdict
    fitted = Claim.model_validate(overhead | {"paper": 0.25, "fitted": True})
    assert evaluate(fitted, [Evidence(run)]).verdict == "fitted"
    claim = Claim.model_validate(overhead | {"paper": 0.2, "tier": "machine"})
    assert evaluate(claim, [Evidence(run)]).verdict == "not run"


def test_tables_have_a_verdict_for_each_fabric(runs: Maker) -> None:
    """Shown on one fabric, not run on the other; the csv has a row for each."""
    file = ClaimFile.model_validate({"paper": "a paper", "claims": [MAKESPAN | {"paper": -0.05}]})
    made = runs({("old", 2): (100.0,), ("new", 2): (90.0,)}) + runs({("old", 2): (1.0,)}, "far")
    judged = judge(file, made)
    text = claims_grid(judged).text()
    assert text.splitlines()[-2].split() == [
        "shorter",
        "5.1",
        "-5",
        "%",
        "-",
        "not",
        "run",
        "-10",
        "%",
        "shown",
    ]
    assert text.splitlines()[-1] == "Of 1 claims of a paper. far: 1 not run; near: 1 shown."
    assert [line.split(",")[-2:] for line in claims_csv(judged).splitlines()] == [
        ["verdict", "decisive"], ["not run", "1"], ["shown", "1"]
    ]  # fmt: skip
    assert [cell.text for cell in claims_table(judged).rows[0]][-2:] == ["-10 %", "shown"]
    assert "not run: some of the runs" in claim_notes(judged)[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metric": "makespam_s"}, "neither overhead nor a column"),
        ({"take": "best"}, "along, values and take come together"),
        ({"policy": None}, "is a policy's"),
        ({"against": "new"}, "against other policies"),
        ({"against": None, "paper": "lower"}, "against other policies"),
        ({"paper": -69}, "a fraction"),
        ({"paper": [-0.1, 0.2]}, "one side of 0"),
        ({"paper": True}, "not yes or no"),
        ({"says": "two\nlines"}, "pattern"),
        ({"metric": "overhead"}, "has a model and a tier"),
        ({"papre": 1}, "papre"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    """With the field, before anything is read."""
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"paper": "p", "claims": [MAKESPAN | {"paper": -0.5} | change]}))
    with pytest.raises(InputError, match=words):
        read_claims(str(path))


def test_malformed_yaml_is_told_with_its_place(tmp_path: Path) -> None:
    """The line that the parser stumbled over."""
    path = tmp_path / "claims.yaml"
    path.write_text("paper: p\nclaims: [")
    with pytest.raises(InputError, match="malformed YAML"):
        read_claims(str(path))


def test_no_such_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines that name what ships."""
    assert main([str(tmp_path), "--claims", "dalli"]) == 2
    assert "allowed: dally, muri, or a file" in capsys.readouterr().err


@pytest.mark.parametrize(("paper", "overheads"), [("dally", 18), ("muri", 0)])
def test_the_claims_that_ship_name_what_exists(paper: str, overheads: int) -> None:
    """Policies of each claim are choices of ours; Table 1 of Dally is whole: 6 models x 3 tiers."""
    conf = Path(__file__).parents[3] / "conf"
    known = {path.stem for path in (conf / "policy").glob("*.yaml")} | {None}
    file = read_claims(paper)
    assert {name for claim in file.claims for name in (claim.policy, *claim.others)} <= known
    assert sum(claim.metric == "overhead" for claim in file.claims) == overheads


def test_a_policy_against_itself_where_something_else_holds(runs: Maker) -> None:
    """New at 16 racks has 60 s, at 2 racks 80: a quarter less; the seeds pair up."""
    made = runs({("new", 2): (80.0, 80.0), ("new", 16): (60.0, 60.0)})
    asked = {"against": "new", "where": {"cluster.racks": 16}, "against_where": {"cluster.racks": 2}}
    assert held(made, **asked, paper="lower").decisive.ours.mean == -0.25
    along = {"against": "new", "against_where": {"cluster.racks": 2}, "along": "cluster.racks"}
    result = held(made, **along, values=[2, 16], take="best", paper="lower")
    assert [place.ours.mean for place in result.places] == [0, -0.25]


@pytest.mark.parametrize(("within", "verdict"), [(0.15, "near"), (0.1, "off")])
def test_the_same_is_no_change_worth_mentioning(runs: Maker, within: float, verdict: str) -> None:
    """112.5 against 100 s: within 15 %, not within 10 %; the text says what the paper says."""
    result = held(runs({("old", 2): (100.0,), ("new", 2): (112.5,)}), paper="same", within=within)
    assert (result.verdict, paper_text(result.claim)) == (verdict, "same")


def test_where_may_allow_several_values_and_none(runs: Maker) -> None:
    """Racks 2 or 4; a key that no run has is empty."""
    made = runs({("old", 2): (100.0,), ("new", 2): (90.0,), ("new", 16): (10.0,)})
    where = {"cluster.racks": [2, 4], "policy.noise": ["", 0]}
    assert held(made, where=where, paper="lower").decisive.ours.mean == pytest.approx(-0.1)
