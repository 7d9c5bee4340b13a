"""One run: what it prints, what it writes, and what its results do not depend on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl

from artist.app.cli import main
from artist.data import data_path

Artist = Callable[..., Any]
FILES = ["artist.log", "config.yaml", "events.parquet", "jobs.parquet", "summary.json", "timeline.parquet"]


def only_run() -> Path:
    """Return the folder of the one run that was made."""
    (summary,) = Path("runs").rglob("summary.json")
    return summary.parent


def test_stdout_is_the_table_and_stderr_the_rest(artist: Artist) -> None:
    """So that `artist > table.txt` holds the result alone: three lines of heading and one row."""
    result = artist("policy=fifo")
    assert result.code == 0
    *_, row = result.out.splitlines()
    assert row.split()[:3] == ["fifo", "8", "8"]
    assert result.err == f"written to {only_run()}\n"


@pytest.mark.parametrize("network", ["analytical", "zero"])
def test_answers_of_models_in_process_stay_in_memory(artist: Artist, network: str) -> None:
    """ARTIST_CACHE is for programs: Venus under FIFO took twice as long with a file per answer."""
    folder = Path(os.environ["ARTIST_CACHE"])
    assert artist("policy=fifo", f"network={network}").code == 0
    assert not folder.exists()
    assert artist("policy=fifo", f"network={network}", f"network.cache={folder}").code == 0
    assert list(folder.rglob("*.json"))  # where the user asks for it


def test_the_run_folder_holds_its_six_files(artist: Artist) -> None:
    """runs/<date>/<time>-<run key>/ with six files, the resolved config among them."""
    artist("policy=srtf", "seed=3")
    folder = only_run()
    assert sorted(path.name for path in folder.iterdir()) == FILES
    date, name = folder.relative_to("runs").parts
    assert len(date.split("-")) == 3
    assert len(name.rsplit("-", 1)[1]) == 12
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert (config["seed"], config["policy"]["seed"]) == (3, 3)
    assert "hydra" not in config
    assert "8 jobs on 128 GPUs under srtf" in (folder / "artist.log").read_text()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["policy"], summary["seed"], summary["finished"]) == ("srtf", 3, 8)
    assert set(summary["run"]) == {
        "wall_s",
        "network",
        "network_calls",
        "cache_hits",
        "version",
        "code",
        "host",
        "overrides",
    }


def test_partitions_accounts_and_qos_are_columns_where_the_trace_has_them(artist: Artist) -> None:
    """Job b has an account and no QOS: "" there; no job has a partition, so there is no such column."""
    Path("trace.csv").write_text(
        "job_id,submit_s,duration_s,gpus,partition,account,qos\na,0,9,1,,red,high\nb,1,9,1,,blue,\n"
    )
    assert artist("policy=fifo", "workload=csv", "workload.path=trace.csv").code == 0
    jobs = pd.read_parquet(only_run() / "jobs.parquet")
    assert list(jobs)[:6] == ["job_id", "model", "user", "vc", "account", "qos"]
    assert jobs["account"].tolist() == ["red", "blue"]
    assert jobs["qos"].tolist() == ["high", ""]
    assert "partition" not in jobs


def test_a_job_that_timed_out_holds_no_cpus_afterwards(artist: Artist) -> None:
    """Job a ends at its limit of 3,000 s: its mean is over these, not until b ends at 9,000 s."""
    Path("trace.csv").write_text(
        "job_id,submit_s,duration_s,gpus,model,limit_s\na,0,9000,1,ResNet50,3000\nb,0,9000,1,ResNet50,\n"
    )
    settings = ("policy=coda", "workload=csv", "workload.path=trace.csv", "workload.limits.enforced=true")
    assert artist(*settings, "performance.sensitivity=coda", "cluster.machines=1").code == 0
    events = pd.read_parquet(only_run() / "events.parquet").query("job_id == 'a' and cpus.notna()")
    held = [*events["time_s"], 3000.0]
    spans = [until - since for since, until in pairwise(held)]
    mean = sum(span * int(cpus) for span, cpus in zip(spans, events["cpus"], strict=True)) / 3000
    jobs = pd.read_parquet(only_run() / "jobs.parquet").set_index("job_id")
    assert jobs.loc["a", "timed_out"] == 1
    assert len(set(events["cpus"])) > 1
    assert jobs.loc["a", "cpus_held"] == pytest.approx(mean)


def test_options_may_be_anywhere_on_the_command_line(artist: Artist) -> None:
    """`artist a=1 -m b=2` is what people type; argparse alone refuses it."""
    assert artist("policy=fifo", "-m", "seed=0,1").code == 0


def test_help_and_config_go_to_stdout(artist: Artist) -> None:
    """They are what was asked for, so they are the result."""
    assert "cluster" in artist("--help", tiny=False).out
    assert "machines_per_rack" in artist("--cfg", "job").out
    assert artist("--version").out.startswith("artist-sim ")


def test_an_impossible_plan_is_reported_without_a_traceback(artist: Artist, mine: Path) -> None:
    """Job a asks for 1 GPU; an empty allocation is refused by the engine: the policy's fault, exit code 1."""
    (mine / "empty.py").write_text(
        "from artist.core.cluster import Allocation\n"
        "class Empty:\n"
        "    def decide(self, view):\n"
        "        plan = view.plan()\n"
        "        plan.place(0, Allocation(()))\n"
        "        return plan.done()\n"
    )
    (mine / "policy" / "empty.yaml").write_text("_target_: empty.Empty\n")
    result = artist(f"--config-dir={mine}", "policy=empty")
    assert result.code == 1
    assert result.err.startswith("PlanError")
    assert "Traceback" not in result.err
    assert not list(Path("runs").glob("2*"))


