"""artist-report end to end on run folders in a temporary place, good and bad."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.core.result import RunResult
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.report import contents
from artist.report.command import main

FIGURES = (
    "busy_gpus", "comm_overhead", "jct_by_demand", "jct_cdf", "jct_histogram", "jct_parts", "occupancy",
    "placements", "queue_length", "queueing_cdf", "unfinished_jobs",
)  # fmt: skip
FILES = sorted(
    [f"{name}.{kind}" for name in (*FIGURES, "glance") for kind in ("png", "svg")]
    + ["report.html", "seeds.csv", "table.csv"]
)


@pytest.fixture(autouse=True)
def few_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw one figure instead of ten, which take seconds, unless a test asks for `all_figures`."""
    if "all_figures" not in request.fixturenames:
        every = contents.drawings
        monkeypatch.setattr(contents, "drawings", lambda *arguments: every(*arguments)[1:2])


@pytest.fixture
def all_figures() -> None:
    """Ask for all figures."""


@pytest.fixture
def sweep(run_folder: Callable[..., Path], tmp_path: Path) -> Path:
    """Write 2 policies x 2 seeds; one more point that failed, one that is being written."""
    root = tmp_path / "sweep"
    for policy in ("fifo", "srtf"):
        for seed in (0, 1):
            run_folder(root / f"{policy}{seed}", {"policy": {"name": policy}, "seed": seed}, slower=1 + seed)
    for name in ("broken", ".half.part-host-1"):
        (root / name).mkdir()
    (root / "broken" / "error.json").write_text(json.dumps({"status": "failed", "message": "no\n  luck"}))
    (root / ".half.part-host-1" / "summary.json").write_text("{")
    return root


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def test_report_of_a_sweep(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table on stdout has a row per policy and n = 2; the failed point is named on stderr."""
    assert main([str(sweep)]) == 0
    printed = capsys.readouterr()
    *_, fifo, srtf, note, by_gpu_time = _lines(printed.out)
    assert [fifo.split()[:2], srtf.split()[:2]] == [["fifo", "2"], ["srtf", "2"]]
    assert note.startswith("+-: ")
    assert by_gpu_time.startswith("by GPU time: communication adds 14.7 % to computing time under ")
    assert f"failed: {sweep / 'broken'}: no luck" in printed.err
    assert (sweep / "report" / "jct_cdf.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("all_figures")
def test_the_page_needs_no_other_file(sweep: Path, tmp_path: Path) -> None:
    """The HTML needs no other file or address, has each figure inside twice but one, and fits a phone."""
    assert main([str(sweep), "--output", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    page = (tmp_path / "out" / "report.html").read_text()
    assert re.findall(r'(?:src|srcset)="(?!data:)', page) == []
    assert "http" not in page
    assert page.count("data:image/svg+xml;base64,") == 2 * len(FIGURES) + 1  # and once the small one
    assert page.count('<img class="phone"') == page.count('<img class="desk"') == len(FIGURES)
    assert 'name="viewport"' in page
    assert "no luck" in page


def test_page_lists_the_runs_with_seed_and_folder(sweep: Path) -> None:
    """2 policies x 2 seeds are four entries that differ, each a link that holds if all is moved together."""
    assert main([str(sweep)]) == 0
    page = (sweep / "report" / "report.html").read_text()
    links = re.findall(r'<li>(\w+), seed (\d): <a href="([^"]*)">', page)
    assert links == [(p, s, f"../{p}{s}/") for p in ("fifo", "srtf") for s in "01"]
    assert all((sweep / "report" / href / "summary.json").is_file() for _, _, href in links)


def test_page_explains_its_numbers(sweep: Path) -> None:
    """Headings are whole words, and the notes say what utilisation and overhead are taken over."""
    assert main([str(sweep)]) == 0
    page = (sweep / "report" / "report.html").read_text()
    assert ">makespan<" in page
    assert ">preemptions<" in page
    assert "whole run" in page
    assert "the mean over jobs, short and long ones alike" in page
    assert "half the width" in page


def test_an_edited_policy_replaces_its_older_runs(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seed 0 of old code, then 0 and 1 of new: n = 2, the older folder is named; its mtime is what counts."""
    for place, seed, at in (("z_old", 0, 1000), ("a", 0, 2000), ("b", 1, 2000)):
        folder = run_folder(tmp_path / "sweep" / place, {"policy": {"name": "mine"}, "seed": seed})
        os.utime(folder / "summary.json", (at, at))
    assert main([str(tmp_path / "sweep")]) == 0
    printed = capsys.readouterr()
    assert _lines(printed.out)[3].split()[:2] == ["mine", "2"]
    assert f"older run of the same configuration: {tmp_path / 'sweep' / 'z_old'}" in printed.err


def test_seeds_of_different_code_are_rows_of_their_own(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seed 0 by code aa, seed 1 by code bb: two rows with n = 1 each, the newer first, and a word of why."""
    for seed, code in enumerate(("aa", "bb")):
        folder = run_folder(tmp_path / "sweep" / code, {"policy": {"name": "mine"}, "seed": seed})
        summary = json.loads((folder / "summary.json").read_text())
        summary["run"]["code"] = code
        (folder / "summary.json").write_text(json.dumps(summary))
        os.utime(folder / "summary.json", (seed, seed))
    assert main([str(tmp_path / "sweep")]) == 0
    printed = capsys.readouterr()
    assert [line.split()[:3] for line in _lines(printed.out)[3:5]] == [
        ["mine", "bb", "3"],
        ["mine", "aa", "3"],
    ]
    assert "Some rows differ in nothing but code" in printed.err


def test_same_runs_give_the_same_files(sweep: Path, tmp_path: Path) -> None:
    """A report made twice is the same, page, table and a figure, so it can be kept under version control."""
    for name in ("one", "two"):
        assert main([str(sweep), "--output", str(tmp_path / name)]) == 0
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == [
        "glance.png",
        "glance.svg",
        "jct_cdf.png",
        "jct_cdf.svg",
        "report.html",
        "seeds.csv",
        "table.csv",
    ]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("all_figures")
def test_same_runs_give_the_same_figures(sweep: Path, tmp_path: Path) -> None:
    """A report made twice is the same with each of its figures."""
    for name in ("one", "two"):
        assert main([str(sweep), "--output", str(tmp_path / name)]) == 0
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_folder_given_twice_counts_once(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep and one of its points: still 2 replicates, nothing left out as repeated."""
    assert main([str(sweep), str(sweep / "fifo0")]) == 0
    printed = capsys.readouterr()
    assert _lines(printed.out)[3].split()[:2] == ["fifo", "2"]
    assert "left out" not in printed.err


@pytest.mark.usefixtures("all_figures")
def test_a_run_without_finished_jobs_is_reported(
    none_finished: RunResult, tmp_path: Path, run_folder: Callable[..., Path]
) -> None:
    """Nothing to draw in the distribution is no reason to fail."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    write_run(
        folder,
        none_finished,
        None,
        summarise(none_finished, policy="fifo", seed=1, network_distinct=0, run={}),
    )
    assert main([str(folder)]) == 0


def test_who_waits_for_the_network_is_named_and_older_runs_lack_it(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """14.7 % by GPU time, all by job b; of earlier code the mean over jobs alone, 8.33 %."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 0})
    assert main([str(folder), "--output", str(tmp_path / "new")]) == 0
    text = "adds 14.7 % to computing time, and 100 % of that comes from 1 job of bert_large on 4 GPUs"
    assert f"by GPU time: communication {text}" in capsys.readouterr().out
    page = (tmp_path / "new" / "report.html").read_text().replace("&nbsp;", " ")
    assert f"Communication {text}." in page
    summary = json.loads((folder / "summary.json").read_text())
    summary["comm_overhead"] = {name: summary["comm_overhead"][name] for name in ("mean", "p95")}
    (folder / "summary.json").write_text(json.dumps(summary))
    assert main([str(folder), "--output", str(tmp_path / "old")]) == 0
    printed = capsys.readouterr().out
    assert ("8.33" in printed, "by GPU" in printed) == (True, False)
    assert "Who waits" not in (tmp_path / "old" / "report.html").read_text()


def test_more_runs_than_can_be_drawn(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """21 racks: the table has all rows, the figures 20 lines, and stderr says so."""
    for racks in range(21):
        config = {"policy": {"name": "fifo"}, "seed": 1, "cluster": {"racks": racks}}
        run_folder(tmp_path / "runs" / str(racks), config)
    assert main([str(tmp_path / "runs")]) == 0
    printed = capsys.readouterr()
    assert len(_lines(printed.out)) == 3 + 21 + 1  # and the note on the overhead by GPU time
    assert "The last 1 of 21 rows are not drawn." in printed.err


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / "summary.json").write_text("{"), "summary.json: cannot be read"),
        (lambda run: (run / "summary.json").write_text('{"policy": 3}'), "summary.json, policy: "),
        (lambda run: (run / "config.yaml").write_text("a: ["), "config.yaml: cannot be read"),
        (lambda run: (run / "jobs.parquet").write_bytes(b"PAR1"), "jobs.parquet: cannot be read"),
        (lambda run: (run / "timeline.parquet").unlink(), "timeline.parquet: cannot be read"),
        (lambda run: (run / "events.parquet").write_bytes(b""), "events.parquet: cannot be read"),
        (lambda run: (run / "summary.json").unlink(), "no finished run, 1 failed"),
        (lambda run: (run / "config.yaml").unlink(), "a run without its config.yaml"),
    ],
)
def test_damaged_runs_are_two_lines_and_exit_code_2(
    run_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    message: str,
) -> None:
    """Whatever is damaged, the user reads which file, what is wrong and what to do; never a traceback."""
    damage(run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1}))
    assert main([str(tmp_path / "run")]) == 2
    lines = _lines(capsys.readouterr().err)
    assert len(lines) == 2
    assert message in lines[0]


