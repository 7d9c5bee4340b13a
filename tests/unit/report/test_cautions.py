"""Warnings of the page before comparisons: unfinished jobs, missing seeds, queues that grow."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from artist.report.command import main
from artist.report.page.comparison_table import comparison_table
from artist.report.words.answers import answers
from artist.report.words.cautions import cautions
from artist.report.words.first_screen import first_screen, glance_table
from artist.report.words.notes import comparison_notes, lead
from artist.report.words.policies import each_policy
from artist.results.compare import Comparison, compare
from artist.results.coverage import OVERLOADED_NOTE
from artist.results.digest import Digest, digest, growing
from artist.results.drift import Drift
from artist.results.folder import read_run
from artist.results.run import Run
from artist.results.scenarios import contest
from artist.results.tables import comparison_grid

Made = Callable[..., Run]


@pytest.fixture
def made(run_folder: Callable[..., Path], tmp_path: Path) -> Made:
    """Write the run on paper; its means cover so many of its 3 jobs."""

    def make(policy: str, seed: int = 0, mean_s: float = 10.0, finished: int = 3, racks: int = 1) -> Run:
        config = {"policy": {"name": policy}, "seed": seed, "cluster": {"racks": racks}}
        run = read_run(run_folder(tmp_path / f"{policy}{seed}{racks}", config))
        run.summary["measured"] = {"jobs": 3, "finished": finished}
        run.summary["finished"] = finished
        run.summary["jct_s"]["mean"] = mean_s
        return run

    return make


def digests(comparison: Comparison, **facts: Any) -> list[Digest]:
    """Digest all rows, of which these facts hold."""
    return [replace(digest(group), **facts) for group in comparison.groups]


def warned(runs: Sequence[Run], **facts: Any) -> dict[str, str]:
    """Return the page's warnings."""
    comparison = compare(runs)
    return dict(cautions(comparison, contest(comparison), digests(comparison, **facts)))


def test_nothing_to_warn_of(made: Made) -> None:
    """All jobs finished, all seeds there, no queue grows."""
    assert warned([made("fifo"), made("srtf")]) == {}


def test_rows_that_are_not_whole_are_named(made: Made) -> None:
    """Of 3 jobs each, fifo finished 2 and 1 with its two seeds: 3 of 6 in its row."""
    runs = [made("fifo", 0, finished=2), made("fifo", 1, finished=1), made("srtf", 0), made("srtf", 1)]
    assert warned(runs)["Not compared"] == (
        "Means of fifo * (3 of 6 jobs) cover only the jobs that had finished: longer and later ones are "
        "missing, so these rows compare with no other."
    )


def test_a_row_that_is_not_whole_is_never_best(made: Made) -> None:
    """1 s under fifo over 1 of 3 jobs; of the others srtf, 50 s, is best, and las 100 s: twice as long."""
    runs = [made("fifo", mean_s=1.0, finished=1), made("las", mean_s=100.0), made("srtf", mean_s=50.0)]
    comparison = compare(runs)
    against_las = contest(comparison, "policy=las")
    said = dict(answers(comparison, against_las, digests(comparison), []))
    assert said["Which policy"] == (
        "Choose srtf: the lowest mean JCT, 50.0 s; it is 2.0 times as long under las (1.67 min)."
    )
    assert "fifo" not in "".join(said.values())


def test_reasons_and_the_lowest_leave_it_out(made: Made) -> None:
    """The baseline fifo was stopped: it waits most and has the least p99, 1 s, and no sentence is about it.

    Between las and srtf all of the difference, 50 s, is computing; their p99
    are the same.
    """
    runs = [made("fifo", mean_s=1.0, finished=1), made("las", mean_s=100.0), made("srtf", mean_s=50.0)]
    runs[0].summary["jct_s"] |= {"p99": 1.0, "max": 1.0}
    comparison = compare(runs)
    parts = np.array([[900.0, *[0] * 6], [0, 100, *[0] * 5], [0, 50, *[0] * 5]])
    rows = [replace(row, parts_s=part) for row, part in zip(digests(comparison), parts, strict=True)]
    competing = contest(comparison)
    said = dict(answers(comparison, competing, rows, []))
    assert "it is 2.0 times as long under las (1.67 min)." in said["Which policy"]
    assert said["What drives it"] == (
        "The policy matters: mean JCTs are up to 2.0 times the lowest. Under srtf, the mean JCT is 50.0 s "
        "shorter than under las: practically all of it because jobs compute for less time (on other GPUs, or "
        "more of them)."
    )
    assert "fifo" not in "".join(said.values())
    assert dict(each_policy(comparison, competing, rows))["fifo"].startswith(
        "Not compared, as jobs are unfinished."
    )