def test_changes_of_iteration_time_are_events_if_asked_for(artist: Artist) -> None:
    """Each of the 8 jobs has its iteration time set at least once; without `output.rates` no row says so."""
    counts = []
    for name, rates in (("with", "true"), ("without", "false")):
        artist("policy=fifo", f"output.rates={rates}", f"output.dir={name}")
        (path,) = Path(name).rglob("events.parquet")
        counts.append(int((pd.read_parquet(path)["kind"] == "reprice").sum()))
    assert counts[0] >= 8
    assert counts[1] == 0


def test_resources_are_recorded_if_asked_for(artist: Artist) -> None:
    """resources.parquet ends with the run; the other tables are the same bytes, two keys are added.

    While a job computes it is on its GPUs for a part of the time: less than `gpu_utilization` says.
    """
    artist("policy=fifo", "output.dir=with", "output.resources=true")
    artist("policy=fifo", "output.dir=without")
    (more,), (plain,) = (
        [path.parent for path in Path(name).rglob("summary.json")] for name in ("with", "without")
    )
    assert sorted(path.name for path in more.iterdir()) == sorted([*FILES, "resources.parquet"])
    assert sorted(path.name for path in plain.iterdir()) == FILES
    for name in ("jobs.parquet", "events.parquet", "timeline.parquet"):
        assert (more / name).read_bytes() == (plain / name).read_bytes()
    frame = pd.read_parquet(more / "resources.parquet")
    assert list(frame) == ["time_s", "storage", "cpu", "gpu", "network", "blocking_index"]
    assert frame["time_s"].iloc[-1] == pd.read_parquet(more / "timeline.parquet")["time_s"].iloc[-1]
    summary, without = (json.loads((folder / "summary.json").read_text()) for folder in (more, plain))
    assert set(summary) - set(without) == {"resources", "blocking_index"}
    assert 0 < summary["resources"]["gpu"] < summary["gpu_utilization"]


def test_a_kept_point_without_a_requested_file_is_repeated(artist: Artist) -> None:
    """A sweep gets resources.parquet by the same command with `output.resources`, and keeps it without."""
    sweep = ("-m", "policy=fifo", "seed=0", "output.name=one")
    artist(*sweep)
    assert not list(Path("runs").rglob("resources.parquet"))
    artist(*sweep, "output.resources=true")
    (file,) = Path("runs").rglob("resources.parquet")
    assert "blocking_index" in json.loads((file.parent / "summary.json").read_text())
    written = (file.parent / "summary.json").stat().st_mtime_ns
    for again in ((), ("output.resources=true",)):
        artist(*sweep, *again)
        assert (file.parent / "summary.json").stat().st_mtime_ns == written
    assert file.exists()


def test_the_window_and_the_clock_stop_a_run(artist: Artist) -> None:
    """Unfinished jobs are rows all the same, and the summary says why it ended."""
    artist("policy=fifo", "stop.time_s=30", "output.dir=a")
    artist("policy=fifo", "stop.jobs=[0,2]", "output.dir=b")
    stopped = {}
    for name in ("a", "b"):
        (path,) = Path(name).rglob("summary.json")
        stopped[name] = json.loads(path.read_text())["stopped_by"]
    assert stopped == {"a": "time", "b": "window"}


