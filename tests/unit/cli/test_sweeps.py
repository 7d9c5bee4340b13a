"""Sweeps: resumed by the same command, one table, failures listed, any launcher."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

Artist = Callable[..., Any]
SWEEP = ("-m", "policy=fifo,srtf", "cluster.racks=1,2")


def test_the_same_sweep_again_does_nothing_twice(artist: Artist) -> None:
    """2 policies x 2 sizes = 4 points; the second time all are kept, unchanged, with the same table."""
    first = artist(*SWEEP)
    assert first.code == 0
    assert "4 run now, 0 kept, 0 failed" in first.err
    before = {path: path.stat().st_mtime_ns for path in Path("runs/sweeps/sweep").rglob("*.parquet")}
    second = artist(*SWEEP)
    assert "0 run now, 4 kept, 0 failed" in second.err
    assert second.out == first.out
    assert len(second.out.splitlines()) == 3 + 4
    assert before == {path: path.stat().st_mtime_ns for path in Path("runs/sweeps/sweep").rglob("*.parquet")}


def test_a_sweep_goes_on_where_it_stopped(artist: Artist) -> None:
    """Of two points one is done; the wider sweep runs the other alone."""
    artist("-m", "policy=fifo")
    assert "1 run now, 1 kept" in artist("-m", "policy=fifo,srtf").err


VARIANTS = (
    "+variant.today=[]",
    "+variant.srtf=[policy=srtf]",
    "+variant.three_racks=[cluster.racks=3]",
)


def test_variants_replace_settings_of_the_command(artist: Artist) -> None:
    """Today's two racks and first fit, whose placement SRTF drops with the policy; then three racks.

    Under each seed, in the order given; the second time all are kept, and one more variant runs alone.
    """
    command = (
        "-m", "policy=fifo_backfill", "policy.placement=first_fit", "cluster.racks=2", "seed=0,1", *VARIANTS,
    )  # fmt: skip
    result = artist(*command)
    assert "6 run now, 0 kept, 0 failed" in result.err
    assert [line.split()[:2] for line in result.out.splitlines()[3:6]] == [
        ["fifo_backfill", "today"],
        ["srtf", "srtf"],
        ["fifo_backfill", "three_racks"],
    ]
    configs = [yaml.safe_load(path.read_text()) for path in Path("runs").rglob("config.yaml")]
    assert sorted(
        (config["variant"], config["seed"], config["cluster"]["racks"], config["policy"]["placement"])
        for config in configs
    ) == [
        *(("srtf", seed, 2, "consolidate") for seed in (0, 1)),
        *(("three_racks", seed, 3, "first_fit") for seed in (0, 1)),
        *(("today", seed, 2, "first_fit") for seed in (0, 1)),
    ]
    assert "2 run now, 6 kept" in artist(*command, "+variant.fifo=[policy=fifo]").err


MACHINES = "cluster.machines=[{type: dgx_h100, count: 2}, {type: dgx_h100, count: 1}]"


@pytest.mark.parametrize(
    "variant",
    [
        f"+variant.a=[{MACHINES}, seed=3]",
        f"+variant.a=[{MACHINES.replace(' ', '')},seed=3]",
        f"+variant.a=['{MACHINES}', seed=3]",
        f"variant={{a: [{MACHINES}, seed=3]}}",
    ],
)
def test_settings_of_a_variant_may_be_lists_of_mappings(artist: Artist, variant: str) -> None:
    """With blanks after commas or without, in quotes or not: 2 + 1 machines, seed 3."""
    result = artist("-m", "cluster.racks=null", "cluster.machines_per_rack=4", variant)
    assert "1 run now, 0 kept, 0 failed" in result.err, result.err
    (path,) = Path("runs").rglob("config.yaml")
    config = yaml.safe_load(path.read_text())
    assert (config["seed"], [entry["count"] for entry in config["cluster"]["machines"]]) == (3, [2, 1])


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        ("+variant.a=3", "variant, a: no variant\n  found 3; "),
        ("+variant.a=[3]", "variant, a: no setting\n  found 3; "),
        ("+variant.a=['seed=0,1']", "variant, a: no setting\n  found 'seed=0,1'; "),
        ("+variant.a=[experiment=muri_known]", "variant, a: no setting\n  found 'experiment=muri_known'; "),
        ("+variant.a=[hydra/launcher=joblib]", "variant, a: no setting\n  found 'hydra/launcher=joblib'; "),
        ("+variant.a=[output.rates=true]", "variant, a: no setting\n  found 'output.rates=true'; "),
        ("+variant.a={b: 1}", "variant, a: no variant\n  found {'b': 1}; "),
        ("variant={a$b: []}", "variant, a$b: no name\n  found 'a$b'; "),
        ("+variant.a=[policy=nobody]", "policy: "),
    ],
)
def test_wrong_variants_are_refused_before_anything_runs(artist: Artist, variant: str, told: str) -> None:
    """Two lines: which variant, what was found, what is allowed."""
    result = artist("-m", variant, "+variant.z=[]")
    assert result.code == 2
    assert result.err.startswith(told), result.err
    assert len(result.err.splitlines()) == 2
    assert not Path("runs").exists()


def test_variants_of_a_single_run_are_refused(artist: Artist) -> None:
    """They are of a sweep."""
    result = artist("+variant.a=[]")
    assert result.code == 2
    assert result.err.startswith("variant: variants are run by a sweep")


def test_another_trace_of_the_same_name_is_another_run(artist: Artist) -> None:
    """The key holds the contents of input files, not their names alone."""
    trace = Path("trace.csv")
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,100,ResNet50\n")
    arguments = ("-m", "policy=fifo", "workload.path=trace.csv")
    assert "1 run now" in artist(*arguments).err
    assert "1 kept" in artist(*arguments).err
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,200,ResNet50\n")
    assert "1 run now" in artist(*arguments).err


def test_failed_points_are_listed_and_tried_again(artist: Artist) -> None:
    """One of two points is bad: its error.json says why, the other counts, exit code 1."""
    for _ in range(2):
        result = artist("-m", "cluster.racks=1,-1")
        assert result.code == 1
        assert "1 failed" in result.err
        assert "cluster.racks=-1\ncluster.racks: wrong value\n  found -1" in result.err
        assert len(result.out.splitlines()) == 3 + 1
    (error,) = Path("runs").rglob("error.json")
    assert json.loads(error.read_text())["status"] == "bad_input"
    assert not (error.parent / "summary.json").exists()


def test_an_error_common_to_all_points_is_printed_once(artist: Artist) -> None:
    """Input that is bad for every point is bad input: exit code 2."""
    result = artist("-m", "policy=fifo,srtf", "workload.path=nowhere.csv")
    assert result.code == 2
    assert result.err.count("failed: ") == 2
    assert result.err.count("nowhere.csv: no such file") == 1
    assert "2/2 policy=srtf: bad input, as 1/2\n" in result.err
    silent = artist("-m", "policy=fifo,srtf", "workload.path=nowhere.csv", "output.progress=false")
    assert silent.err.count("nowhere.csv: no such file") == 1


def test_settings_of_all_points_are_checked_before_the_first_runs(artist: Artist) -> None:
    """Points 2 and 4 of four are bad, and end first: the cause once, below the first of them; 1 and 3 run."""
    lines = artist("-m", "policy=fifo,srtf", "cluster.racks=1,-1").err.splitlines()
    assert lines[:4] == [
        "2/4 policy=fifo cluster.racks=-1: bad input",
        "cluster.racks: wrong value",
        "  found -1; allowed: greater than 0 or null",
        "4/4 policy=srtf cluster.racks=-1: bad input, as 2/4",
    ]
    assert [line.partition(":")[0] for line in lines[4:6]] == [
        "1/4 policy=fifo cluster.racks=1",
        "3/4 policy=srtf cluster.racks=1",
    ]
    assert lines[6].startswith("2 run now, 0 kept, 2 failed")


def test_an_experiment_is_a_sweep_of_its_own_name(artist: Artist, mine: Path) -> None:
    """`artist experiment=x` needs no -m, and its points lie in runs/sweeps/x."""
    (mine / "experiment").mkdir()
    (mine / "experiment" / "two.yaml").write_text(
        "# @package _global_\nseed: 7\nhydra: {mode: MULTIRUN, sweeper: {params: {policy: 'fifo,srtf'}}}\n"
    )
    result = artist(f"--config-dir={mine}", "experiment=two")
    assert "2 run now" in result.err
    summaries = [json.loads(path.read_text()) for path in Path("runs/sweeps/two").rglob("summary.json")]
    assert sorted((summary["policy"], summary["seed"]) for summary in summaries) == [("fifo", 7), ("srtf", 7)]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("range(0,100000000)", "a sweep of more than 100,000 points"),
        ("range(0,1,0.000001)", "a sweep of more than 100,000 points"),
        ("shuffle(range(0,100001))", "a sweep of more than 100,000 points"),
        ("range(0,inf)", "a sweep of more than 100,000 points"),
        ("range(5,1)", "a sweep over no values"),
        ("interval(0,5)", "no list of values"),
    ],
)
def test_a_sweep_is_counted_before_it_is_listed(artist: Artist, value: str, told: str) -> None:
    """A hundred million points would be listed for 40 s without a word, a sweep of none would end well."""
    result = artist("-m", "policy=fifo", f"seed={value}")
    assert result.code == 2
    assert result.err.startswith(f"seed: {told}\n  found 'seed={value}'; allowed: ")


def test_points_are_counted_over_all_fields(artist: Artist) -> None:
    """400 seeds x 300 numbers of jobs make 120,000 points."""
    result = artist("-m", "policy=fifo", "seed=range(0,400)", "workload.seed=range(0,300)")
    assert "workload.seed: a sweep of more than 100,000 points" in result.err


def test_a_sweep_may_have_a_name(artist: Artist) -> None:
    """runs/sweeps/<name>/."""
    artist("-m", "seed=0,1", "output.name=seeds")
    assert len(list(Path("runs/sweeps/seeds").glob("*/summary.json"))) == 2


def test_a_field_that_only_the_swept_policies_have(artist: Artist) -> None:
    """Dally, the default, has no `placement`; fifo and srtf do, and neither has `placment`."""
    result = artist(*SWEEP, "policy.placement=random", "output.progress=false")
    assert "4 run now" in result.err
    assert "done in" not in result.err
    configs = [yaml.safe_load(path.read_text()) for path in Path("runs/sweeps/sweep").glob("*/config.yaml")]
    assert [config["policy"]["placement"] for config in configs] == ["random"] * 4
    assert "policy.placment: unknown option" in artist(*SWEEP, "policy.placment=random").err


def test_each_finished_point_is_logged(artist: Artist) -> None:
    """A line a point, with what is swept over, and none of Hydra's own."""
    first = artist("-m", "policy=fifo", "cluster.racks=1,-1", "seed=3").err.splitlines()
    assert first[0] == "2/2 cluster.racks=-1: bad input"
    assert re.fullmatch(r"1/2 cluster\.racks=1: done in \d+\.\d s", first[3])
    assert first[4] == "1 run now, 0 kept, 1 failed; written to runs/sweeps/sweep"
    again = artist("-m", "policy=fifo", "cluster.racks=1", "seed=3").err.splitlines()
    assert again[0].startswith("1/1 ")
    assert again[0].endswith("policy=fifo cluster.racks=1 seed=3: kept")
    assert "done in" not in artist("-m", "seed=4,5", "output.progress=false").err


