"""Answers at the page's top, on summaries whose outcome is plain."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from artist.errors import InputError
from artist.report.words.answers import answers
from artist.report.words.policies import each_policy
from artist.report.words.verdicts import at_scenarios
from artist.report.words.wording import at_most, duration, longer, often, per_cent
from artist.results.compare import Comparison, compare
from artist.results.digest import AcrossRacks, digest
from artist.results.folder import read_run
from artist.results.scenarios import Scenario, contest
from artist.results.tables import comparison_grid

Point = tuple[str, int, int, float]  # policy, racks, seed, mean JCT


@pytest.fixture
def comparison(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Comparison]:
    """Write the run on paper with other mean completion times in its summaries."""

    def make(points: Sequence[Point], folder: Path = tmp_path) -> Comparison:
        runs = []
        for i, (policy, racks, seed, mean_s) in enumerate(points):
            config = {"policy": {"name": policy}, "seed": seed, "cluster": {"racks": racks}}
            run = read_run(run_folder(folder / str(i), config))
            run.summary["jct_s"]["mean"] = mean_s
            runs.append(run)
        return compare(runs)

    return make


def said(comparison: Comparison, topic: str) -> str:
    """Return the sentences on a topic."""
    rows = [digest(group) for group in comparison.groups]
    return dict(answers(comparison, contest(comparison), rows, []))[topic]


def waiting(comparison: Comparison, mean_s: float) -> Comparison:
    """Return the comparison with other mean waits in its summaries."""
    for run in (run for group in comparison.groups for run in group.runs):
        run.summary["queueing_s"]["mean"] = mean_s
    return comparison


WHICH, DRIVES, SURE = "Which policy", "What drives it", "How sure"


def test_the_best_is_named_with_its_distance(comparison: Callable[..., Comparison]) -> None:
    """100 s under fifo, 60 s under srtf, 75 s under las: 67 % and 25 % above the lowest."""
    points = [("fifo", 1, 0, 100.0), ("las", 1, 0, 75.0), ("srtf", 1, 0, 60.0)]
    assert said(comparison(points), WHICH) == (
        "Choose srtf: the lowest mean JCT, 60.0 s; it is 25 % longer under las (75.0 s) and 67 % longer "
        "under fifo (1.67 min)."
    )


@pytest.mark.parametrize(("wait_s", "tells"), [(0.0, False), (3.0, False), (3.1, True)])
def test_a_study_in_which_nobody_waits_cannot_tell_policies_apart(
    comparison: Callable[..., Comparison], tmp_path: Path, wait_s: float, tells: bool
) -> None:
    """Of 60 s each: waiting is at most 5 % of it up to 3 s. With srtf of 30 s they are told apart."""
    points = [("fifo", 1, 0, 60.0), ("srtf", 1, 0, 60.0)]
    text = said(waiting(comparison(points), wait_s), WHICH)
    wait = "0 s" if not wait_s else "3.00 s"
    assert text == (
        "Any, as mean JCTs are equal."
        if tells
        else "This study cannot tell which is best: hardly any job waits (mean wait "
        f"{wait}, 76 % of GPUs used); raise the load or use fewer machines."
    )
    points[1] = ("srtf", 1, 0, 30.0)
    assert "Choose srtf" in said(waiting(comparison(points, tmp_path / "far"), 0.0), WHICH)


def test_seeds_that_agree_on_no_winner_are_an_answer(comparison: Callable[..., Comparison]) -> None:
    """100, 101 and 102 s under both policies: 101 +- 4.303 x 1 / sqrt(3) = 2.48 s, 2.5 %."""
    points = [(policy, 1, seed, 100.0 + seed) for policy in ("fifo", "srtf") for seed in range(3)]
    assert said(comparison(points), SURE) == (
        "No policy is ahead over 3 seeds: mean JCTs are equal. Mean JCTs have 95 % intervals of up to "
        "\u00b1 2.5 % over 3 seeds."
    )


def test_cases_are_distinguished(comparison: Callable[..., Comparison]) -> None:
    """At 1 rack srtf is best; at 2 and 3 racks 50 and 50.1 s, 40 and 40.1 s: 0.25 % at most, said once."""
    points = [
        (policy, racks, 0, mean)
        for policy, means in (("fifo", (200.0, 50.0, 40.0)), ("srtf", (100.0, 50.1, 40.1)))
        for racks, mean in zip((1, 2, 3), means, strict=True)
    ]
    assert said(comparison(points), WHICH) == (
        "With 1 rack, choose srtf: the lowest mean JCT, 1.67 min; it is 2.0 times as long under fifo "
        "(3.33 min). With 2 and 3 racks, any, as mean JCTs are at most 0.25 % apart."
    )


def test_level_policies_are_not_ranked(comparison: Callable[..., Comparison]) -> None:
    """60 s and 60.5 s differ by 0.8 %: both are named, neither is called better than the other."""
    points = [("fifo", 1, 0, 100.0), ("las", 1, 0, 60.5), ("srtf", 1, 0, 60.0)]
    assert said(comparison(points), WHICH) == (
        "Choose either srtf or las: the lowest mean JCT, 60.0 s; it is 67 % longer under fifo (1.67 min)."
    )


@pytest.mark.parametrize(
    ("srtf", "words"),
    [
        (
            (10.0, 10.5, 11.0),
            "Sure: srtf came first; seed by seed, the mean JCT under fifo is 14 times as long (95 % interval "
            "6.5 to 29",
        ),
        (
            (90.0, 140.0, 190.0),
            "Sure: srtf came first; seed by seed, the mean JCT under fifo is 1.08 times as long (95 % "
            "interval 1.01 to 1.15",
        ),
        (
            (90.0, 150.0, 180.0),
            "Not sure: seed by seed, the mean JCT under fifo is 1.07 times as long (95 % interval 0.92 to "
            "1.25 over 3 seeds).",
        ),
    ],
)
def test_a_lowest_policy_is_certain_seed_by_seed(
    comparison: Callable[..., Comparison], srtf: Sequence[float], words: str
) -> None:
    """Under fifo, three seeds have 100, 150 and 200 s, which differ in their jobs.

    Of 90, 140 and 190 s this is 11.1, 7.1 and 5.3 % more: 7.8 +- 7.4 %. Of 90, 150, 180 s: 11.1, 0 and
    11.1 %, 7.4 +- 15.9 %, which may be none.

    As ratios on a log scale: 1.111, 1.071 and 1.053 have logarithms of 0.0752 +- 4.303 x 0.0276 / sqrt(3) =
    0.0685, so 1.078 (1.007 to 1.155); 10, 14.3 and 18.2 of 2.621 +- 0.747, so 13.7 (6.5 to 29).
    """
    points = [
        (policy, 1, seed, mean)
        for policy, means in (("fifo", (100.0, 150.0, 200.0)), ("srtf", srtf))
        for seed, mean in enumerate(means)
    ]
    compared = comparison(points)
    assert said(compared, SURE).startswith(words)
    assert ("But fifo may be as good: see How sure." in said(compared, WHICH)) == ("Not sure" in words)


def test_the_last_fall_has_its_interval(comparison: Callable[..., Comparison]) -> None:
    """Ratios of 1.2, 1.25 and 1.3: logarithms 0.2226 +- 4.303 x 0.0400 / sqrt(3), so 1.25 (1.13 to 1.38)."""
    points = [("fifo", 1, seed, mean) for seed, mean in enumerate((120.0, 125.0, 130.0))]
    points += [("fifo", 2, seed, 100.0 + 1e-6 * seed) for seed in range(3)]
    fall = "Seed by seed, with 1 rack it is 1.25 times as long (95 % interval 1.13 to 1.38 over 3 seeds)."
    assert fall in said(comparison(points), "How many racks")


def test_a_choice_that_knows_run_times_is_called_so(comparison: Callable[..., Comparison]) -> None:
    """Few clusters know run times in advance, as srtf does; of fifo, second here, nothing is said."""
    compared = comparison([("fifo", 1, 0, 100.0), ("srtf", 1, 0, 60.0)])
    for group in compared.groups:
        knowledge = {"knowledge": "knows run times in advance"} if group.label == "srtf" else {}
        group.runs[0].summary["setting"] = {"Policy": knowledge}
    assert said(compared, WHICH).startswith(
        "Choose srtf (it knows run times in advance): the lowest mean JCT"
    )


def test_one_seed_is_called_one_seed(comparison: Callable[..., Comparison]) -> None:
    """Nothing is claimed to be certain from single runs."""
    points = [("fifo", 1, 0, 100.0), ("srtf", 1, 0, 60.0)]
    assert "each row is one run, which does not say what is chance" in said(comparison(points), SURE)


@pytest.mark.parametrize(("second", "words"), [(70.0, "srtf came first in every seed"), (115.0, "Not sure")])
def test_two_seeds_have_no_intervals_but_may_agree(
    comparison: Callable[..., Comparison], second: float, words: str
) -> None:
    """An interval takes three. Under fifo 100 and 110 s; 60 and 70 s are less, 115 s is not."""
    points = [("fifo", 1, 0, 100.0), ("fifo", 1, 1, 110.0), ("srtf", 1, 0, 60.0), ("srtf", 1, 1, second)]
    text = said(comparison(points), SURE)
    assert text.startswith("Not very: each row is the mean of only 2 seeds.")
    assert words in text


def test_parts_that_work_against_each_other_are_times(
    run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """Under srtf b waits 9 s less but has 3 s of overheads: 3 s and -1 s of 2 s of the mean."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fifo, srtf = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("fifo", "srtf")
    )
    table = pq.read_table(srtf / "jobs.parquet")
    changed = {"queueing_s": [0.0] * 3, "overhead_s": [0.0, 3.0, 0.0], "jct_s": [10.0, 15.5, 4.0]}
    for name, values in changed.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, srtf / "jobs.parquet")
    runs = [read_run(fifo), read_run(srtf)]
    runs[1].summary["jct_s"]["mean"] = 29.5 / 3
    assert said(compare(runs), DRIVES) == (
        "The policy matters: mean JCTs are up to 20 % above the lowest. Under srtf, the mean JCT is 2.00 "
        "s shorter than under fifo: 3.00 s because jobs wait less, minus 1.00 s because more is lost to "
        "starts, stops and repeated work."
    )


