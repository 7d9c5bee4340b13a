"""The auditor on three jobs on two machines, whole and damaged.

a and b have 8 GPUs, c has 16; a needs 100 iterations of 1 s, b 200, c 50. FIFO: a on m0 and b on m1 at 0 s.
m1 fails at 150.5 s, when b has done 150 iterations and loses half of one; b restarts on m0, which takes 5 s
more, and ends at 205.5 s. m1 joins again at 250 s, and c starts: 300 s.
"""

import ast
import json
from pathlib import Path
from shutil import copytree

import audit
import pandas as pd
import pytest
import yaml

JOBS = "job_id,submit_s,gpus,iterations,compute_s\na,0,8,100,1\nb,0,8,200,1\nc,10,16,50,1\n"
MACHINES = "time_s,kind,machine,deadline_s\n150.5,fail,m1,\n250,join,m1,\n"
NOT_RECOUNTED = {"policy", "network_distinct", "network_fallbacks", "network_carried", "setting", "run"}


@pytest.fixture(scope="session")
def whole(run_under, tmp_path_factory):
    """Return the run folder of the three jobs."""
    inputs = tmp_path_factory.mktemp("three")
    (inputs / "jobs.csv").write_text(JOBS)
    (inputs / "machines.csv").write_text(MACHINES)
    files = (f"workload.path={inputs / 'jobs.csv'}", f"cluster.events={inputs / 'machines.csv'}")
    return run_under("fifo", *TWO_MACHINES, *files)


TWO_MACHINES = (
    *("network=zero", "cluster.machines=2"),
    *("overheads.start_s=0", "overheads.resume_s=0", "overheads.restart_s=5"),
)


@pytest.fixture
def folder(whole, tmp_path):
    """Return a copy of it, to damage."""
    return Path(copytree(whole, tmp_path / "run"))


def _changed(folder, table, column, row, value):
    """Write another value in a table; a row is its number, or the job or kind of its only event."""
    path = folder / f"{table}.parquet"
    frame = pd.read_parquet(path)
    if isinstance(row, tuple):
        (row,) = frame.index[(frame["kind"] == row[0]) & (frame["job_id"] == row[1])]
    assert frame.loc[row, column] != value
    frame.loc[row, column] = value
    frame.to_parquet(path)


def _faults(folder):
    return [fault for faults in audit.audit(folder).faults.values() for fault in faults]


def test_the_whole_run_is_as_worked_out(folder):
    """Job b has run 150.5 + 50 s, held 8 GPUs for 5 s more, and nothing is wrong."""
    assert _faults(folder) == []
    b = pd.read_parquet(folder / "jobs.parquet").iloc[1]
    assert (b.running_s, b.overhead_s, b.lost_s, b.finish_s) == (200.5, 5, 0.5, 205.5)
    assert b.gpu_held_s == 8 * 205.5


def test_finishes_that_are_noticed_late_are_recounted(whole, run_under):
    """Every 60 s: a ends at 100 s, noticed at 120, b at 205.5 and 240, c at 300 at once; one row changed."""
    config = yaml.safe_load((whole / "config.yaml").read_text())
    files = (f"workload.path={config['workload']['path']}", f"cluster.events={config['cluster']['events']}")
    late = run_under("fifo", *TWO_MACHINES, *files, "overheads.notice_s=60")
    assert _faults(late) == []
    jobs = pd.read_parquet(late / "jobs.parquet")
    assert jobs.finish_s.tolist() == [120, 240, 300]
    assert jobs.overhead_s.tolist() == [20, 5 + 34.5, 0]


def test_work_that_cpu_only_jobs_lose_at_stops_is_recounted(run_under, tmp_path):
    """The machine fails at 50.5 s and joins at 60: a GPU job loses 0.5 s, one without GPUs all of 50.5 s."""
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_s,gpus,cpus,iterations,compute_s\na,0,1,0,100,1\nb,0,0,4,100,1\n"
    )
    (tmp_path / "machines.csv").write_text("time_s,kind,machine,deadline_s\n50.5,fail,m0,\n60,join,m0,\n")
    files = (f"workload.path={tmp_path / 'jobs.csv'}", f"cluster.events={tmp_path / 'machines.csv'}")
    free = ("overheads=coda", "overheads.start_s=0", "overheads.resume_s=0")
    run = run_under("fifo", "network=zero", "cluster.machines=1", *free, *files)
    jobs = pd.read_parquet(run / "jobs.parquet")
    assert jobs.lost_s.tolist() == [0.5, 50.5]
    assert jobs.finish_s.tolist() == [110, 160]
    assert _faults(run) == []