@pytest.mark.parametrize("sweep", [(), ("-m", "policy=fifo,srtf", "output.name=s")])
def test_a_stuck_run_is_written_up_to_there_and_marked(artist: Artist, sweep: tuple[str, ...]) -> None:
    """Job b of 12 GPUs waits for m0 of two machines, which failed at 20 s, when a had run for 10 s.

    The run is no finished one, now or when it is found again: exit code 1, and a mark where it is compared.
    """
    Path("jobs.csv").write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,10,VGG11\nb,21,12,30,VGG11\n")
    Path("events.csv").write_text("time_s,kind,machine,deadline_s\n20,fail,m0,\n")
    given = "workload.path=jobs.csv", "cluster.machines=2", "cluster.events=events.csv", "hydra.run.dir=one"
    for _ in range(2):
        result = artist(*(sweep or ("policy=fifo",)), *given)
        assert result.code == 1
        assert "StuckError: stuck at 21.0 s: 1 jobs wait" in result.err
        assert ("1*" in result.out) == ("stuck: 2 of these 2 runs" in result.out) == bool(sweep)
    for path in Path("runs/sweeps/s" if sweep else "one").rglob("summary.json"):
        summary = json.loads(path.read_text())
        assert (summary["stopped_by"], summary["finished"]) == ("stuck", 1)
        assert summary["stuck"].startswith("stuck at 21.0 s: 1 jobs wait")
        assert pd.read_parquet(path.parent / "jobs.parquet")["finish_s"][0] == pytest.approx(10)