def test_many_cases_share_a_sentence(comparison: Callable[..., Comparison]) -> None:
    """6 clusters: srtf lowest on 5, where fifo takes 100 / 90 to 100 / 40 as long; fifo on 1."""
    means = {"fifo": (100.0,) * 6, "srtf": (90.0, 80.0, 40.0, 70.0, 60.0, 150.0)}
    points = [
        (policy, racks, 0, mean) for policy, row in means.items() for racks, mean in enumerate(row, start=1)
    ]
    assert said(comparison(points), WHICH) == (
        "With 1, 2, 3, 4 and 5 racks, choose srtf: the lowest mean JCT in all 5 cases; it is 1.1 to 2.5 "
        "times as long under fifo. With 6 racks, choose fifo: the lowest mean JCT, 1.67 min; it is 50 % "
        "longer under srtf (2.50 min)."
    )


def test_one_policy_that_is_lowest_everywhere_is_named_once(comparison: Callable[..., Comparison]) -> None:
    """100 s and 90 s at 1 rack, 100 s and 40 s at 6 racks: 1.1 to 2.5 times."""
    points = [("fifo", racks, 0, 100.0) for racks in range(1, 7)]
    points += [("srtf", racks, 0, 100.0 - 10 * racks) for racks in range(1, 7)]
    assert said(comparison(points), WHICH) == (
        "Choose srtf: the lowest mean JCT in all 6 cases; it is 1.1 to 2.5 times as long under fifo."
    )