EVENTS = {
    "GPUs given twice": (("start", "b"), "allocation", "m0:8", "machine m0: 16 GPUs of 8 held at 0.0 s by"),
    "CPUs": (("start", "a"), "cpus", "113", "machine m0: 113 CPUs of 112 held at 0.0 s by ['a']"),
    "memory": (("start", "a"), "memory_bytes", str(2**60), f"machine m0: {2**60} bytes of"),
    "a failed machine": (("restart", "b"), "allocation", "m1:8", "job b, machine m1: gets Share(gpus=8"),
    "too few GPUs": (
        ("start", "a"),
        "allocation",
        "m0:4",
        "job a: gets 4 GPUs at 0.0 s; asked for range(8, 9)",
    ),
    "no such machine": (("start", "a"), "allocation", "m7:8", "job a: start at 0.0 s on ['m7']"),
    "no such job": (("start", "a"), "job_id", "z", "job z: start at 0.0 s of no job of jobs.parquet"),
    "another kind": (("restart", "b"), "kind", "resume", "job b: resume at 150.5 s is ['restart']"),
    "another end": (("stop", "b"), "reason", "preempted", "job b: recounted 0, written 1"),
    "a late finish": (("finish", "a"), "time_s", 101.0, "job a: recounted 101.000000000 s, written 100.0"),
    "a finish within an iteration": (("finish", "a"), "time_s", 100.25, "job a: finishes 250000000 ns after"),
    "a slow iteration": (("reprice", "c"), "iteration_s", 1.01, "job c: recounted 49, written 50"),
    "finished twice": (
        ("reprice", "a"),
        "kind",
        "finish",
        "job a: finish at 100.0 s of a job that is finished",
    ),
    "an arrival": (("arrival", "c"), "time_s", 9.0, "job c: recounted 9000000000, written 10000000000"),
}


@pytest.mark.parametrize("name", EVENTS)
def test_a_damaged_event_is_found(name, folder):
    """One value of one event, and the first thing that does not fit any more, with both values."""
    row, column, value, words = EVENTS[name]
    _changed(folder, "events", column, row, value)
    assert [fault for fault in _faults(folder) if fault.startswith(words)]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("workload.unit=machine", "gets [6, 2] GPUs by machine at 0.0 s; asked for units of 8"),
        ("workload.unit=4", "gets [6, 2] GPUs by machine at 0.0 s; asked for units of 4"),
        ("workload.segment=8", "gets [6, 2] GPUs by rack at 0.0 s; asked for segments of 8"),
    ],
)
def test_parts_of_units_and_segments_are_found(setting, words, run_under, tmp_path):
    """A job of 8 GPUs that may hold a part of a machine is written as 6 + 2 GPUs of two racks."""
    (tmp_path / "jobs.csv").write_text("job_id,submit_s,gpus,iterations,compute_s\na,0,8,100,1\n")
    files = f"workload.path={tmp_path / 'jobs.csv'}", "cluster.events=null"
    run = run_under("fifo", *TWO_MACHINES, *files, "cluster.machines_per_rack=1", setting)
    assert _faults(run) == []
    folder = Path(copytree(run, tmp_path / "damaged"))
    for column, value in (("allocation", "m0:6+m1:2"), ("cpus", "6+2"), ("memory_bytes", "6+2")):
        _changed(folder, "events", column, ("start", "a"), value)
    assert any(words in str(fault) for fault in _faults(folder))


def test_a_missing_event_is_found(folder):
    """Without the stop of b its second start is one of a job that runs."""
    events = pd.read_parquet(folder / "events.parquet")
    events[events["kind"] != "stop"].to_parquet(folder / "events.parquet")
    assert [
        fault
        for fault in _faults(folder)
        if fault.startswith("job b: restart at 150.5 s of a job that is running")
    ]


@pytest.mark.parametrize("table", ["jobs", "timeline"])
def test_every_number_of_a_table_is_recounted(table, folder, whole):
    """One more, in the second row, is found in every column."""
    frame = pd.read_parquet(whole / f"{table}.parquet")
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    assert len(numbers) > 4
    for name in numbers:
        frame.assign(**{name: frame[name] + [0, 1, *[0] * (len(frame) - 2)]}).to_parquet(
            folder / f"{table}.parquet"
        )
        assert _faults(folder), name