def test_level_rows_beside_one_that_is_not_whole_have_no_next(made: Made) -> None:
    """Of las and srtf, 50 s and 50.1 s, both are named; fifo, stopped, comes after nothing."""
    runs = [made("fifo", mean_s=1.0, finished=1), made("las", mean_s=50.1), made("srtf", mean_s=50.0)]
    comparison = compare(runs)
    said = dict(answers(comparison, contest(comparison), digests(comparison), []))
    assert said["Which policy"] == "Choose either srtf or las: the lowest mean JCT, 50.0 s."


def test_no_difference_is_shown_to_or_of_it(made: Made) -> None:
    """The baseline fifo is not whole: its 1 s is no best; utilisation, which is of all jobs, is compared."""
    runs = [made("fifo", mean_s=1.0, finished=2), made("las", mean_s=20.0), made("srtf", mean_s=5.0)]
    comparison = compare(runs)
    table = comparison_table(comparison, contest(comparison))
    names = [column.name for column in table.columns]
    fifo, las, srtf = table.rows
    mean = names.index("jct_mean_s")
    assert [row[mean].apart for row in table.rows] == [None, None, None]
    assert [row[mean].best for row in table.rows] == [False, False, True]
    assert fifo[mean].text == "1.00"
    assert [row[names.index("finished")].text for row in (fifo, las, srtf)] == ["2*", "3", "3"]
    assert las[names.index("gpu_utilization")].apart == 0.0
    assert any(note.startswith("*: means over") for note in comparison_notes(comparison, contest(comparison)))


def test_a_line_along_a_number_needs_whole_runs(made: Made) -> None:
    """At 2 racks fifo was stopped, so only srtf has a line from 1 to 2 racks."""
    runs = [
        made(policy, racks=racks, mean_s=mean_s, finished=2 if (policy, racks) == ("fifo", 2) else 3)
        for policy, racks, mean_s in (
            ("fifo", 1, 50.0),
            ("fifo", 2, 1.0),
            ("srtf", 1, 40.0),
            ("srtf", 2, 20.0),
        )
    ]
    comparison = compare(runs)
    said = dict(answers(comparison, contest(comparison), digests(comparison), []))
    assert "fifo" not in said["How many racks"]
    assert "srtf" in said["How many racks"]


def test_missing_seeds_are_named(made: Made) -> None:
    """Three seeds of srtf and only the first of fifo at 1 rack; at 2 racks all rows have one seed."""
    runs = [
        made("fifo"),
        *(made("srtf", seed) for seed in range(3)),
        made("fifo", racks=2),
        made("srtf", racks=2),
    ]
    assert warned(runs)["Missing runs"] == (
        "fifo with 1 rack lacks seeds 1 and 2 (failed, or not run): rows without seeds or jobs that others "
        "have are not compared."
    )


def test_growing_queues_are_named(made: Made) -> None:
    """2 jobs wait in the first third of the arrivals, 51.7 in the last."""
    said = warned([made("fifo")], drift=Drift(2.0, 51.66, True))["Not steady"]
    assert said.startswith(
        "fifo is overloaded: its queue keeps growing, so its times depend on how long the run lasted. Lower "
        "the load"
    )
    assert (
        "Mean numbers of waiting jobs in the first and the last third of the arrivals: 2 and 51.7 under fifo."
        in said
    )
    assert said.endswith("With a single run this may be chance.")


def test_many_waiting_jobs_are_counted_whole(made: Made) -> None:
    """Not 1.44e+03."""
    said = warned([made("fifo")], drift=Drift(0.0, 1436.4, True))["Not steady"]
    assert "arrivals: 0 and 1,436 under fifo." in said


def test_with_replicates_growth_is_not_called_chance(made: Made) -> None:
    """Two runs of one row."""
    said = warned([made("fifo", seed) for seed in (0, 1)], drift=Drift(2.0, 51.66, True))
    assert said["Not steady"].endswith("2 and 51.7 under fifo.")


@pytest.mark.parametrize(
    ("drift", "waits_s", "named"),
    [
        (Drift(0.0, 5.0, True), 10.0, True),
        (Drift(0.0, 4.9, True), 10.0, False),
        (Drift(0.0, 5.0, True), 9.0, False),
        (Drift(2.0, 71.4, False), 90.0, True),
        (Drift(2.0, 6.1, False), 90.0, True),
        (Drift(2.0, 6.0, False), 90.0, False),
    ],
)
def test_a_queue_that_makes_little_of_the_mean_is_no_alarm(
    made: Made, drift: Drift, waits_s: float, named: bool
) -> None:
    """From 5 jobs in the last third and 10 of 100 s of waiting on.

    Whatever seeds differ, more than thrice the first third: 2 to 6.1, and to 71. From 2 to 6, thrice as many,
    the growth is the mean of a straight line, and it takes seeds that agree.
    """
    parts_s = np.array([waits_s, 100.0 - waits_s, *[0.0] * 5])
    assert ("Not steady" in warned([made("fifo")], drift=drift, parts_s=parts_s)) == named


