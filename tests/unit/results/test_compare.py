"""Which runs are replicates, and which config keys tell the others apart."""

from pathlib import Path
from typing import Any

from artist.results.compare import compare
from artist.results.folder import Run


def _run(policy: str = "fifo", seed: int = 0, folder: str = "r", **sections: Any) -> Run:
    config = {"seed": seed, "policy": {"_target_": f"artist.{policy}", "name": policy}, **sections}
    return Run(Path(folder), {"policy": policy, "seed": seed}, config)


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
    """Where results and answers are kept does not change a run, so these two are replicates."""
    runs = [
        _run(seed=i, output={"dir": f"d{i}"}, hydra={"job": i}, network={"cache": f"c{i}"}) for i in (0, 1)
    ]
    assert [len(group.runs) for group in compare(runs).groups] == [2]


def test_the_same_run_twice_is_no_replicate() -> None:
    """Same config and seed found in two folders: n stays 1, and the second is reported."""
    comparison = compare([_run(folder="first"), _run(folder="second")])
    assert [[str(run.folder) for run in group.runs] for group in comparison.groups] == [["first"]]
    assert [str(run.folder) for run in comparison.repeated] == ["second"]


def test_differing_keys_lead_in_natural_order() -> None:
    """Racks differ, machines do not: one column; 8 before 16, as numbers."""
    runs = [_run(cluster={"racks": racks, "machines_per_rack": 4}) for racks in (16, 8)]
    comparison = compare(runs)
    assert comparison.keys == ("policy", "cluster.racks")
    assert [group.values for group in comparison.groups] == [("fifo", "8"), ("fifo", "16")]
    assert [group.label for group in comparison.groups] == ["fifo, racks=8", "fifo, racks=16"]


def test_what_a_name_determines_is_not_repeated() -> None:
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
    runs = [Run(Path("r"), {"policy": name, "seed": 0}, {"policy": name}) for name in ("a", "b")]
    assert [group.label for group in compare(runs).groups] == ["a", "b"]