@pytest.mark.parametrize(
    ("less", "more"),
    [("running_s", "overhead_s"), ("compute_s", "exposed_comm_s"), ("queueing_s", "running_s")],
)
def test_a_second_booked_to_another_column_is_detected(less, more, folder):
    """Sums are kept, so that it takes the events, or the work asked for, to find it."""
    jobs = pd.read_parquet(folder / "jobs.parquet")
    jobs.loc[2, [less, more]] += [-1, 1]
    jobs.to_parquet(folder / "jobs.parquet")
    assert [fault for fault in _faults(folder) if fault.startswith("job c: ")]


def test_every_number_of_the_summary_is_recounted(folder):
    """A millionth more, one after the other; what is not ours to recount is said to be so."""
    path = folder / "summary.json"
    whole = json.loads(path.read_text())
    for name, value in whole.items():
        for key in value if isinstance(value, dict) else [None]:
            damaged = json.loads(json.dumps(whole))
            place, at = (damaged, name) if key is None else (damaged[name], key)
            number = isinstance(place[at], int | float)
            place[at] = place[at] * 1.000001 + 1e-6 if number else f"{place[at]}x"
            path.write_text(json.dumps(damaged))
            assert bool(_faults(folder)) == (name not in NOT_RECOUNTED), (name, key)


def _configured(folder, **workload):
    """Write other keys of the workload into a run's configuration."""
    path = folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["workload"] |= workload
    path.write_text(yaml.safe_dump(config))


NO_CSV = "the run folder does not say how busy GPUs were"
SOURCES = {
    "our own trace": ({}, None),
    "a generator": ({"_target_": "artist.workload.synthetic.SyntheticTrace"}, None),
    "another trace": ({"_target_": "artist.workload.readers.philly.PhillyTrace"}, None),
    "our own trace, gone": ({"path": "gone.csv"}, NO_CSV),
    "measured stages": ({"_target_": "artist.workload.staged.StagedTrace"}, NO_CSV),
    "a table": ({"_target_": "artist.workload.readers.columns.ColumnsCsv"}, None),
    "a table that says it": (
        {"_target_": "artist.workload.readers.columns.ColumnsCsv", "columns": {"gpu_utilization": "busy"}},
        NO_CSV,
    ),
    "a table with one value": (
        {
            "_target_": "artist.workload.readers.columns.ColumnsCsv",
            "columns": {},
            "constants": {"gpu_utilization": "0.5"},
        },
        NO_CSV,
    ),
    "coda": ({"_target_": "artist.workload.coda.CodaTrace"}, NO_CSV),
    "a user's source": ({"_target_": "mine.Trace"}, NO_CSV),
}


@pytest.mark.parametrize("source", SOURCES)
def test_utilisation_is_recounted_where_no_trace_gives_gpu_use(source, folder):
    """8 x 100 + 8 x 200.5 + 16 x 50 = 3204 GPU s of compute; 16 x 300 but for 8 x 99.5 without m1: 4004.

    A hundredth less is found, unless the source may say how busy GPUs were; then the bounds are 0 and that.
    """
    workload, reason = SOURCES[source]
    _configured(folder, **workload)
    assert _faults(folder) == []
    told = [text for text in audit.audit(folder).unknown if text.startswith("gpu_utilization")]
    assert told == [f"gpu_utilization only as 0.0000 to 0.8002: {reason}"] * bool(reason)
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    assert summary["gpu_utilization"] == pytest.approx(3204 / 4004)
    path.write_text(json.dumps(summary | {"gpu_utilization": 0.99 * 3204 / 4004}))
    assert len(_faults(folder)) == (not reason)


@pytest.mark.slow
def test_utilisation_with_elastic_jobs_is_bounded(run_under):
    """Growing jobs compute on two numbers of GPUs; no file says how long on each. The trace says how busy."""
    told = [text for text in audit.audit(run_under("gandiva_full")).unknown if "gpu_utilization" in text]
    why = "the run folder does not say how long a job computed on each number of GPUs"
    assert [text.partition(": ")[2] for text in told] == [why]