WORKERS = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


@contextmanager
def sleeping(mine: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], list[int]]]]:
    """Yield a sweep of two points that sleep for a minute in their first decision, and what lists them.

    Workers, which are to end at once, would even catch what is raised.
    """
    (mine / "slow.py").write_text(
        "import os, pathlib, time\n"
        "class Slow:\n"
        "    def decide(self, view):\n"
        "        pathlib.Path(f'pid-{os.getpid()}').touch()\n"
        "        try: time.sleep(60)\n"
        f"        except {'BaseException' if arguments else 'OSError'}: time.sleep(60)\n"
    )
    (mine / "policy" / "slow.yaml").write_text("_target_: slow.Slow\n")
    items = ["-m", f"--config-dir={mine}", "policy=slow", "seed=0,1", "workload.jobs=5"]
    command = [sys.executable, "-m", "artist", *items, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as sweep:
        try:
            yield sweep, lambda: [int(path.name.partition("-")[2]) for path in Path().glob("pid-*")]
        finally:
            sweep.kill()


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False])
def test_workers_end_with_a_command_that_was_killed(mine: Path, early: bool) -> None:
    """Kill -9 leaves nothing to tell them; whether they start or work, they are gone in a few seconds."""
    with sleeping(mine, *WORKERS) as (sweep, running):
        children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children")
        wait_until(lambda: bool(children.read_text()) if early else len(running()) == 2, 60)
        workers = [int(pid) for pid in children.read_text().split()]
        sweep.kill()
        assert workers
        wait_until(lambda: not any(is_running(pid) for pid in workers), 15)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), WORKERS, ("hydra/launcher=submitit_local",)])
