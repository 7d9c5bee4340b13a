"""All papers on one page, figures on a page of their own, and what the command refuses."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.report.claims.bars import figures_asked
from artist.report.claims.by_figure import by_figure
from artist.report.claims.judge import judge
from artist.report.claims.schema import papers, read_claims
from artist.report.command import main
from artist.report.papers import figures_report, papers_report
from artist.results.compare import Comparison, compare
from artist.results.run import Run

Maker = Callable[..., list[Run]]


@pytest.fixture
def muri(runs: Maker) -> Comparison:
    """Return runs of Fig. 9, trace 3, in which Muri-S has half of the makespan of SRTF."""
    return compare(
        runs(
            {("srtf", 1): 100.0, ("muri_s_events", 1): 50.0},
            *("v100_100g",),
            cluster={"machines": 8},
            workload={"load": 0.8, "job_types": 4},
            overheads={"restart_s": 0},
            policy={"profiling_noise": 0},
        )
    )


def test_all_papers_have_a_line_and_those_that_were_run_a_table(muri: Comparison) -> None:
    """Muri's makespan is half of SRTF's, where the paper has no gain: off. Nothing of the others was run."""
    text, files = papers_report(muri)
    ran_first = sorted(PAPERS, key=lambda name: name != "Muri")
    assert [line.split(":")[0] for line in text.splitlines()] == [f"The {name} paper" for name in ran_first]
    assert re.search(r"The Muri paper: of \d+ claims 2 open, 1 off and \d+ not run", text)
    assert re.search(r"The Dally paper: None of its \d+ claims was run\.", text)
    page = files["report.html"].decode()
    assert page.count('<table class="data"') == 1
    assert "The Muri paper: claims that were not run" in page
    rows = list(csv.DictReader(files["claims.csv"].decode().splitlines()))
    assert {row["paper"] for row in rows} == {"the Muri paper"}
    (makespan,) = (r for r in rows if r["claim"] == "Makespan against SRTF, lightly loaded: no gain")
    assert (makespan["ours"], makespan["verdict"]) == ("-0.5", "off")


PAPERS = ("CODA", "Dally", "Lyra", "Muri", "Synergy")


def test_a_figure_has_a_sentence(muri: Comparison) -> None:
    """All JCTs are equal: two claims show nothing. SRTF's bars are 1, 2 and 1 for 2.26, 1 and 4.57 times."""
    judged = judge(read_claims("muri"), [run for group in muri.groups for run in group.runs])
    assert by_figure(judged) == (
        "Fig. 9: 0 of 2 shown, mean JCT against SRTF +0.0 % for -12 to -56 %; "
        "0 of 3 bars within 25 % of the paper's.",
    )


def test_a_figure_is_a_page_a_picture_and_a_table(muri: Comparison) -> None:
    """SRTF's makespan is twice Muri's on jobs drawn like trace 3 (paper: 1); of SRSF there are no runs."""
    text, files = figures_report(muri, figures_asked("muri 9"))
    assert set(files) == {"figures.html", "figures.csv", "muri_9.svg", "muri_9.png"}
    assert text.splitlines()[0].split() == [
        *("figure", "panel", "bar", "group", "paper", "ours", "low95", "high95", "seeds"),
    ]
    assert re.search(r"Normalized makespan w.r.t. Muri-S +SRTF +3 drawn +1 +2 +2 +2 +5", text)
    assert "SRSF" not in text
    rows = list(csv.DictReader(files["figures.csv"].decode().splitlines()))
    assert len(rows) == 3 * 2 * (8 + 2)  # panels, schedulers, traces and those drawn
    assert 'class="findings"' not in files["figures.html"].decode()
    _, every = figures_report(muri, figures_asked("all"))
    assert set(every) == set(files)  # figures without runs are left out


def test_figures_without_runs_are_refused(runs: Maker) -> None:
    """The message names the policies that are missing."""
    with pytest.raises(InputError, match="no run fits") as error:
        figures_report(compare(runs({("old", 2): 1.0})), figures_asked("muri 9"))
    assert "runs of old" in str(error.value.found)
    assert "muri_s_events, srsf, srtf" in str(error.value.allowed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--figure", "muri 99"], "--figure: no such figure"),
        (["--figure", "nobody 9"], "no such claims"),
        (
            ["--figure", "muri 9", "--claims", "muri"],
            "such a page holds nothing else\n  found '--claims, --figure';",
        ),
        (["--claims", "all", "--trace"], "found '--claims, --trace'; allowed: --figure NAME or --claims all"),
        (["--claims", "every"], "--claims: no such claims"),
    ],
)
def test_bad_names_are_refused_in_two_lines(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before any run is read."""
    assert main([str(tmp_path), *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 2


def test_every_paper_that_ships_has_claims() -> None:
    """In the order of the page."""
    assert [read_claims(name).paper for name in papers()] == [f"the {name} paper" for name in PAPERS]