@pytest.mark.parametrize(
    ("name", "factor"), [("by_gpu_time", 1.001), ("gpus", 2), ("jobs", 2), ("share", 1.001), ("model", 2)]
)
def test_overhead_by_gpu_time_and_its_largest_part_are_recounted(name, factor, run_under, tmp_path):
    """Jobs that keep their GPUs: exact; one number more, or the model's name twice, is found."""
    run = Path(copytree(run_under("fifo"), tmp_path / "run"))
    assert _faults(run) == []
    summary = json.loads((run / "summary.json").read_text())
    overhead = summary["comm_overhead"]
    place = overhead if name in overhead else overhead["largest"]
    place[name] *= factor
    (run / "summary.json").write_text(json.dumps(summary))
    assert len(_faults(run)) == 1


def test_overhead_by_gpu_time_of_elastic_jobs_is_bounded(run_under, tmp_path):
    """No file says how long a job computed on which number of GPUs; ten times the overhead is found."""
    run = Path(copytree(run_under("lyra"), tmp_path / "run"))
    findings = audit.audit(run)
    assert not findings.faults
    assert any(text.startswith("comm_overhead.by_gpu_time only as ") for text in findings.unknown)
    summary = json.loads((run / "summary.json").read_text())
    summary["comm_overhead"]["by_gpu_time"] *= 10
    (run / "summary.json").write_text(json.dumps(summary))
    assert len(_faults(run)) == 1


def test_names_are_held_against_the_trace(folder):
    """The trace gives job a other names than jobs.parquet, where models are drawn and users unknown."""
    trace = folder / "named.csv"
    rows = JOBS.splitlines()
    names = (",model,user,vc", ",VGG19,ada,prod", ",,,", ",,,")
    trace.write_text("\n".join(row + more for row, more in zip(rows, names, strict=True)))
    _configured(folder, path=str(trace))
    drawn = pd.read_parquet(folder / "jobs.parquet").model[0]
    pairs = (("VGG19", drawn), ("ada", ""), ("prod", ""))
    assert _faults(folder) == [f"job a: recounted {ours}, written {theirs}" for ours, theirs in pairs]
    assert any("model (2 jobs) of jobs.parquet" in text for text in audit.audit(folder).unknown)
    _configured(folder, path="gone.csv")
    told = "model (3 jobs), user (3 jobs), vc (3 jobs) of jobs.parquet"
    assert any(told in text for text in audit.audit(folder).unknown)


def test_ideal_times_are_held_against_the_trace_without_rates(run_under, folder, whole, tmp_path):
    """Job c needs 50 iterations of 1 s: 51 s are found by the trace alone; without it, that is said."""
    config = yaml.safe_load((whole / "config.yaml").read_text())
    files = (f"workload.path={config['workload']['path']}", "network=zero", "output.rates=false")
    run = Path(copytree(run_under("fifo", "cluster.events=null", *files), tmp_path / "silent"))
    assert _faults(run) == []
    _changed(run, "jobs", "ideal_s", 2, 51.0)
    assert _faults(run) == ["job c: ideal time 51.0 s, 50.0 s in the trace"]
    _configured(run, path="gone.csv")
    assert _faults(run) == []
    assert any(text.startswith("ideal_s (3 jobs), model") for text in audit.audit(run).unknown)


def test_a_duplicated_job_is_named(folder, capsys):
    """A row of jobs.parquet doubled: nothing else is recounted, since it would be of no one job."""
    jobs = pd.read_parquet(folder / "jobs.parquet")
    pd.concat([jobs, jobs.iloc[:1]]).to_parquet(folder / "jobs.parquet")
    assert audit.main([str(folder)]) == 1
    assert "    job a: stands 2 times" in capsys.readouterr().out.splitlines()


def test_a_run_of_an_older_version_is_not_called_wrong(folder, tmp_path, capsys):
    """Groups had no depth: 2, with what to do; 1 beside a run with a fault."""
    other = Path(copytree(folder, tmp_path / "other"))
    events = pd.read_parquet(folder / "events.parquet")
    events.drop(columns="group_depth").to_parquet(folder / "events.parquet")
    assert audit.main([str(tmp_path)]) == 2
    lines = capsys.readouterr().out.splitlines()
    why = "made by an older version (events.parquet has no column group_depth): run it again"
    assert f"  NOT AUDITED: {why}" in lines
    assert lines[-1] == "2 runs, 0 of them with faults, 1 not audited"
    _changed(other, "jobs", "evictions", 1, 0)
    assert audit.main([str(tmp_path)]) == 1


