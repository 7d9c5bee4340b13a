"""The first screen: the answer, a picture, a small table, at most six lines, and nothing lost."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

from artist.report.words.answers import answers
from artist.report.words.first_screen import MAX_LINES, first_screen, glance_table
from artist.report.words.notes import lead
from artist.report.words.policies import each_policy
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.scenarios import contest

LONG = "A sentence of many words that go on. " * 9


def test_at_most_six_lines_are_shown_and_all_findings_kept() -> None:
    """Ten findings: three on top, six lines without the least wanted, and the rest of those cut below.

    "One." and six sentences of 36 characters fit 230, 3 + 6 x 38 = 231 less a stop, and three are left.
    """
    names = ("What drives it", *(f"Line {i}" for i in range(6)))
    findings = [
        ("Which policy", f"One. {LONG}"),
        *((name, "One.") for name in names),
        ("How many racks", "2."),
        ("How sure", "Very."),
    ]
    top, lines, whole = first_screen(findings)
    assert [question for question, _ in top] == ["Which policy", "How many racks", "How sure"]
    assert [question for question, _ in lines] == [f"Line {i}" for i in range(6)]
    assert len(lines) == MAX_LINES
    assert whole == [("Which policy", LONG[: 3 * len(LONG) // 9].strip()), ("What drives it", "One.")]


def test_a_line_is_whole_sentences() -> None:
    """The first always; another one only if both fit 230 characters: 9 + 218 do, 9 + 222 do not."""
    for length, kept in ((218, True), (222, False)):
        text = f"At 1.5 h. {'A' * length}."
        (line,), *_ = first_screen([("Which policy", text)])
        assert line[1] == (text if kept else "At 1.5 h.")


def test_the_small_table_has_ranges_over_scenarios(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Mean JCTs of 100 and 200 s under fifo, 50 s twice under srtf: 1.67 to 3.33 min, and 50.0 s."""
    runs = []
    means = (("fifo", 1, 100.0), ("fifo", 2, 200.0), ("srtf", 1, 50.0), ("srtf", 2, 50.0))
    for i, (policy, racks, mean_s) in enumerate(means):
        config = {"policy": {"name": policy}, "seed": 0, "cluster": {"racks": racks}}
        runs.append(read_run(run_folder(tmp_path / str(i), config)))
        runs[-1].summary["jct_s"]["mean"] = mean_s
    comparison = compare(runs)
    heads, rows = glance_table(comparison, contest(comparison))
    assert heads[:2] == ["", "mean JCT"]
    assert [row[:2] for row in rows] == [["fifo", "1.67 to 3.33 min"], ["srtf", "50.0 s"]]


SETTINGS = (
    {"topology": {"oversubscription": {"rack": 1}}, "performance": {"contention": "none"}},
    {"topology": {"oversubscription": {"rack": 4}}, "performance": {"contention": "mean_field"}},
    {"cluster": {"racks": 4, "failures": None}, "workload": {"load": 0.9}},
    {"cluster": {"racks": 8, "failures": "10*rsc1"}, "workload": {"load": 1.2}},
    {"policy": {"placement": "random", "lease_s": 60}, "overheads": {"restart_s": 0}},
    {"policy": {"placement": "spread", "lease_s": None}, "overheads": {"restart_s": 60}},
    {"network": {"system": {"across_machines": None}}, "estimates": {"level": 0.2}},
    {"network": {"system": {"across_machines": "tree"}}, "estimates": {"level": 0.4}},
)


def test_no_sentence_names_a_setting_by_its_key(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Two values of each of ten settings under two policies: words before the tables, no key and no `=`."""
    for number, pair in enumerate(zip(SETTINGS[::2], SETTINGS[1::2], strict=True)):
        runs = []
        for i, (policy, settings) in enumerate(product(("fifo", "srtf"), pair)):
            config = {"seed": 0, **settings, "policy": {"name": policy, **settings.get("policy", {})}}
            runs.append(read_run(run_folder(tmp_path / str(number) / str(i), config)))
        for factor in (0.0, 0.5, -0.2):  # nothing matters, all does, the other way
            for i, run in enumerate(runs):
                run.summary["jct_s"]["mean"] = 100.0 * (1 + factor * i)
            comparison = compare(runs)
            competing = contest(comparison)
            rows = [digest(group) for group in comparison.groups]
            sentences = [lead(comparison)]
            sentences += [text for of in answers(comparison, competing, rows, []) for text in of]
            sentences += [text for of in each_policy(comparison, competing, rows) for text in of]
            words = " ".join(sentences)
            assert "=" not in words
            assert not re.search(r"\b(topology|performance|cluster|workload|policy|network)\.\w", words)
            assert not re.search(r"_(s|h|gpus|machines)\b", words)
            assert not re.search(
                r"\b(in|of) (0 of|\d+ of 1 |1 of 1 )|\b1 \w+s\b|with with|under under|\.\.", words
            )