@pytest.mark.parametrize(
    "arguments", [[], ["nowhere"], ["--colour", "x"], ["x", "--output"], ["x", "--baseline"]]
)
def test_bad_arguments_are_two_lines_and_exit_code_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No folder, one that is not there, an unknown option, an option without its value."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert len(_lines(capsys.readouterr().err)) == 2


def test_unwritable_output_is_two_lines_and_exit_code_2(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file lies where the report's folder should be; the message names it before anything is printed."""
    (tmp_path / "taken").write_text("")
    assert main([str(sweep), "--output", str(tmp_path / "taken")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert _lines(printed.err)[0] == f"{tmp_path / 'taken'}: cannot be written"


def test_a_folder_that_may_not_be_written_to_is_refused_before_the_work(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is there, and belongs to another user: to whom root, which runs tests, would do no harm."""
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    assert main([str(sweep), "--output", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert _lines(printed.err)[0] == f"{tmp_path}: cannot be written"


def test_a_run_without_jobs_is_refused_before_the_table(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table needs summaries only; the report that comes after it could not be made."""
    jobs = next(sweep.rglob("jobs.parquet"))
    jobs.unlink()
    assert main([str(sweep)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert _lines(printed.err)[0] == f"{jobs.parent}: a run without its jobs.parquet"


def test_an_unknown_baseline_is_two_lines_and_exit_code_2(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy that was not run: the message lists those that were, before anything is printed."""
    assert main([str(sweep), "--baseline", "policy=tiresias"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert _lines(printed.err) == [
        "--baseline policy: no row is like that",
        "  found 'tiresias'; allowed: fifo, srtf",
    ]


def test_a_run_without_its_summary_is_listed(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was left out without a word, and the report looked whole."""
    lost = next(path for path in sweep.iterdir() if (path / "summary.json").exists())
    (lost / "summary.json").unlink()
    assert main([str(sweep)]) == 0
    assert f"failed: {lost}: it has no summary.json" in capsys.readouterr().err


def test_a_baseline_that_fits_several_rows_is_named(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two thresholds of one policy, in one scenario: the first is taken, and that is said."""
    for number in (1, 2):
        config = {"policy": {"name": "fifo", "threshold": number}, "seed": 1}
        run_folder(tmp_path / "runs" / str(number), config)
    assert main([str(tmp_path / "runs"), "--baseline", "policy=fifo"]) == 0
    assert "--baseline policy=fifo: of several rows that fit in one scenario" in capsys.readouterr().err


def test_the_version_needs_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """As that of the other commands."""
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out.startswith("artist-sim 0.")


def test_options_may_be_between_folders(sweep: Path, tmp_path: Path) -> None:
    """And an output in folders that are not there is made."""
    output = tmp_path / "a" / "b"
    assert main([str(sweep), "--output", str(output), str(sweep)]) == 0
    assert (output / "report.html").exists()


def test_differences_are_to_the_baseline(sweep: Path) -> None:
    """Both policies have the same runs, so JCT differs by 0 %; only the row that is no baseline says so."""
    assert main([str(sweep), "--baseline", "policy=srtf"]) == 0
    page = (sweep / "report" / "report.html").read_text()
    rows = re.findall(r"<tr[^>]* data-text=.*?</tr>", page)[:2]
    assert ["diff" in row for row in rows] == [True, False]
    assert "relative change from the row \u201csrtf\u201d" in page
    (head, row) = (sweep / "report" / "changes.csv").read_text().splitlines()
    assert head.startswith("policy,baseline,jobs,")
    assert row.startswith("fifo,srtf,0,")
    assert main([str(sweep)]) == 0  # without a baseline there are no changes, those of before neither
    assert not (sweep / "report" / "changes.csv").exists()


def test_each_seed_has_its_line(sweep: Path) -> None:
    """On paper jobs take 10, 21.5 and 4 s; seed 1 is slowed by 2: means of 35.5 / 3 and 71 / 3.

    A line each; `table.csv` has their mean, 1.5 times the first.
    """
    assert main([str(sweep)]) == 0
    with (sweep / "report" / "seeds.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [(line["policy"], line["seed"]) for line in lines] == [
        (policy, seed) for policy in ("fifo", "srtf") for seed in "01"
    ]
    means = [float(line["jct_mean_s"]) for line in lines]
    assert means == pytest.approx([35.5 / 3, 71 / 3] * 2)
    with (sweep / "report" / "table.csv").open() as file:
        assert float(next(csv.DictReader(file))["jct_mean_s"]) == pytest.approx(1.5 * 35.5 / 3)


def test_traces_are_written_on_request(sweep: Path) -> None:
    """Two rows are two files that the page lists; of one run it is timeline.json."""
    assert main([str(sweep), "--trace"]) == 0
    assert main([str(sweep / "fifo0"), "--trace"]) == 0
    written = [
        sorted(path.name for path in folder.glob("report/*.json")) for folder in (sweep, sweep / "fifo0")
    ]
    assert written == [["timeline-01.json", "timeline-02.json"], ["timeline.json"]]
    assert 'href="timeline-02.json"' in (sweep / "report" / "report.html").read_text()


def test_the_page_begins_with_the_findings(sweep: Path) -> None:
    """The runs, the best policy and its certainty precede the first table."""
    assert main([str(sweep)]) == 0
    above = (sweep / "report" / "report.html").read_text().partition("<table")[0]
    assert "4 runs of 3 jobs: fifo and srtf." in above
    assert "Any, as mean JCTs are equal." in above
    assert "Not very: each row is the mean of only 2 seeds." in above
    assert above.count("<p>") <= 8


def test_the_details_of_answers_are_folded(sweep: Path) -> None:
    """Every policy, and what was assumed, behind a click."""
    assert main([str(sweep)]) == 0
    page = (sweep / "report" / "report.html").read_text()
    (every,) = re.findall(r"<details><summary>Every policy in a sentence</summary>(.*?)</details>", page)
    assert re.findall("<b>(.*?)</b>", every) == ["fifo.", "srtf."]


def test_simulating_does_not_import_modules_of_reports() -> None:
    """`artist` imports recorder, folder, metrics and tables; matplotlib and pandas would cost it a second."""
    code = (
        "import sys; from artist.recording import folder, metrics, recorder\n"
        "from artist.results import tables\n"
        "print({'matplotlib', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("config.yaml", "cluster: x\n", "config.yaml, cluster: not a mapping"),
        ("config.yaml", "a: &a [*a]\n", "aliases that repeat more than 10,000 values"),
        ("config.yaml", "a: " + "[" * 5_000, "nested more than 100 levels deep"),
        ("summary.json", "[" * 100_000, "summary.json: cannot be read"),
    ],
)
def test_a_folder_of_a_stranger_is_refused(
    run_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    told: str,
) -> None:
    """Two lines and exit code 2, whatever a file holds."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    (folder / name).write_text(text)
    assert main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 2


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("jobs", "jct_s", float("inf")), ("timeline", "time_s", float("nan")), ("jobs", "submit_s", -1.0)],
)
def test_a_number_that_no_run_has_is_refused(
    run_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    table: str,
    column: str,
    value: float,
) -> None:
    """Infinity in any column; none, or less than 0, where every row has a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    path = folder / f"{table}.parquet"
    rows = pq.read_table(path)
    at = rows.column_names.index(column)
    pq.write_table(rows.set_column(at, column, pa.array([value] * len(rows))), path)
    assert main([str(folder)]) == 2
    assert f"{table}.parquet, {column}: wrong number\n" in capsys.readouterr().err


def test_a_column_of_lists_is_refused(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither texts nor numbers can be made of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1}) / "jobs.parquet"
    rows = pq.read_table(path)
    at = rows.column_names.index("model")
    pq.write_table(rows.set_column(at, "model", pa.array([[1]] * len(rows))), path)
    assert main([str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert "jobs.parquet: cannot be read\n" in error
    assert len(error.splitlines()) == 2


def test_names_command_neither_the_terminal_nor_a_spreadsheet(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy called `=1+1`, with an escape that clears the screen."""
    run_folder(tmp_path / "run", {"policy": {"name": "=1+1\x1b[2J"}, "seed": 1})
    assert main([str(tmp_path / "run")]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "\n'=1+1" in (tmp_path / "run" / "report" / "table.csv").read_text()


def test_a_negative_time_of_a_stranger_is_shown(
    run_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A p95 of -1 s is no time of ours, and has a unit all the same: seconds."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    summary = json.loads((folder / "summary.json").read_text())
    summary["jct_s"]["p95"] = -1.0
    (folder / "summary.json").write_text(json.dumps(summary))
    assert main([str(folder)]) == 0
    assert " -1.000 " in capsys.readouterr().out