def test_a_window_is_recounted(run_under):
    """Jobs 2 to 5 are measured: from the submission of the first of them to the last finish among them."""
    folder = run_under("fifo", "stop.jobs=[2,6]")
    assert _faults(folder) == []
    summary, jobs = (
        json.loads((folder / "summary.json").read_text()),
        pd.read_parquet(folder / "jobs.parquet"),
    )
    assert summary["measured"] == {"jobs": 4, "finished": 4}
    assert summary["makespan_s"] == jobs.finish_s[2:6].max() - jobs.submit_s[2]
    assert summary["makespan_s"] != jobs.finish_s.max() - jobs.submit_s[0]


@pytest.mark.parametrize(
    ("column", "value", "rows", "words"),
    [("group_depth", 1, slice(None), "with other members, of"), ("group_gpus", "m0:1", 1, "than others")],
)
def test_a_damaged_group_is_found(column, value, rows, words, run_under, tmp_path):
    """Groups of several jobs are none of depth 1, and the members of one agree on what it owns."""
    folder = Path(copytree(run_under("muri_l_events"), tmp_path / "run"))
    events = pd.read_parquet(folder / "events.parquet")
    events.loc[events.index[events["group"].notna()][rows], column] = value
    events.to_parquet(folder / "events.parquet")
    assert any(words in fault for fault in _faults(folder))


def test_the_file_of_machines_is_held_against_the_events(folder, whole):
    """m1 is to join at 251 s, and joins at 250 s."""
    config = (folder / "config.yaml").read_text()
    other = folder / "machines.csv"
    other.write_text(MACHINES.replace("250", "251"))
    name = next(line for line in config.splitlines() if line.startswith("  events:"))
    (folder / "config.yaml").write_text(config.replace(name, f"  events: {other}"))
    assert _faults(folder) == ["recounted (251000000000, 'join', 'm1'), written (250000000000, 'join', 'm1')"]