def test_figures_of_a_queue_that_grows_are_marked(made: Made) -> None:
    """Of fifo, 100 s, and srtf, 50 s, only fifo's queue grows: wherever its mean is told, it is marked."""
    comparison = compare([made("fifo", mean_s=100.0), made("srtf", mean_s=50.0)])
    rows = digests(comparison)
    rows = [replace(rows[0], drift=Drift(2.0, 51.66, True)), replace(rows[1], parts_s=rows[1].parts_s / 2)]
    said = dict(answers(comparison, contest(comparison), rows, []))
    assert said["Which policy"] == (
        "Choose srtf: the lowest mean JCT, 50.0 s; it is 2.0 times as long under fifo (1.67 min "
        "[overloaded])."
    )
    assert "shorter than under fifo [overloaded]:" in said["What drives it"]


def test_the_consequence_of_an_overload_is_in_the_first_sentence_and_in_the_choice(made: Made) -> None:
    """Fifo, 100 s, and srtf, 50 s, both grow: a choice only for runs as long; marks in both tables."""
    comparison = compare([made("fifo", mean_s=100.0), made("srtf", mean_s=50.0)])
    rows = digests(comparison, drift=Drift(2.0, 51.66, True))
    competing = contest(comparison)
    careful = cautions(comparison, competing, rows)
    top, *_ = first_screen(answers(comparison, competing, rows, careful))
    assert top[0][1].startswith(
        "Both setups are overloaded: their queues keep growing, so their times depend on how long the run "
        "lasted. Lower the load or add machines, and run again."
    )
    assert top[1][1] == (
        "None is safe, but in runs as long as these take srtf: the lowest mean JCT, 50.0 s; it is 2.0 times "
        "as long under fifo (1.67 min)."
    )
    _, small = glance_table(comparison, competing, growing(rows))
    assert [row[0] for row in small] == ["fifo [overloaded]", "srtf [overloaded]"]
    table = comparison_table(comparison, competing, growing(rows))
    assert [row[0].text for row in table.rows] == ["fifo [overloaded]", "srtf [overloaded]"]
    text = comparison_grid(comparison, growing=growing(rows)).text()
    assert "srtf [overloaded] " in text
    assert OVERLOADED_NOTE in text


def test_the_small_table_counts_overloaded_cases(made: Made) -> None:
    """Fifo is overloaded at 1 rack alone, 1 of its 2 cases; srtf nowhere."""
    comparison = compare([made(policy, racks=racks) for policy in ("fifo", "srtf") for racks in (1, 2)])
    _, small = glance_table(comparison, contest(comparison), [0])
    assert [row[0] for row in small] == ["fifo [overloaded in 1 of 2 cases]", "srtf"]


@pytest.mark.parametrize(
    ("failures", "text"),
    [
        ([], None),
        (
            ["racks: too many\n  found 9; allowed: 1 to 8", "racks: too many\n  found 10; allowed: 1 to 8"],
            "2 of 4 runs failed: racks: too many; the answers are of the other 2.",
        ),
        (
            ["b: bad", "a: bad", "a: bad"],
            "3 of 5 runs failed: a: bad (2); b: bad (1); the answers are of the other 2.",
        ),
        (["", *"abcd"], "5 of 7 runs failed: no reason given (1); a (1); b (1); 2 other causes; "),
    ],
)
def test_failed_runs_come_first(made: Made, failures: Sequence[str], text: str | None) -> None:
    """Beside two finished runs, one of which is overloaded."""
    comparison = compare([made("fifo"), made("srtf")])
    rows = digests(comparison, drift=Drift(2.0, 51.66, True))
    topic, said = cautions(comparison, contest(comparison), rows, failures)[0]
    assert said.startswith(text) if text else topic == "Not steady"


def test_no_unfinished_run_is_best(made: Made) -> None:
    """All were stopped: what to do about it is said, and no word of how sure that is."""
    comparison = compare([made("fifo", finished=1), made("srtf", finished=2)])
    said = dict(answers(comparison, contest(comparison), digests(comparison), []))
    assert said["Which policy"].startswith("None can be called best: runs ended before all jobs had finished")
    assert said["Which policy"].endswith("Run them to the end.")


def test_queues_that_do_not_grow_are_no_matter(made: Made) -> None:
    """The drift is known, and is none."""
    assert warned([made("fifo")], drift=Drift(2.0, 2.1, False)) == {}


def test_arrivals_that_end_too_soon_are_warned_of(made: Made) -> None:
    """One run of one."""
    assert "fifo (1 of 1 runs)" in warned([made("fifo")], drained=1)["Arrivals too short"]