def test_reasons_are_where_the_time_went(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Under srtf b waits 0 s instead of 9 s: the mean falls by 3 s, all of it queueing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fifo, srtf = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("fifo", "srtf")
    )
    table = pq.read_table(srtf / "jobs.parquet")
    for name, values in (("queueing_s", [0.0, 0.0, 0.0]), ("jct_s", [10.0, 12.5, 4.0])):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, srtf / "jobs.parquet")
    runs = [read_run(fifo), read_run(srtf)]
    runs[1].summary["jct_s"]["mean"] = 26.5 / 3
    assert said(compare(runs), DRIVES) == (
        "The policy matters: mean JCTs are up to 34 % above the lowest. Under srtf, the mean JCT is 3.00 "
        "s shorter than under fifo: practically all of it because jobs wait less."
    )


def test_computing_may_be_a_reason(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Twice the GPUs: each job computes for half as long, and runs so much shorter; b's queueing stays.

    The mean falls by (5 + 5 + 2) / 3 = 4 s, all of it computing.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    slow, fast = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("slow", "fast")
    )
    table = pq.read_table(fast / "jobs.parquet")
    halved = {name: table[name].to_pylist() for name in ("compute_s", "running_s", "jct_s")}
    saved = [compute_ / 2 for compute_ in halved["compute_s"]]
    for name, values in halved.items():
        less = pa.array([value - gain for value, gain in zip(values, saved, strict=True)])
        table = table.set_column(table.column_names.index(name), name, less)
    pq.write_table(table, fast / "jobs.parquet")
    runs = [read_run(slow), read_run(fast)]
    runs[1].summary["jct_s"]["mean"] = runs[0].summary["jct_s"]["mean"] - 4
    assert said(compare(runs), DRIVES).endswith(
        "Under fast, the mean JCT is 4.00 s shorter than under slow: practically all of it because jobs "
        "compute for less time (on other GPUs, or more of them)."
    )