def test_the_command_lists_faults_and_returns_1(whole, folder, tmp_path, capsys):
    """0 and a line a check; 1 with the fault below its check; 1 for a file that is gone; 2 without a run."""
    assert audit.main([str(whole)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(whole)
    assert lines[-1] == "1 runs, 0 of them with faults"
    assert all(line.startswith(("  ok ", "  not recounted: ")) for line in lines[1:-1])
    _changed(folder, "jobs", "evictions", 1, 0)
    assert audit.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    wrong = next(i for i, line in enumerate(lines) if line.startswith("  WRONG"))
    assert lines[wrong].split(maxsplit=4) == ["WRONG", "1", "of", "3", "jobs.parquet: evictions"]
    assert lines[wrong + 1] == "    job b: recounted 1, written 0"
    (folder / "timeline.parquet").unlink()
    assert audit.main([str(tmp_path)]) == 1
    assert audit.main([str(whole / "config.yaml")]) == 2


def test_it_shares_no_code_with_the_simulator():
    """Nothing of artist or netmodels is imported, so that it cannot share a fault with them."""
    scripts = Path(audit.__file__).parent
    for path in (scripts / "audit.py", *(scripts / "auditing").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] in ("artist", "netmodels")], path


@pytest.fixture(scope="session")
def fed(run_under):
    """Return a run of the golden workload, machines failing, whose jobs need CPUs and memory."""
    return run_under("srtf", "performance.sensitivity=synergy", "output.resources=true")


def test_cpus_and_memory_held_and_used_are_recounted(fed, tmp_path):
    """Nothing is wrong; a thousandth more is found in every number: shares, times of short jobs ..."""
    folder = Path(copytree(fed, tmp_path / "run"))
    assert _faults(folder) == []
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    summary["relative_throughput"] *= 1.001
    names = ["relative_throughput"]
    for key in ("shares", "jct_short_s", "jct_long_s"):
        summary[key] = {name: value * 1.001 for name, value in summary[key].items()}
        names += [f"{key}.{name}" for name in summary[key]]
    path.write_text(json.dumps(summary))
    jobs = pd.read_parquet(fed / "jobs.parquet")
    held = int((jobs[["cpus_held", "memory_bytes_held"]] > 0).sum().sum())
    jobs[["cpus_held", "memory_bytes_held"]] *= 1.001
    jobs.to_parquet(folder / "jobs.parquet")
    faults = _faults(folder)
    assert len(names) == 1 + 5 + 2 * 7
    assert [name for name in names if not any(fault.startswith(f"{name}: ") for fault in faults)] == []
    assert len(faults) == len(names) + held


LIMITED = """\
job_id,submit_s,gpus,iterations,compute_s,limit_s,started_s
a,0,16,100,1,,0
b,10,16,200,1,50,40
c,20,16,60,1,60,100
"""


@pytest.fixture
def limited(run_under, tmp_path):
    """Return the run folder of a, to 100 s, b, which its limit ends at 150 s, and c, to 210 s at its limit.

    The real waits are 0, 30 and 80 s; a, b and c wait 0, 90 and 130 s.
    """
    (tmp_path / "jobs.csv").write_text(LIMITED)
    files = (f"workload.path={tmp_path / 'jobs.csv'}", "cluster.events=null", "workload.limits.enforced=true")
    return run_under("fifo", *files, "output.rates=true", *TWO_MACHINES)


OBSERVED = """\
job_id,submit_s,gpus,duration_s,model
a,0,16,3601,VGG11
b,10,8,611,ResNet18
"""


def test_first_iterations_that_observed_run_times_make_shorter_are_allowed(run_under, tmp_path):
    """Neither run time is a multiple of an iteration in whole ns; b stops a, which loses what it did."""
    (tmp_path / "jobs.csv").write_text(OBSERVED)
    files = (f"workload.path={tmp_path / 'jobs.csv'}", "cluster.events=null", "workload.durations=observed")
    folder = run_under("srtf", *files, "output.rates=true", "overheads.on_stop=lose_all", *TWO_MACHINES)
    assert pd.read_parquet(folder / "jobs.parquet")["preemptions"].tolist() == [1, 0]
    assert not _faults(folder)


def test_timeouts_and_real_waits_are_recounted(limited):
    """30 and 80 s of the site against 90 and 130 s: a mean of 110 / 3 against 220 / 3, a ratio of 2."""
    assert not _faults(limited)
    assert json.loads((limited / "summary.json").read_text())["seen"]["ratio"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("table", "column", "row", "value"),
    [
        ("events", "reason", ("finish", "b"), "done"),
        ("events", "reason", ("finish", "c"), "timeout"),
        ("events", "time_s", ("finish", "b"), 151.0),
        ("jobs", "seen_queueing_s", 1, 31.0),
    ],
)
def test_another_end_or_another_wait_of_the_site_is_a_fault(limited, table, column, row, value):
    """Job b ends undone at its limit of 50 s, c done at its limit; b started 30 s after its submission."""
    _changed(limited, table, column, row, value)
    assert _faults(limited)


def test_pending_reasons_under_slurm_are_those_of_waiting_jobs(run_under, tmp_path):
    """The QOS has 16 GPUs: a holds all to 100 s, b waits for that from 10 s, and c behind it, to 300 s.

    A reason of a job that runs, as at a late change, is a fault.
    """
    (tmp_path / "jobs.csv").write_text(JOBS.replace("a,0,8", "a,0,16").replace("b,0,8", "b,10,16"))
    jobs = pd.read_csv(tmp_path / "jobs.csv").assign(qos="q")
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    quota = ("policy.qos=[{Name: q, GrpTRES: {gres/gpu: 16}}]", "cluster.machines=3", "network=zero")
    folder = run_under("slurm", f"workload.path={tmp_path / 'jobs.csv'}", "cluster.events=null", *quota)
    events = pd.read_parquet(folder / "events.parquet")
    noted = events[events["kind"] == "pending"]
    assert noted[["time_s", "job_id", "reason"]].values.tolist() == [
        [10, "b", "QOSGrpGRES"],
        [10, "c", "QOSGrpGRES"],
    ]
    assert not _faults(folder)
    _changed(folder, "events", "job_id", int(noted.index[0]), "a")
    assert _faults(folder)


def test_limits_around_another_policy_are_recounted(run_under, tmp_path):
    """Red may hold 8 GPUs: b waits for a, on a machine with a name. With 7 the same run would be at fault."""
    (tmp_path / "jobs.csv").write_text(JOBS)
    jobs = pd.read_csv(tmp_path / "jobs.csv").assign(account=["red", "red", "blue"])
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    limits, group = "quotas.associations=[{Account: red, GrpTRES: {gres/gpu: 8}}]", "type: dally_8gpu"
    machines = f"cluster.machines=[{{{group}, count: 2, names: [x, y], rack: 3}}, {{{group}, count: 1}}]"
    files = (f"workload.path={tmp_path / 'jobs.csv'}", "cluster.events=null", "network=zero")
    folder = run_under("fifo", *files, limits, machines)
    assert not _faults(folder)
    config = (folder / "config.yaml").read_text()
    assert config.count("gres/gpu: 8") == 1
    (folder / "config.yaml").write_text(config.replace("gres/gpu: 8", "gres/gpu: 7"))
    assert any("account red holds 8 gres/gpu" in fault for fault in _faults(folder))


def test_cancelled_jobs_are_recounted(run_under, tmp_path):
    """Job a holds two machines, c the third; b, urgent, wants all three at 30 s, and a and c end there.

    An end of a without its reason is a fault: it is not done.
    """
    (tmp_path / "jobs.csv").write_text(JOBS.replace("a,0,8", "a,0,16").replace("b,0,8", "b,30,24"))
    jobs = pd.read_csv(tmp_path / "jobs.csv").assign(partition=["low", "urgent", "low"])
    jobs.loc[2, "gpus"] = 8
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    tiers = "policy.partitions=[{PartitionName: low}, {PartitionName: urgent, PriorityTier: 9}]"
    modes = ("policy.PreemptType=preempt/partition_prio", "policy.PreemptMode=CANCEL")
    files = (f"workload.path={tmp_path / 'jobs.csv'}", "cluster.events=null", "cluster.machines=3")
    folder = run_under("slurm", *files, "output.rates=true", "network=zero", tiers, *modes)
    assert not _faults(folder)
    jobs = pd.read_parquet(folder / "jobs.parquet")
    assert jobs["cancelled"].tolist() == [1, 1, 0]
    assert "timed_out" not in jobs
    assert jobs["preemptions"].tolist() == [1, 1, 0]
    assert jobs["finish_s"].tolist()[:2] == [30, 30]
    _changed(folder, "events", "reason", ("finish", "a"), None)
    assert _faults(folder)


FAILING = (
    "cluster.events=null",
    "cluster.machines=9",
    "cluster.machines_per_rack=3",
    "cluster.spares=1",
    "cluster.failures=[{cause: gpu, per_1000_days: 2000, repair_h: 3, lemons: {share: 0.2, times: 5}}, "
    "{cause: link, per_1000_days: 5000, slow: 1.4, repair_h: 2}, "
    "{cause: power, scope: rack, per_1000_days: 900, repair: lognormal, repair_h: 1}]",
    "overheads.on_stop=lose_since_checkpoint",
    "overheads.on_preemption=save",
    "overheads.checkpoint_every_s=900",
    "overheads.checkpoint_write_s=20",
    "overheads.recover_s=120",
    "overheads.restart_s=30",
)


GPUS = 8  # of a machine


@pytest.mark.parametrize("policy", ["srtf", "muri_l", "dally"])
def test_gpu_time_by_cause_is_recounted(policy, run_under, tmp_path):
    """Machines, links and racks fail; jobs save, write, recover: whole, then a second too many."""
    run = Path(copytree(run_under(policy, *FAILING), tmp_path / "run"))
    assert _faults(run) == []
    jobs = pd.read_parquet(run / "jobs.parquet")
    causes = [name for name in jobs if name.endswith("_gpu_s")]
    assert len(causes) == 7
    for name in ("useful_gpu_s", "checkpoint_gpu_s", "recovery_gpu_s", "lost_by_failure_gpu_s"):
        assert jobs[name].sum() > 0
    for name in (*causes, "failures"):
        damaged = jobs.copy()
        damaged.loc[7, name] += 1
        damaged.to_parquet(run / "jobs.parquet")
        assert len(_faults(run)) == 1, name
    jobs.to_parquet(run / "jobs.parquet")
    summary = json.loads((run / "summary.json").read_text())
    gpu_ns = summary["failures"]["gpu_ns"]
    end_s = pd.read_parquet(run / "timeline.parquet").time_s.iloc[-1]
    assert sum(gpu_ns.values()) == 9 * GPUS * round(end_s * 1e9)
    gpu_ns["idle"], gpu_ns["repair"] = gpu_ns["idle"] + 1, gpu_ns["repair"] - 1
    (run / "summary.json").write_text(json.dumps(summary))
    assert len(_faults(run)) == 2
