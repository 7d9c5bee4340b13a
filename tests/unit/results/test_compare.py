"""Replicates among runs, and the config keys that separate the others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from artist.results.compare import along_note, compare
from artist.results.names import spoken
from artist.results.run import Run
from artist.results.scenarios import contest


def _run(
    policy: str = "fifo", seed: int = 0, folder: str = "r", code: str = "", at: int = 0, **sections: Any
) -> Run:
    config = {"seed": seed, "policy": {"_target_": f"artist.{policy}", "name": policy}, **sections}
    made_by = {"version": "1", **({"code": code} if code else {})}
    ended = {"jobs": 3, "finished": 3, "stopped_by": "finished"}
    summary = {"policy": policy, "seed": seed, **ended, "run": made_by}
    return Run(Path(folder), summary, config, at)


def test_runs_equal_but_for_the_seed_are_one_group() -> None:
    """2 policies x 3 seeds are 2 groups of 3, seeds in order; the seed is no column."""
    comparison = compare([_run(policy, seed) for seed in (2, 0, 1) for policy in ("srtf", "fifo")])
    assert comparison.keys == ("policy",)
    assert [(g.label, [run.summary["seed"] for run in g.runs]) for g in comparison.groups] == [
        ("fifo", [0, 1, 2]),
        ("srtf", [0, 1, 2]),
    ]


def test_a_seed_handed_on_in_the_config_is_the_seed() -> None:
    """A part that repeats the one seed in its own section does not make the runs different."""
    comparison = compare([_run(seed=seed, workload={"seed": seed}) for seed in (0, 1)])
    assert [len(group.runs) for group in comparison.groups] == [2]


def test_output_and_cache_are_no_difference() -> None:
    """Folders of results and answers do not change a run, so these two are replicates."""
    runs = [
        _run(seed=i, output={"dir": f"d{i}"}, hydra={"job": i}, network={"cache": f"c{i}"}) for i in (0, 1)
    ]
    assert [len(group.runs) for group in compare(runs).groups] == [2]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_newest_run_of_a_config_and_seed_counts(order: tuple[int, ...]) -> None:
    """A policy was edited twice and run again, whatever the order of folders: n stays 1, the last counts."""
    edited = [_run(folder=f"at {at}", code=f"c{at}", at=at) for at in range(3)]
    comparison = compare([edited[i] for i in order])
    assert [[str(run.folder) for run in group.runs] for group in comparison.groups] == [["at 2"]]
    assert {str(run.folder) for run in comparison.older} == {"at 0", "at 1"}
    assert comparison.keys == ("policy",)


def test_a_point_of_two_sweeps_is_one_run() -> None:
    """Its folder has the name of its run key in both: neither is an older run."""
    comparison = compare([_run(folder=f"{sweep}/5f1c", at=at) for at, sweep in enumerate(("one", "two"))])
    assert [len(group.runs) for group in comparison.groups] == [1]
    assert comparison.older == ()


def test_runs_of_different_code_are_no_replicates() -> None:
    """5 seeds, then an edit and 2 of them again: 2 new and 3 old runs are two rows."""
    old = [_run(seed=seed, code="aa", at=seed) for seed in range(5)]
    new = [_run(seed=seed, code="bb", at=10 + seed) for seed in range(2)]
    comparison = compare([*old, *new])
    assert comparison.keys == ("policy", "code")
    assert [(g.values, [run.summary["seed"] for run in g.runs]) for g in comparison.groups] == [
        (("fifo", "bb"), [0, 1]),
        (("fifo", "aa"), [2, 3, 4]),
    ]
    assert comparison.older == tuple(old[:2])


def test_the_version_replaces_a_missing_code_digest() -> None:
    """Runs of before `run.code` was written: seeds of two versions are not pooled either."""
    runs = [_run(seed=seed) for seed in (0, 1)]
    runs[1].summary["run"]["version"] = "2"
    assert [group.values for group in compare(runs).groups] == [("fifo", "1"), ("fifo", "2")]


def test_code_is_no_column_where_the_config_differs_too() -> None:
    """Two policies run before and after an edit: the rows differ by name, and need no digest."""
    assert compare([_run("fifo", code="aa"), _run("srtf", code="bb")]).keys == ("policy",)


def test_settings_that_differ_together_are_all_named() -> None:
    """A column for `start_s` tells the rows apart; `restart_s` differs too, and both tables say so.

    What comes with the choice of a part, such as the parameters of another policy, is none of these.
    """
    parts = {"_target_": "Delays"}
    runs = [_run(overheads=parts | {"start_s": 0, "restart_s": 0, "table": 0})]
    runs += [_run(overheads=parts | {"start_s": 5, "restart_s": 9, "table": 0}, workload={"jobs": 3})]
    comparison = compare(runs)
    assert comparison.keys == ("policy", "overheads.start_s", "workload.jobs")
    assert comparison.along == ("overheads.restart_s",)
    assert along_note(comparison) == "settings that differ together with the columns: overheads.restart_s"
    other = _run("srtf", overheads=parts | {"start_s": 0, "restart_s": 0, "table": 0})
    other.config["policy"]["interval_s"] = 60
    assert compare([runs[0], other]).along == ()
    assert along_note(compare([runs[0], other])) == ""


def test_long_labels_get_letters() -> None:
    """A label of 38 characters does not fit a panel: A, B; short ones need none, nor does one row alone."""
    runs = [_run(workload={"path": f"/data/{name * 30}/trace.csv"}) for name in "xy"]
    groups = compare(runs).groups
    assert [(g.letter, g.shown[1]) for g in groups] == [
        ("A", "xxxxxxxxxxxxxx...xxxxx/trace.csv"),
        ("B", "yyyyyyyyyyyyyy...yyyyy/trace.csv"),
    ]
    assert groups[0].values[1] == f"/data/{'x' * 30}/trace.csv"
    assert [g.letter for g in compare([_run("fifo"), _run("srtf")]).groups] == ["", ""]
    assert [g.letter for g in compare([_run("p" * 50)]).groups] == [""]


def test_differing_keys_lead_in_natural_order() -> None:
    """Racks differ, machines do not: one column; 8 before 16, as numbers."""
    runs = [_run(cluster={"racks": racks, "machines_per_rack": 4}) for racks in (16, 8)]
    comparison = compare(runs)
    assert comparison.keys == ("policy", "cluster.racks")
    assert [group.values for group in comparison.groups] == [("fifo", "8"), ("fifo", "16")]
    assert [group.label for group in comparison.groups] == ["fifo, 8 racks", "fifo, 16 racks"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ({}, ["none", "rsc1", "20*rsc1"]),
        ({"cluster.failures": ("20*rsc1", "none", "rsc1")}, ["20*rsc1", "none", "rsc1"]),
        ({"cluster.failures": ("rsc1",)}, ["rsc1", "none", "20*rsc1"]),
    ],
)
def test_failures_are_in_the_order_of_their_sweep_or_of_their_number(
    order: dict[str, tuple[str, ...]], expected: list[str]
) -> None:
    """None, once and 20 times a rate, unless a sweep names them otherwise; values that it lacks come last."""
    runs = [
        replace(_run(policy, cluster={"failures": failures}), order=order)
        for failures in ("20*rsc1", "rsc1", None)
        for policy in ("srtf", "fifo")
    ]
    groups = compare(runs).groups
    assert [group.values for group in groups] == [(p, f) for p in ("fifo", "srtf") for f in expected]
    assert [scenario.name for scenario in contest(compare(runs)).scenarios] == [
        spoken("cluster.failures", [value]) for value in expected
    ]


def test_numbers_ascend_however_their_sweep_names_them() -> None:
    """Swept as 16, 8: 8 racks lead, as along the axis of a figure."""
    runs = [replace(_run(cluster={"racks": n}), order={"cluster.racks": ("16", "8")}) for n in (16, 8)]
    assert [group.values[1] for group in compare(runs).groups] == ["8", "16"]


def test_parameters_implied_by_a_name_are_not_repeated() -> None:
    """Another policy has another class and other parameters; its name says it all."""
    one = _run("fifo")
    two = _run("tiresias")
    two.config["policy"]["queues"] = 2
    assert compare([one, two]).keys == ("policy",)


def test_a_parameter_swept_within_a_policy_is_a_column() -> None:
    """Tiresias with 2 and 3 queues beside FIFO, which has none: the cell of FIFO is empty."""
    runs = [_run("fifo"), _run("tiresias"), _run("tiresias")]
    runs[1].config["policy"] |= {"queues": 3, "limits": [1, 2]}
    runs[2].config["policy"] |= {"queues": 2, "limits": [1]}
    comparison = compare(runs)
    assert comparison.keys == ("policy", "policy.queues")
    assert [group.values for group in comparison.groups] == [
        ("fifo", ""),
        ("tiresias", "2"),
        ("tiresias", "3"),
    ]


def test_two_keys_of_one_section_that_both_matter_are_both_columns() -> None:
    """2 x 2 racks and machines per rack: four groups need both keys."""
    runs = [_run(cluster={"racks": r, "machines_per_rack": m}) for r in (1, 2) for m in (4, 8)]
    assert compare(runs).keys == ("policy", "cluster.racks", "cluster.machines_per_rack")


def test_a_policy_given_as_a_word_is_read_too() -> None:
    """A config whose policy is a plain name does not collide with the column of that name."""
    runs = [Run(Path("r"), _run(name).summary, {"policy": name}) for name in ("a", "b")]
    assert [group.label for group in compare(runs).groups] == ["a", "b"]