def test_sigterm_ends_a_sweep_and_its_workers(mine: Path, arguments: tuple[str, ...]) -> None:
    """Exit code 128 + 15, one line, no process, and of two runs that had begun nothing is left."""
    if "hydra/launcher=submitit_local" in arguments:
        pytest.importorskip("submitit")
    with sleeping(mine, *arguments) as (sweep, running):
        wait_until(lambda: len(running()) == (2 if arguments else 1), 60)
        workers = running()
        sweep.terminate()
        assert sweep.wait(20) == 143
        assert sweep.stderr is not None
        (line,) = sweep.stderr.read().splitlines()
        assert line.startswith("terminated; the same command goes on")
        wait_until(lambda: not any(is_running(pid) for pid in workers), 1)
    assert {path.name for path in Path("runs").iterdir()} <= {"sweeps", ".submitit"}
    assert [path.name for path in Path("runs/sweeps/sweep").iterdir()] == ["multirun.yaml"]


def test_a_worker_ends_at_sigterm_that_comes_where_python_drops_exceptions(tmp_path: Path) -> None:
    """In a `__del__`: it ends all the same, with what it had written, and prints nothing."""
    code = (
        "import os, signal, time\n"
        "from pathlib import Path\n"
        "from types import SimpleNamespace\n"
        "from artist.run import remote\n"
        "class Dropping:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(10)\n"
        "request = SimpleNamespace(folder=Path('key').absolute())\n"
        "remote.scratch_folder(request.folder).mkdir()\n"
        "remote.timed = lambda request: Dropping()\n"
        "remote.end_with(os.getppid())\n"
        "remote.ending_at_once(request)\n"
    )
    command = [sys.executable, "-c", code]
    worker = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (worker.returncode, worker.stdout, worker.stderr) == (1, "", "")
    assert list(tmp_path.iterdir()) == []


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(happened: Callable[[], bool], limit_s: float) -> None:
    """Wait; fail after some seconds."""
    end = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_joblib_launcher_gives_the_same(artist: Artist, mine: Path) -> None:
    """Processes of their own: the user's folder is on their path, and a second launcher keeps all points."""
    arguments = (f"--config-dir={mine}", "-m", "policy=least,fifo")
    parallel = artist(*arguments, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert parallel.code == 0, parallel.err
    assert "Joblib.Parallel" not in parallel.err
    assert "2 run now, 0 kept, 0 failed" in parallel.err
    serial = artist(*arguments)
    assert "0 run now, 2 kept, 0 failed" in serial.err
    assert serial.out == parallel.out