def test_communication_is_more_than_its_share(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """On paper b exposes 2.5 s; on the fast network none: 0.83 s of the mean, and it held GPUs meanwhile."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    slow, fast = (
        run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0}) for name in ("slow", "fast")
    )
    table = pq.read_table(fast / "jobs.parquet")
    for name in ("running_s", "jct_s"):
        less = pa.array(
            [a - b for a, b in zip(*(table[n].to_pylist() for n in (name, "exposed_comm_s")), strict=True)]
        )
        table = table.set_column(table.column_names.index(name), name, less)
    table = table.set_column(
        table.column_names.index("exposed_comm_s"), "exposed_comm_s", pa.array([0.0] * 3)
    )
    pq.write_table(table, fast / "jobs.parquet")
    runs = [read_run(slow), read_run(fast)]
    runs[1].summary["jct_s"]["mean"] -= 2.5 / 3
    assert said(compare(runs), DRIVES).endswith(
        "practically all of it because jobs communicate for less time; communication holds GPUs for "
        "longer, so part of the waiting is its doing."
    )


def test_the_first_sentence_names_policy_and_scenario(comparison: Callable[..., Comparison]) -> None:
    """At 1 rack srtf; at 2 racks las and srtf are level, so srtf is best at both; at 3 none stands out."""
    means = {"fifo": (200.0, 90.0, 40.0), "las": (150.0, 50.1, 40.0), "srtf": (100.0, 50.0, 40.1)}
    points = [
        (policy, racks, 0, mean) for policy, row in means.items() for racks, mean in enumerate(row, start=1)
    ]
    assert said(comparison(points), WHICH) == (
        "With 1 and 2 racks, choose srtf: the lowest mean JCT, or one within 1 % of it, in both cases; it is "
        "up to 50 % longer under las and 1.8 to 2.0 times as long under fifo. With 3 racks, any, as mean "
        "JCTs are at most 0.25 % apart."
    )


def test_one_row_has_nothing_to_compare(comparison: Callable[..., Comparison]) -> None:
    """No best of one; what its mean JCT is made of is said: 9 of 35.5 s are waiting, 25 %."""
    compared = comparison([("fifo", 1, 0, 1.0)])
    assert "nothing to compare" in said(compared, WHICH)
    assert said(compared, DRIVES).startswith("Of the mean JCT (11.8 s), 25 % is waiting in the queue")


def test_with_one_policy_no_policy_is_recommended(comparison: Callable[..., Comparison]) -> None:
    """Under fifo alone, 1 and 2 racks: the racks are compared, not called policies."""
    compared = comparison([("fifo", 1, 0, 100.0), ("fifo", 2, 0, 50.0)])
    assert said(compared, WHICH) == "Only fifo was run, so there is none to choose."
    assert "Compared with the best number, the mean JCT with 1 rack is 2.0 times as long" in said(
        compared, "How many racks"
    )


def test_settings_without_effect_are_named(comparison: Callable[..., Comparison]) -> None:
    """At 2 racks the policies are within 1 %; the makespan is that of the run on paper in all runs.

    Communication is a quarter of b's computing in it, so the network played a part.
    """
    means = {"fifo": (100.0, 50.0), "srtf": (50.0, 50.1)}
    points = [(policy, racks, 0, row[racks - 1]) for policy, row in means.items() for racks in (1, 2)]
    compared = comparison(points)
    compared.groups[1].runs[0].summary["queueing_s"]["mean"] = 2.0  # fifo's at 2 racks; srtf's is 3 s
    assert said(compared, "What does not matter") == (
        "The policy with 2 racks, where jobs wait 3.00 s on average at most. Makespans are within 1 % "
        "under all policies."
    )


def test_the_setting_with_the_largest_effect_is_first(comparison: Callable[..., Comparison]) -> None:
    """200 s with 1 rack, 100 s with 2, under fifo; at 1 rack 200 s under fifo, 190 s under srtf."""
    means = {"fifo": (200.0, 100.0), "srtf": (190.0, 99.0)}
    points = [(policy, racks, 0, row[racks - 1]) for policy, row in means.items() for racks in (1, 2)]
    assert said(comparison(points), DRIVES).startswith(
        "The number of racks matters most: mean JCTs are up to 2.0 times the lowest (under fifo); then the "
        "policy, 5.3 % above the lowest (with 1 rack)."
    )


def test_only_the_first_of_several_numbers_has_a_line(
    comparison: Callable[..., Comparison], tmp_path: Path
) -> None:
    """2 loads and 2 notices: the first has its line, what the second changes is told by what drives it."""
    runs = []
    for i, (load, notice) in enumerate(product((0.6, 1.2), (10, 20))):
        (row,) = comparison([("fifo", 1, 0, 100.0 * load + notice)], tmp_path / str(i)).groups
        row.runs[0].config.update(workload={"load": load}, overheads={"notice_s": notice})
        runs += row.runs
    compared = compare(runs)
    result = dict(answers(compared, contest(compared), [], []))
    assert [question for question in result if "changes" in question] == ["What load changes"]
    assert "then the delay of notices, 14 % above the lowest" in result[DRIVES]


def test_there_are_at_most_eight_lines(comparison: Callable[..., Comparison], tmp_path: Path) -> None:
    """3 loads, 4 policies, 2 sizes, 2 fabrics, with cautions: eight lines, no question twice.

    None has more than 700 characters, six lines of a page of 1,200 pixels.
    """
    runs = []
    for i, (load, policy, racks, fabric) in enumerate(
        product((0.6, 0.9, 1.2), ("dally", "fifo", "srtf", "tiresias"), (2, 4), ("near", "far"))
    ):
        (row,) = comparison([(policy, racks, 0, 100.0 * load / racks + i)], tmp_path / str(i)).groups
        row.runs[0].config.update(workload={"load": load}, topology={"name": fabric})
        runs += row.runs
    compared = compare(runs)
    rows = [digest(group) for group in compared.groups[:4]]
    careful = [("Not compared", "One. More on it."), ("Missing runs", "Two.")]
    result = answers(compared, contest(compared), rows, careful)
    assert [question for question, _ in result] == [
        "Careful", "Careful", "Which policy", "Which fabric", "How many racks", "What load changes",
        "What drives it", "What does not matter", "How sure",
    ]  # fmt: skip
    assert [answer for question, answer in result if question == "Careful"] == ["One. More on it.", "Two."]
    assert max(len(answer) for _, answer in result) <= 700


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (0.05, "under 0.1 s"), (9.0, "9.00 s"), (89.0, "89.0 s"), (90.0, "1.50 min"),
     (5400.0, "1.50 h"), (-600.0, "-10.0 min"), (1e6, "278 h")],
)  # fmt: skip
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    """Seconds up to 1.5 min, minutes up to 1.5 h, hours from there."""
    assert duration(seconds) == text


def test_per_cents() -> None:
    """A decimal below 10 %, none above; what is less than all is not said to be 100 %."""
    assert [per_cent(part) for part in (0.0, 0.011, 0.0994, 0.46, 0.998, 0.9999, 1.0, 1.56)] == [
        "0.0 %",
        "1.1 %",
        "9.9 %",
        "46 %",
        "99.8 %",
        "99.9 %",
        "100 %",
        "156 %",
    ]


@pytest.mark.parametrize(
    ("part", "text"),
    [(0.00103, "0.11 %"), (0.00003, "0.01 %"), (0.0509, "5.1 %"), (0.0099, "0.99 %"), (0.1, "10 %"),
     (0.121, "13 %"), (0.0, "0 %")],
)  # fmt: skip
def test_a_bound_is_rounded_up(part: float, text: str) -> None:
    """0.103 % is not at most 0.1 %, but at most 0.11 %."""
    assert at_most(part) == text


@pytest.mark.parametrize(
    ("parts", "text"),
    [([0.15], "15 % longer"), ([0.0, 0.12], "up to 12 % longer"), ([0.02, 0.12], "2.0 to 12 % longer"),
     ([0.1, 1.5], "1.1 to 2.5 times as long"), ([0.0, 9.0], "up to 10 times as long"),
     ([0.2, 0.2], "20 % longer"), ([0.0, 0.0004], "as long"), ([0.0, 0.0006], "up to 0.1 % longer")],
)  # fmt: skip
def test_excess_is_relative_to_the_lowest(parts: list[float], text: str) -> None:
    """From twice as long on it is a number of times; a case in which it is level makes it `up to`."""
    assert longer(parts) == text


def test_a_difference_is_not_that_of_rounded_figures(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """3811.8 s and 3676.2 s, 63.5 and 61.3 min, are 135.6 s apart: 2.26 min, not 2.2."""
    names = ("fifo", "srtf")
    runs = [read_run(run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 0})) for name in names]
    runs[0].summary["jct_s"]["mean"] = 3900.0
    compared = compare(runs)
    rows = [digest(group) for group in compared.groups]
    rows = [
        replace(row, parts_s=np.array([value, *[0.0] * 6]))
        for row, value in zip(rows, (3811.8, 3676.2), strict=True)
    ]
    result = dict(answers(compared, contest(compared), rows, []))[DRIVES]
    assert "2.26 min shorter than under fifo" in result


def test_from_one_seed_five_per_cent_count_as_equal(comparison: Callable[..., Comparison]) -> None:
    """104 s and 100 s are 4 % apart: any policy will do, and it drives nothing; 106 s and 100 s are 6 %."""
    near = waiting(comparison([("fifo", 1, 0, 104.0), ("srtf", 1, 0, 100.0)]), 6.0)
    assert said(near, WHICH) == "Any, as mean JCTs are at most 4.0 % apart, too little to tell from one seed."
    assert said(near, DRIVES).startswith(
        "Nothing that was varied makes a clear difference. Jobs wait longest under fifo: 3.00 s on average"
    )
    assert said(near, "What does not matter").startswith("The policy (mean JCTs at most 4.0 % apart).")


def test_effects_that_not_every_seed_shows_drive_nothing(comparison: Callable[..., Comparison]) -> None:
    """Racks halve it with each seed; srtf is 9 % below fifo in the mean, and not below it with seed 1."""
    means = {"fifo": ((100.0, 50.0), (100.0, 50.0)), "srtf": ((80.0, 50.0), (102.0, 50.0))}
    points = [
        (policy, racks, seed, mean)
        for policy, seeds in means.items()
        for seed, row in enumerate(seeds)
        for racks, mean in enumerate(row, start=1)
    ]
    result = said(comparison(points), DRIVES)
    assert result.startswith("The number of racks matters most: mean JCTs are up to 2.0 times the lowest")
    assert "then" not in result
    assert (
        "The policy may matter: mean JCTs are up to 9.9 % above the lowest, but that may be chance." in result
    )


def test_nothing_stays_within_a_per_cent(comparison: Callable[..., Comparison]) -> None:
    """The policy halves it, and the run on paper communicates: nothing is ruled out, nor said."""
    compared = comparison([("fifo", 1, 0, 100.0), ("srtf", 1, 0, 50.0)])
    compared.groups[0].runs[0].summary["makespan_s"] = 99.0
    rows = [digest(group) for group in compared.groups]
    assert "What does not matter" not in dict(answers(compared, contest(compared), rows, []))


def test_the_cost_of_the_best_policy_for_the_slowest_jobs_is_named(
    run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """The best in the mean has a p99 of 200 s, 25 % more than that of fifo; the p95 is the same."""
    runs = []
    for policy, mean_s, p99_s in (("fifo", 100.0, 160.0), ("srtf", 60.0, 200.0)):
        runs.append(read_run(run_folder(tmp_path / policy, {"policy": {"name": policy}, "seed": 0})))
        runs[-1].summary["jct_s"] |= {"mean": mean_s, "p95": 150.0, "p99": p99_s, "max": p99_s}
    compared = compare(runs)
    said = dict(each_policy(compared, contest(compared), [digest(group) for group in compared.groups]))
    assert said == {
        "fifo": "Its 95th percentile of JCT, 99th percentile of JCT and makespan are within 1 % of the "
        "lowest. Its mean JCT is 1.67 min (the lowest: 60.0 s). Waiting makes 25 % of the mean "
        "JCT. No job is preempted.",
        "srtf": "Its mean JCT, 95th percentile of JCT and makespan are within 1 % of the lowest. "
        "Its 99th percentile of JCT is 3.33 min (the lowest: 2.67 min). Waiting makes 25 % of the mean JCT. "
        "No job is preempted.",
    }


def test_every_policy_has_a_sentence_over_all_scenarios(comparison: Callable[..., Comparison]) -> None:
    """Neither lowest nor baseline, las is level at 2 racks, and has 75 s where 60 s is the lowest."""
    means = {"fifo": (100.0, 50.0), "las": (75.0, 40.0), "srtf": (60.0, 40.1)}
    points = [(policy, racks, 0, row[racks - 1]) for policy, row in means.items() for racks in (1, 2)]
    compared = comparison(points)
    said = dict(each_policy(compared, contest(compared), []))
    assert list(said) == ["fifo", "las", "srtf"]
    assert (
        "Its mean JCT is within 1 % of the lowest in 1 of 2 cases; the largest gap is 75.0 s against "
        "60.0 s, with 1 rack." in said["las"]
    )
    worst = "the largest gap is 1.67 min against 60.0 s, with 1 rack."
    assert f"Its mean JCT is never the lowest; {worst}" in said["fifo"]


def test_only_policies_are_chosen_and_what_the_user_names(comparison: Callable[..., Comparison]) -> None:
    """One policy with and without failures, 100 s and 50 s: a choice only if the user says so."""
    compared = comparison([("fifo", 1, 0, 100.0), ("fifo", 1, 1, 50.0)])
    runs = [run for group in compared.groups for run in group.runs]
    for run, name in zip(runs, ("failing", "lasting"), strict=True):
        run.config.update(cluster={"failures": {"name": name}}, seed=0)
        run.summary["seed"] = 0
    result = said(compare(runs), WHICH)
    assert result == "Only fifo was run, so there is none to choose."
    chosen = compare(runs, ["name"])
    assert said(chosen, "What to choose") == (
        "Choose fifo with lasting: the lowest mean JCT, 50.0 s; it is 2.0 times as long under fifo with "
        "failing (1.67 min)."
    )
    with pytest.raises(InputError, match="--choose: no such key"):
        compare(runs, ["racks"])


def test_code_is_not_chosen(comparison: Callable[..., Comparison]) -> None:
    """The same policy by two versions of the program, 100 s and 50 s: the newer is no better a choice."""
    compared = comparison([("fifo", 1, 0, 100.0), ("fifo", 1, 1, 50.0)])
    runs = [run for group in compared.groups for run in group.runs]
    for run, code in zip(runs, ("old", "new"), strict=True):
        run.summary["run"] = {"code": code}
    assert said(compare(runs), WHICH) == "Only fifo was run, so there is none to choose."


def test_seeds_that_change_nothing_are_no_samples(comparison: Callable[..., Comparison]) -> None:
    """Fifo takes 100 s with each of three seeds, srtf 97 s: 3 % apart by one run each, so no certain winner.

    The table has no +-, and says once why; with las, of 90, 100 and 110 s, its rows are named.
    """
    points = [
        (policy, 1, seed, mean) for policy, mean in (("fifo", 100.0), ("srtf", 97.0)) for seed in range(3)
    ]
    compared = waiting(comparison(points), 6.0)
    assert (
        said(compared, WHICH)
        == "Any, as mean JCTs are at most 3.1 % apart, too little to tell from one seed."
    )
    assert said(compared, SURE).startswith(
        "Not very: the seed changes nothing, so the runs of a row count as one"
    )
    text = comparison_grid(compared).text()
    assert "+-" not in text
    assert text.count("the seed changes nothing") == 1
    assert "Fewer" not in text


def test_rows_in_which_the_seed_changes_nothing_are_named(comparison: Callable[..., Comparison]) -> None:
    """Fifo 100 s with each seed, las 90, 100 and 110 s: 4.303 x 10 / sqrt(3) = 24.84 s."""
    points = [("fifo", 1, seed, 100.0) for seed in range(3)]
    points += [("las", 1, seed, 90.0 + 10 * seed) for seed in range(3)]
    text = comparison_grid(comparison(points)).text()
    assert "the seed changes nothing in these rows: fifo\n" in text
    assert "1.667  " in text
    assert "1.667 +- 0.414" in text


@pytest.mark.parametrize(
    ("key", "change", "reason"),
    [
        ("topology", {"placements": {"machine": 3, "rack": 2, "network": 0}}, "no job ran in several racks"),
        ("overheads", {"preemptions": 0, "migrations": 0}, "no job was stopped or moved"),
        ("overheads", {"preemptions": 1, "migrations": 0}, ""),
    ],
)
def test_a_setting_without_effect_has_its_reason(
    run_folder: Callable[..., Path], tmp_path: Path, key: str, change: dict[str, object], reason: str
) -> None:
    """Two values with equal means: the reason that all runs show, or none; and nothing else is said of it."""
    runs = []
    for number in (1, 4):
        setting = {"oversubscription": {"rack": number}} if key == "topology" else {"restart_s": number}
        config = {"policy": {"name": "fifo"}, "seed": 0, key: setting}
        run = read_run(run_folder(tmp_path / str(number), config))
        run.summary.update(change)
        runs.append(run)
    text = said(compare(runs), "What does not matter")
    assert f"(equal mean JCTs{': ' * bool(reason)}{reason}" in text
    rows = [digest(group) for group in compare(runs).groups]
    assert not [q for q, _ in answers(compare(runs), contest(compare(runs)), rows, []) if "changes" in q]


def oversubscribed(
    run_folder: Callable[..., Path], folder: Path, across: Sequence[AcrossRacks], contention: str = "none"
) -> str:
    """Return what does not matter of runs at 1:1, 2:1 ..., whose jobs in several racks are given."""
    runs = []
    for number in range(1, len(across) + 1):
        config = {"policy": {"name": "fifo"}, "seed": 0, "performance": {"contention": contention}}
        config["topology"] = {"oversubscription": {"rack": number}}
        runs.append(read_run(run_folder(folder / str(number), config)))
        runs[-1].summary["placements"] = {"machine": 1, "rack": 0, "network": 2}
    compared = compare(runs)
    rows = [
        replace(digest(of), across_racks=of_row) for of, of_row in zip(compared.groups, across, strict=True)
    ]
    return dict(answers(compared, contest(compared), rows, []))["What does not matter"]


@pytest.mark.parametrize(
    ("across", "contention", "reason"),
    [
        (
            [(1, 250, 0.00003), (1, 250, 0.00006)],
            "none",
            "at most 1 of 250 jobs ran in several racks, and their communication adds at most 0.01 % to all "
            "computing",
        ),
        ([(5, 100, 0.02), (5, 100, 0.04)], "none", "at most 5 of 100 jobs ran in several racks"),
        (
            [(50, 100, 0.02), (50, 100, 0.02)],
            "none",
            "jobs in several racks communicate for as long at each, so a job alone does not fill the "
            "uplinks; contention is off",
        ),
        (
            [(50, 100, 0.02), (50, 100, 0.02)],
            "mean_field",
            "jobs in several racks communicate for as long at each, so they do not fill the uplinks",
        ),
        ([(50, 100, 0.02), (50, 100, 0.03)], "none", ""),
    ],
)
def test_oversubscription_without_effect_has_the_reason_that_the_runs_show(
    run_folder: Callable[..., Path],
    tmp_path: Path,
    across: Sequence[tuple[int, int, float]],
    contention: str,
    reason: str,
) -> None:
    """0.006 % of computing is little, 5 of 100 jobs are few; half of the jobs tell by equal communication.

    Where half of the jobs communicate for 2 % of all computing at 1:1 and 3 % at 2:1, nothing is proven.
    """
    text = oversubscribed(run_folder, tmp_path, [AcrossRacks(*row) for row in across], contention)
    assert text.startswith(f"Oversubscription (equal mean JCTs{': ' * bool(reason)}{reason}).")


def test_jobs_in_several_racks_are_counted(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """If b's 12.5 s are across racks: 1 of 3 jobs, its 2.5 s over 10 + 10 + 4 s of computing; else none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 0})
    assert digest(compare([read_run(folder)]).groups[0]).across_racks == (0, 3, 0.0)
    table = pq.read_table(folder / "jobs.parquet")
    for name, values in (("rack_tier_s", [0.0] * 3), ("network_tier_s", [0.0, 12.5, 0.0])):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, folder / "jobs.parquet")
    across = digest(compare([read_run(folder)]).groups[0]).across_racks
    assert (across.jobs, across.of) == (1, 3)
    assert across.added == pytest.approx(2.5 / 24)