def test_results_do_not_depend_on_the_process(tmp_path: Path) -> None:
    """Same config and seed: identical bytes under two PYTHONHASHSEEDs, with and without a progress bar."""
    runs = []
    for hash_seed, progress in (("1", "true"), ("2", "false")):
        out = tmp_path / hash_seed
        arguments = ["policy=srtf", "workload.jobs=60", f"output.dir={out}", f"output.progress={progress}"]
        arguments.append("output.resources=true")
        command = [sys.executable, "-m", "artist", *arguments, "network.cache=null"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        (folder,) = (path.parent for path in out.rglob("summary.json"))
        summary = json.loads((folder / "summary.json").read_text())
        del summary["run"]
        tables = [path.read_bytes() for path in sorted(folder.glob("*.parquet"))]
        assert len(tables) == 4
        runs.append((folder.name.rsplit("-")[-1], summary, tables))
    assert runs[0] == runs[1]


def test_ctrl_c_leaves_nothing_half_written(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scratch folder goes, Hydra's empty folder and the lock go, and the exit code is the shell's 130."""
    from artist.errors import Stopped
    from artist.run.build import Simulation

    def interrupted(*_: object) -> None:
        raise Stopped(signal.SIGINT)  # as the command's handler does

    monkeypatch.setattr(Simulation, "run", interrupted)
    result = artist("policy=fifo")
    assert result.code == 130
    assert result.err.startswith("interrupted")
    assert not Path("runs").exists()


def with_decide(mine: Path, body: str, attribute: str = "pass") -> tuple[str, str]:
    """Write a policy whose `decide` is one line; return the arguments that ask for it."""
    decide = f"    def decide(self, view):\n        {body}\n"
    (mine / "buggy.py").write_text(f"import sys\nclass Buggy:\n    {attribute}\n{decide}")
    (mine / "policy" / "buggy.yaml").write_text("_target_: buggy.Buggy\n")
    return f"--config-dir={mine}", "policy=buggy"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("raise ValueError('odd\\nnumber')", "ValueError: odd number"),
        ("return {}['key']", "KeyError: 'key'"),
        ("return self.decide(view)", "RecursionError: maximum recursion depth exceeded"),
        ("open('nowhere')", "FileNotFoundError"),
        ("sys.exit(0)", "sys.exit(0)"),
        ("sys.exit('bye')", "sys.exit('bye')"),
        ("raise type('Mine', (BaseException,), {})('odd')", "Mine: odd"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise MemoryError", "MemoryError"),
    ],
)
def test_a_bug_names_the_lines_of_the_user(artist: Artist, mine: Path, body: str, told: str) -> None:
    """Two lines: policy and error, then file, line and function; the log that is named has the traceback."""
    result = artist(*with_decide(mine, body))
    assert result.code == 1
    first, second = result.err.splitlines()
    assert "policy buggy" in first
    assert told in first
    place, _, log = second.partition("; traceback in ")
    assert place == "  at mine/buggy.py:5 in decide"
    assert "engine.py" in Path(log).read_text()


def test_a_policy_that_leaves_the_program_does_not_end_a_sweep(artist: Artist, mine: Path) -> None:
    """sys.exit() is a failure of its point; the other one counts."""
    config_dir, _ = with_decide(mine, "sys.exit(0)")
    result = artist("-m", config_dir, "policy=buggy,fifo")
    assert result.code == 1
    assert "1 run now, 0 kept, 1 failed" in result.err
    assert result.out.splitlines()[-1].startswith("fifo")
    (error,) = Path("runs").rglob("error.json")
    assert json.loads(error.read_text())["status"] == "failed"
    assert "Traceback" in (error.parent / "artist.log").read_text()


def test_an_interruption_that_a_policy_raises_is_its_own(mine: Path) -> None:
    """No signal arrived: exit code 1 and the line of the policy, instead of 130 and `interrupted`."""
    arguments = with_decide(mine, "raise KeyboardInterrupt")
    command = [sys.executable, "-m", "artist", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "at mine/buggy.py:5 in decide" in result.stderr


def test_a_lack_of_memory_is_no_bug(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine asks for more than the machine has: two lines that say so, and what helps."""

    def hungry(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("artist.run.build.Simulation.run", hungry)
    monkeypatch.setattr("artist.bad_input.error_source._is_own", lambda *_: False)
    result = artist("policy=fifo")
    assert result.code == 1
    assert "the run under policy fifo: memory ran out\n  allowed: a machine with more" in result.err


@pytest.mark.parametrize("number", ["np.int64", "np.int32", "np.uint8"])
def test_whole_numbers_of_numpy_count_as_python_ones(artist: Artist, mine: Path, number: str) -> None:
    """A GPU of machine 0 for each job in turn; 8 bits would overflow at -1 and at 2^41 bytes of memory."""
    body = (
        "plan = view.plan(); jobs = view.jobs\n"
        "        row = 0\n"
        "        if len(jobs.job) and not jobs.running[row]:\n"
        f"            parts = [map({number}, (m, min(8, jobs.gpus[row] - 8 * m), 1, 0))\n"
        "                     for m in range(-(-int(jobs.gpus[row]) // 8))]\n"
        "            plan.place(int(jobs.job[row]), Allocation(tuple(Slice(*part) for part in parts)))\n"
        "        return plan.done()"
    )
    arguments = with_decide(mine, body)
    text = "import numpy as np\nfrom artist.api import Allocation, Slice\n" + (mine / "buggy.py").read_text()
    (mine / "buggy.py").write_text(text)
    result = artist(*arguments, "output.resources=true")
    assert result.code == 0, result.err
    assert json.loads((only_run() / "summary.json").read_text())["finished"] == 8


@pytest.mark.parametrize("group", ["policy", "estimates"])
def test_a_part_that_leaves_the_program_when_imported_is_named(
    artist: Artist, mine: Path, group: str
) -> None:
    """A module that exits at import, as scripts do; the run key asks parts, but not the policy."""
    (mine / "script.py").write_text("import sys\nsys.exit(3)\n")
    (mine / group).mkdir(exist_ok=True)
    (mine / group / "script.yaml").write_text("_target_: script.Mine\n")
    result = artist(f"--config-dir={mine}", f"{group}=script")
    assert result.code == 1
    assert "sys.exit(3)" in result.err
    assert "at mine/script.py:2 in <module>" in result.err


def test_a_bug_of_ours_is_called_so(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a frame of the user's the last frame is shown, and nobody looks for it in her files."""
    monkeypatch.setattr("artist.run.point.summarise", lambda *_, **__: [][1])
    monkeypatch.setattr("artist.bad_input.error_source._is_own", lambda *_: False)
    result = artist("policy=fifo")
    assert result.code == 1
    assert "IndexError: list index out of range; this is a bug of the program" in result.err
    assert "test_runs.py:" in result.err


@pytest.mark.parametrize("value", ["'x'", "-1", "1e-9", "float('nan')"])
def test_an_interval_of_a_user_is_judged(artist: Artist, mine: Path, value: str) -> None:
    """A plain class checks nothing; the engine does, before the clock starts."""
    result = artist(*with_decide(mine, "return view.plan().done()", f"interval_s = {value}"))
    assert result.code == 2
    assert "interval_s" in result.err
    assert len(result.err.splitlines()) == 2


def test_equal_configs_of_different_code_have_different_keys(artist: Artist, mine: Path) -> None:
    """`run.code` follows the user's module and the contents of the trace, and no setting."""

    def code(*arguments: str) -> str:
        assert artist(f"--config-dir={mine}", *arguments).code == 0
        (summary,) = Path("runs").rglob("summary.json")
        result: str = json.loads(summary.read_text())["run"]["code"]
        shutil.rmtree("runs")
        return result

    first = code("policy=least")
    assert code("policy=least", "seed=1") == first
    with (mine / "least.py").open("a") as file:
        file.write("# edited\n")
    edited = code("policy=least")
    trace = Path("trace.csv")
    trace.write_bytes(data_path("traces", "tiny.csv").read_bytes())
    shorter = code("policy=least", "workload.path=trace.csv")
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,100,ResNet50\n")
    assert len({first, edited, shorter, code("policy=least", "workload.path=trace.csv")}) == 4


def test_a_name_without_a_sweep_is_refused(artist: Artist) -> None:
    """It would have no effect, silently."""
    assert "output.name is not used" in artist("policy=fifo", "output.name=foo").err


def test_drawn_models_are_warned_about_once(artist: Artist) -> None:
    """A trace without models gets random ones; a user would take the network's share for a fact. Once."""
    Path("trace.csv").write_text("job_id,submit_s,gpus,duration_s\na,0,1,100\nb,0,2,100\n")
    told = "models drawn for 2 of 2 jobs, which name none: uniform over AlexNet"
    result = artist("workload.path=trace.csv")
    assert result.err.count(told) == 1
    assert "workload.models" in result.err
    swept = artist("-m", "policy=fifo,srtf", "workload.path=trace.csv")
    assert swept.err.count(told) == 1
    fixed = ("workload.models.rule=fixed", "workload.models.name=VGG11")
    assert "models drawn" not in artist("workload.path=trace.csv", *fixed).err
    assert "models drawn" not in artist("workload.jobs=10", tiny=False).err


AT_ONCE = """
import sys, time
import artist.run.point
from artist.app.cli import main
print("ready", flush=True)
time.sleep(max(0, float(sys.stdin.readline()) - time.time()))
sys.exit(main(["workload.jobs=20"]))
"""


def test_equal_runs_that_start_in_one_second_have_a_folder_each() -> None:
    """Two processes begin with the same full second: neither waits for the other, and both are written."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    both = [subprocess.Popen([sys.executable, "-c", AT_ONCE], text=True, **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in both] == ["ready\n"] * 2
    start_s = ceil(time.time())
    for item in both:
        item.stdin.write(f"{start_s}\n")
        item.stdin.flush()
    for item in both:
        item.communicate(timeout=60)
    assert [process.returncode for process in both] == [0, 0]
    assert len(list(Path("runs").rglob("summary.json"))) == 2


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `artist` is the command."""
    command = ["bash", "-c", f'artist() {{ "{sys.executable}" -m artist "$@"; }}; {line}']
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """`artist --help | head -1` ends quietly, and so does a run whose table nobody reads."""
    assert shell("artist --help | head -1").stderr == ""
    run = shell("artist workload.jobs=5 | true; exit ${PIPESTATUS[0]}")
    assert run.returncode == 0
    assert run.stderr.startswith("written to ")
    assert len(run.stderr.splitlines()) == 1


def test_a_full_disk_is_reported_in_two_lines() -> None:
    """/dev/full stands for it: the numbers are in the run folder, the table is lost."""
    full = shell("artist workload.jobs=5 > /dev/full")
    assert full.returncode == 1
    written, told, _ = full.stderr.splitlines()
    assert written.startswith("written to runs/")
    assert told == "stdout: the result cannot be printed: no space left on device"


def test_main_reads_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installed command calls main() without arguments."""
    monkeypatch.setattr(sys, "argv", ["artist", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("artist-sim ")


def test_a_run_composes_once(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydra composes once to see that this is a run and once to run it; a composition takes 0.08 s."""
    composed = []
    load = ConfigLoaderImpl.load_configuration

    def counted(self: ConfigLoaderImpl, *args: Any, **kwargs: Any) -> Any:
        composed.append(kwargs["overrides"])
        return load(self, *args, **kwargs)

    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", counted)
    assert artist("policy=fifo").code == 0
    assert len(composed) == 1