def test_a_row_that_lacks_seeds_is_not_chosen(made: Made) -> None:
    """Las has one seed, 1 s, and its rivals five: srtf, 50 s, is best of those that compare.

    A fabric of one seed does not compare with one of five, nor a row that lacks 1 of the 3 jobs of a seed.
    """
    runs = [
        made(policy, seed, mean) for policy, mean in (("fifo", 100.0), ("srtf", 50.0)) for seed in range(5)
    ]
    comparison = compare([*runs, made("las", 0, 1.0)])
    competing = contest(comparison)
    said = dict(answers(comparison, competing, digests(comparison), []))
    assert said["Which policy"] == (
        "Choose srtf: the lowest mean JCT, 50.0 s; it is 2.0 times as long under fifo (1.67 min)."
    )
    assert dict(each_policy(comparison, competing, digests(comparison)))["las"].startswith(
        "Not compared, as seeds or jobs are missing."
    )
    las = next(row for row, group in enumerate(comparison.groups) if group.label == "las")
    page = comparison_table(comparison, competing)
    assert not any(cell.best for cell in page.rows[las])


def test_rows_without_common_seeds_have_no_best(made: Made) -> None:
    """Fifo with seed 0, srtf with seed 1: other jobs."""
    comparison = compare([made("fifo", 0, 100.0), made("srtf", 1, 50.0)])
    said = dict(answers(comparison, contest(comparison), digests(comparison), []))
    assert said["Which policy"] == (
        "None can be called best: no two rows have the same seeds and all jobs. Run those that are missing."
    )


def test_a_row_that_lacks_jobs_of_a_seed_is_not_chosen(made: Made) -> None:
    """Las refused 1 of the 3 jobs of seed 0, and finished the others, in 1 s on average."""
    runs = [made("fifo", mean_s=100.0), made("las", mean_s=1.0, finished=2), made("srtf", mean_s=50.0)]
    runs[1].summary["measured"]["jobs"] = runs[1].summary["jobs"] = 2
    comparison = compare(runs)
    competing = contest(comparison)
    said = dict(answers(comparison, competing, digests(comparison), []))
    assert said["Which policy"].startswith("Choose srtf")
    assert "las" not in said["Which policy"]
    assert dict(cautions(comparison, competing, digests(comparison)))["Missing runs"].startswith(
        "las lacks jobs (failed"
    )


def test_sizes_of_other_seeds_are_not_compared(made: Made) -> None:
    """Three seeds at 1 rack and one at 2 racks: means over other jobs, so no number of racks is enough."""
    runs = [made("fifo", seed, 100.0) for seed in range(3)]
    comparison = compare([*runs, made("fifo", 0, 10.0, racks=2)])
    assert "How many racks" not in dict(answers(comparison, contest(comparison), digests(comparison), []))


def test_the_command_warns_on_stderr_and_on_the_page(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seed 1 of srtf is missing: it is the first thing that the page says."""
    for policy, seed in (("fifo", 0), ("fifo", 1), ("srtf", 0)):
        run_folder(tmp_path / "s" / f"{policy}{seed}", {"policy": {"name": policy}, "seed": seed})
    assert main([str(tmp_path / "s")]) == 0
    warning = (
        "srtf lacks seed 1 (failed, or not run): rows without seeds or jobs that others have are not "
        "compared."
    )
    assert f"missing runs: {warning}" in capsys.readouterr().err
    page = (tmp_path / "s" / "report" / "report.html").read_text()
    assert page.index(warning) < page.index("Which policy")


def test_the_lead_names_the_window(made: Made) -> None:
    """3 jobs, of which a window measures 2."""
    run = made("fifo")
    run.summary["measured"] = {"jobs": 2, "finished": 2}
    assert lead(compare([run])) == (
        "1 run of 3 jobs, times over 2 of them: fifo. JCT: the time from a job's submission to its finish."
    )


def test_answers_carried_over_are_shown_beside_the_results(made: Made) -> None:
    """1 and 2 of 2 questions: a column of the first table, no difference to a baseline, and a sentence."""
    runs = [made("fifo"), made("srtf")]
    comparison = compare(runs)
    table = comparison_table(comparison, contest(comparison))
    assert "network_carried_share" not in [column.name for column in table.columns]
    for count, run in enumerate(runs, 1):
        run.summary["network_carried"] = count
    comparison = compare(runs)
    table = comparison_table(comparison, contest(comparison))
    (at,) = (i for i, column in enumerate(table.columns) if column.name == "network_carried_share")
    assert not table.columns[at].more
    assert [(row[at].text, row[at].apart) for row in table.rows] == [("50.0", None), ("100.0", None)]
    notes = comparison_notes(comparison, contest(comparison))
    assert any(note.startswith("Network carried: the network model has no answer for") for note in notes)