@pytest.mark.parametrize(
    ("contention", "reason"),
    [
        ({"slowdown": 1.0}, "no job is slowed by others on its links"),
        ({"slowdown": 1.0002}, "jobs on the same links make each other at most 0.02 % slower on average"),
    ],
)
def test_contention_without_effect_has_its_slowdown(
    run_folder: Callable[..., Path], tmp_path: Path, contention: dict[str, float], reason: str
) -> None:
    """Off and on with equal means: the mean slowdown that the run with contention recorded."""
    runs = []
    for name in ("none", "mean_field"):
        config = {"policy": {"name": "fifo"}, "seed": 0, "performance": {"contention": name}}
        runs.append(read_run(run_folder(tmp_path / name, config)))
    runs[1].summary["contention"] = contention
    assert f"Contention (equal mean JCTs: {reason})" in said(compare(runs), "What does not matter")


@pytest.mark.parametrize(
    ("stops", "said_of"), [(4, ": failures stop jobs at most 4 times in a run of 100"), (6, "")]
)
def test_failures_without_effect_are_counted(
    run_folder: Callable[..., Path], tmp_path: Path, stops: int, said_of: str
) -> None:
    """4 stops of 100 jobs are few; 6 explain nothing."""
    runs = []
    for name in ("none", "rsc1"):
        config = {"policy": {"name": "fifo"}, "seed": 0, "cluster": {"failures": name}}
        runs.append(read_run(run_folder(tmp_path / name, config)))
        runs[-1].summary["jobs"] = 100
        runs[-1].summary["failures"] = {"stops": stops}
    assert f"Failures (equal mean JCTs{said_of})" in said(compare(runs), "What does not matter")


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        ((0, 1, 2, 3), ""),
        ((0,), "with 2 racks and load 0.8"),
        ((0, 1), "with 2 racks and load 0.8 and 1.2"),
        ((0, 3), "with 2 racks and load 0.8, and with 3 racks and load 1.2"),
        ((0, 1, 2), "in 3 of 4 cases"),
    ],
)
def test_scenarios_are_named_as_people_do(chosen: Sequence[int], text: str) -> None:
    """2 and 3 racks at 2 loads: a product in one phrase, two others each, more by their number."""
    scenarios = []
    for racks, load in product("23", ("0.8", "1.2")):
        parts = (("cluster.racks", racks), ("workload.load", load))
        scenarios.append(Scenario(f"{racks} racks, load {load}", (), parts))
    assert at_scenarios([scenarios[i] for i in chosen], len(scenarios)) == text


def test_of_one_policy_nothing_is_unsettled(comparison: Callable[..., Comparison]) -> None:
    """Fifo on 1 and 2 racks, three seeds: there is no choice to be sure of, only the number of seeds."""
    compared = comparison([("fifo", racks, seed, 100.0 + seed) for racks in (1, 2) for seed in range(3)])
    assert said(compared, SURE) == "Mean JCTs have 95 % intervals of up to \u00b1 2.5 % over 3 seeds."


def test_one_case_is_not_counted() -> None:
    """Of one case alone, `in 1 of 1 cases` says nothing."""
    assert often({"a": 1, "b": 0}, 1) == "a has the lowest mean JCT, or one within 1 % of it"
    assert often({"a": 2, "b": 0}, 3).endswith("of it, in 2 of 3 cases")
