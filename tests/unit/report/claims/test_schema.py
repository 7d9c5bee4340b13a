"""A file of claims: refused if it makes no sense or says the same twice; those that ship name what exists."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from artist.errors import InputError
from artist.report.claims.schema import NUMBERS, read_claims
from artist.report.command import main

NUMBER = {"says": "much", "source": "1", "metric": "overhead", "model": "m", "tier": "rack", "paper": 0.1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metric": "makespam_s"}, "is neither one of overhead"),
        ({"metric": []}, "at least 1"),
        ({"metric": ["makespan_s", "overhead"]}, "a number or a change, not both"),
        ({"source": []}, "at least 1"),
        ({"take": "best"}, "along, values and take come together"),
        ({"policy": None}, "is a policy's"),
        ({"against": "new"}, "against other policies"),
        ({"against": [], "paper": "lower"}, "against other policies"),
        ({"policy": {"policy.a": 1}}, "policy.name"),
        ({"paper": -69}, "a fraction"),
        ({"paper": [-0.1, 0.2]}, "one side of 0"),
        ({"paper": True}, "not yes or no"),
        ({"says": "two\nlines"}, "text that matches"),
        ({"metric": "overhead"}, "compared with nothing"),
        ({"model": "VGG11"}, "have a model or a tier"),
        ({"where": {"a": []}}, "a key needs a value"),
        ({"metric": "jct_job_by_job_s", "against": ["old", "older"]}, "with one policy"),
        ({"than_where": {"a": 1}, "along": "b", "values": [1], "take": "each"}, "neither along nor"),
        ({"than_where": {"a": 1}, "against_where": {"a": 2}}, "neither along nor"),
        ({"papre": 1}, "papre"),
        (NUMBER | {"policy": None, "against": [], "tier": None}, "has a model and a tier"),
        (NUMBER | {"against": "old"}, "compared with nothing"),
        (NUMBER | {"against": [], "metric": "allocator_steps", "model": None}, "has a model"),
        (NUMBER | {"against": [], "paper": "higher"}, "compared with nothing"),
        ({"against": [], "metric": "gpu_allocated", "paper": "higher"}, "compared with nothing"),
        (
            {"against": [], "metric": "gpu_allocated", "paper": 0.5, "model": "m"},
            "have a model or a tier",
        ),
        ({"against": [], "metric": "gpu_allocated", "against_where": {"a": 1}}, "against other policies"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    tmp_path: Path, makespan_claim: Mapping[str, Any], change: dict[str, Any], words: str
) -> None:
    """With the field, before anything is read."""
    path = tmp_path / "claims.yaml"
    claim = {**makespan_claim, "paper": -0.5, **change}
    path.write_text(yaml.safe_dump({"paper": "p", "claims": [claim]}))
    with pytest.raises(InputError, match=words):
        read_claims(str(path))


@pytest.mark.parametrize(
    ("one", "other", "twice"),
    [
        ({}, {}, True),
        ({}, {"source": "6.1", "paper": "lower"}, True),  # another place in the paper, another number
        ({"where": {"a": 1, "b": 2}}, {"where": {"b": 2, "a": 1}}, True),
        ({"metric": ["makespan_s", "jct_mean_s"]}, {"metric": "jct_mean_s"}, True),
        ({"along": "racks", "values": [2, 4], "take": "each"}, {"where": {"racks": 4}}, True),
        ({"along": "racks", "values": [2, 4], "take": "best"}, {"where": {"racks": 4}}, False),
        ({}, {"where": {"racks": 4}}, False),
        ({}, {"metric": "jct_mean_s"}, False),
        ({}, {"against": "older"}, False),
        ({}, {"policy": {"name": "new", "policy.a": 1}}, False),
        ({}, {"than_where": {"a": 1}}, False),
        ({}, {"against_where": {"a": 1}}, False),
    ],
)
def test_the_same_twice_is_refused(
    tmp_path: Path, makespan_claim: Mapping[str, Any], one: dict[str, Any], other: dict[str, Any], twice: bool
) -> None:
    """Same policies, metric and settings are one claim, with several places in the paper."""
    path = tmp_path / "claims.yaml"
    claims = [
        {**makespan_claim, "paper": -0.5, "says": f"claim {n}", **more} for n, more in enumerate((one, other))
    ]
    path.write_text(yaml.safe_dump({"paper": "p", "claims": claims}))
    if twice:
        with pytest.raises(InputError, match="'claim 0' and 'claim 1' are about the same number"):
            read_claims(str(path))
    else:
        assert len(read_claims(str(path)).claims) == 2


def test_malformed_yaml_is_refused_with_its_place(tmp_path: Path) -> None:
    """The line that the parser stumbled over."""
    path = tmp_path / "claims.yaml"
    path.write_text("paper: p\nclaims: [")
    with pytest.raises(InputError, match="line 2, column 10: not YAML"):
        read_claims(str(path))


def test_no_such_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines that name what ships."""
    assert main([str(tmp_path), "--claims", "dalli"]) == 2
    assert "allowed: coda, dally, lyra, muri, synergy, or a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("paper", "numbers"), [("dally", 18), ("muri", 5), ("synergy", 0), ("coda", 16), ("lyra", 1)]
)
def test_the_claims_that_ship_name_existing_policies_and_metrics(paper: str, numbers: int) -> None:
    """Policies of claims are ours; Dally's Table 1 (6 models x 3 tiers) and Muri's Table 2 are whole."""
    conf = Path(__file__).parents[4] / "conf"
    known = {path.stem for path in (conf / "policy").glob("*.yaml")}
    file = read_claims(paper)
    named = [who for claim in file.claims for who in (claim.policy, *claim.against) if who is not None]
    named += [who for reading in file.readings.values() for who in reading.values()]
    assert {who.name for who in named} <= known
    assert sum(claim.metric[0] in NUMBERS for claim in file.claims) == numbers


def test_the_throughputs_of_table_2_are_those_of_one_clock() -> None:
    """Samples/s together / batch: 13.7 to 13.8 a second for all; so each has solo time / T, in all 2.0."""
    table = {  # batch (Table 3), samples/s alone, together
        "ShuffleNet": (128, 2041, 1756), "A2C": (64, 1811, 878),
        "GPT-2": (4, 134, 55), "VGG16": (16, 890, 220),
    }  # fmt: skip
    clocks = [together / batch for batch, _, together in table.values()]
    assert all(13.7 < clock < 13.8 for clock in clocks)
    period_s = len(clocks) / sum(clocks)
    claimed = {claim.model: claim.paper for claim in read_claims("muri").claims if claim.metric[0] in NUMBERS}
    solo_s = {model: batch / alone for model, (batch, alone, _) in table.items()}
    for model, seconds in solo_s.items():
        assert claimed[model] == pytest.approx(seconds / period_s, abs=0.01)
    assert claimed[None] == pytest.approx(sum(solo_s.values()) / period_s, abs=0.01)
