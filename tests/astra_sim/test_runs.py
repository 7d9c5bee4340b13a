"""Whole runs whose network answers come from a program: cold, warm, ahead, in parallel, with a fallback."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from artist.app.cli import main
from artist.calibrating.command import main as calibrate
from artist.pricing.command import main as price
from netmodels.api import shape_of
from netmodels.astra_sim.model import AstraSim
from netmodels.models.cache import CachedModel

RUN = (
    "workload.jobs=30",
    "workload.structure=none",  # jobs that are spread now and then, so that answers are carried
    "workload.max_gpus=16",
    "cluster.racks=1",
    "cluster.machines_per_rack=3",
    "network=astra_sim",
    "network.model.scratch=scratch",
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a fresh folder with a fresh cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARTIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))


@pytest.fixture
def run(fake: Path, capsys: pytest.CaptureFixture[str]):
    """Return a function that runs `artist` on the fake program and returns code, stderr, summary and jobs."""

    def call(name: str, *more: str):
        model = (f"network.model.binary={fake}", "network.model.backend=unaware")
        code = main([*RUN, *model, f"output.dir={name}", *more])
        err = capsys.readouterr().err
        folders = list(Path(name).glob("*/*/summary.json"))
        if not folders:
            return code, err, None, None
        jobs = folders[0].with_name("jobs.parquet").read_bytes()
        return code, err, json.loads(folders[0].read_text()), jobs

    return call


def calls() -> int:
    """Return the number of runs of the program."""
    log = Path("log")
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_a_warm_run_is_the_cold_run(run):
    """The same jobs, to the byte, without a run of the program; and it is said which program it was."""
    code, _, cold, jobs = run("cold")
    assert code == 0
    asked = calls()
    assert 0 < asked <= cold["network_distinct"]
    _, _, warm, again = run("warm")
    assert (calls(), again) == (asked, jobs)
    assert warm["run"]["cache_hits"] == warm["run"]["network_calls"]
    assert warm["run"]["network"].startswith("AstraSim unaware ")
    assert {**warm, "run": 0} == {**cold, "run": 0}
    assert 0 < warm["network_carried"] < warm["network_distinct"]


def test_the_summary_counts_questions_by_back_end(run, fake):
    """By default even placements are asked; uneven ones are carried, or with a second program ns-3's.

    Questions about one GPU are no placement to ask about: the rest of the distinct ones.
    """
    _, _, alone, _ = run("alone")
    counts = alone["network_back_ends"]
    assert set(counts) == {"carried", "unaware"}
    assert counts["carried"] == alone["network_carried"]
    assert sum(counts.values()) <= alone["network_distinct"]
    _, _, both, _ = run("both", f"network.model.ns3_binary={fake}", "network.cache=null")
    assert set(both["network_back_ends"]) == {"ns3", "unaware"}
    assert both["network_carried"] == 0


@pytest.mark.parametrize(
    ("shape", "counts"), [("4+4", "4, 2"), ("4|4", "4, 2"), ("4+4|4+4", "4, 2, 2"), ("1+1", "2"), ("8", "8")]
)
def test_an_even_placement_has_a_dimension_per_tier(fake, shape, counts):
    """As the Dally paper writes its network files, section 4.2.1: 4+4 is [Switch, Switch], [4, 2]."""
    model = ("network=astra_sim", f"network.model.binary={fake}", "network.model.backend=unaware")
    assert price([*model, "network.model.keep=true", "network.model.scratch=kept", f"shape={shape}"]) == 0
    for file in Path("kept").glob("*/network.yml"):
        kinds, members = file.read_text().splitlines()[:2]
        assert members == f"npus_count: [ {counts} ]"
        assert kinds == f"topology: [ {', '.join(['Switch'] * len(counts.split(',')))} ]"


def test_profiles_are_calibrated_with_the_program(fake, capsys):
    """The Dally paper, section 4.2.2: the program's 1 us exposed is 2 % of AlexNet's compute at 50 us."""
    model = ("network=astra_sim", f"network.model.binary={fake}", "network.model.backend=unaware")
    Path("one.csv").write_text("model,gpus,machine_type,overhead,source\nAlexNet,8,,0.02,Table 1\n")
    assert calibrate([*model, "network.cache=null", "measured=one.csv", "out=made.yaml"]) == 0
    assert price([*model, "network.profiles=made.yaml", "model=AlexNet", "shape=8"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[4:] == ["0.050", "0.002", "0.001", "0.051", "2"]


def test_the_table_has_the_share_of_carried_over_answers(fake, capsys):
    """The share of the questions, in the last column, and what it means; stdout, as the rest of the table."""
    assert (
        main([*RUN, f"network.model.binary={fake}", "network.model.backend=unaware", "output.dir=out"]) == 0
    )
    *_, row, note = capsys.readouterr().out.splitlines()
    summary = json.loads(next(Path("out").rglob("summary.json")).read_text())
    share = summary["network_carried"] / summary["network_distinct"]
    assert float(row.split()[-1]) == pytest.approx(100 * share, abs=0.05)
    assert note.startswith("network carried: the network model has no answer for the placement itself:")


def test_answers_may_be_asked_ahead(run, tmp_path):
    """By two processes before the clock starts; the schedule is that of questions asked on demand."""
    few = "workload.jobs=12"
    _, _, on_demand, jobs = run("cold", few)
    _, _, ahead, same = run("ahead", few, "network.ahead=2", f"network.cache={tmp_path / 'other'}")
    assert same == jobs
    assert {**ahead, "run": 0} == {**on_demand, "run": 0}
    assert ahead["run"]["cache_hits"] > 0


def test_a_program_without_answers_ends_questions_ahead(run, monkeypatch):
    """By the first of them, not after all have been tried; with a fallback none is asked twice."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    code, err, summary, _ = run("ahead", "network.ahead=1")
    assert (code, summary) == (2, None)
    assert "it failed (exit status -6)" in err
    assert calls() < 10
    before = calls()
    code, _, summary, _ = run("fallback", "network.ahead=2", "network.fallback=analytical")
    assert code == 0
    assert summary["network_fallbacks"] == calls() - before


def test_a_bug_in_a_users_model_is_reported_once(capfd: pytest.CaptureFixture[str]) -> None:
    """By the run, with the line of the model; not by each of the processes that ask ahead."""
    Path("mine").mkdir()
    lines = (
        "from netmodels.models.analytical import AnalyticalModel",
        "class Buggy(AnalyticalModel):",
        "    def iteration(self, *question):",
        "        raise ValueError('a bug')",
    )
    Path("mine/own_buggy_model.py").write_text("\n".join(lines), encoding="utf-8")
    options = ("--config-dir=mine", "network=analytical", "network.model._target_=own_buggy_model.Buggy")
    assert main([*options, *RUN[:-2], "+network.ahead=2", "network.cache=cache"]) == 1
    err = capfd.readouterr().err
    assert "mine/own_buggy_model.py:4 in iteration" in err
    assert "Traceback" not in err


def processes_in(folder: Path) -> set[int]:
    """Return the other processes whose working folder lies in a folder."""
    result = set[int]()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (path / "cwd").resolve().is_relative_to(folder):
                result.add(int(path.name))
    return result - {os.getpid()}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_goes_on_asking_when_the_command_is_killed(fake, tmp_path):
    """By SIGKILL: its two workers, whose programs hang, end a second later, and these with them."""
    model = (f"network.model.binary={fake}", "network.model.backend=unaware", "network.ahead=2")
    command = [sys.executable, "-m", "artist", *RUN, "workload.jobs=12", *model]
    with subprocess.Popen(command, env=os.environ | {"FAKE_MODE": "hang"}) as process:
        wait_for(lambda: calls() >= 2)
        assert len(processes_in(tmp_path)) >= 5  # one, two workers, two programs
        process.kill()
    wait_for(lambda: not processes_in(tmp_path))


def wait_for(condition: Callable[[], bool], max_s: float = 60.0) -> None:
    """Wait until something holds; fail if it never does."""
    end = time.monotonic() + max_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_patience_and_places_do_not_make_another_run(run):
    """A longer timeout, another scratch folder: a finished point is kept."""
    sweep = ("-m", "seed=0,1", "output.name=s", "workload.jobs=8")
    assert run("runs", *sweep)[0] == 0
    code, err, _, _ = run("runs", *sweep, "network.model.timeout_s=900", "network.model.keep=true")
    assert code == 0
    assert "0 run now, 2 kept" in err


def test_ahead_needs_a_folder(run):
    """Processes hand answers over by the disk."""
    code, err, _, _ = run("ahead", "network.ahead=2", "network.cache=null")
    assert code == 2
    assert "network.cache" in err


def test_a_failing_program_ends_the_run_in_two_lines(run, monkeypatch):
    """No fallback that was not asked for."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    code, err, summary, _ = run("crash")
    assert (code, summary) == (2, None)
    assert "it failed (exit status -6)" in err
    assert "Traceback" not in err


def test_a_fallback_is_counted_and_reported(run, monkeypatch):
    """All questions fail: all are the analytical model's, and none of that goes to disk."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    code, err, summary, jobs = run("fallback", "network.fallback=analytical")
    assert code == 0
    assert summary["network_fallbacks"] == calls() > 0
    assert "the fallback answers for the network model" in err
    assert not list(Path("cache").rglob("*.json"))
    papers = ("network.system.preset=papers", "network.system.across_machines=hierarchical")
    main([*RUN[:-2], "network=analytical", *papers, "output.dir=plain"])
    assert next(Path("plain").rglob("jobs.parquet")).read_bytes() == jobs


def test_without_a_program_nothing_starts(monkeypatch, capsys):
    """The error names a source of the program."""
    monkeypatch.delenv("ASTRA_SIM_BIN", raising=False)
    assert main([*RUN, "output.dir=none"]) == 2
    err = capsys.readouterr().err
    assert "ASTRA_SIM_BIN" in err
    assert "https://github.com/astra-sim/astra-sim" in err


def _fill(fake: str, toy, switches, go) -> None:
    model = CachedModel(AstraSim(binary=fake, backend="unaware"), Path("cache"))
    go.wait()
    for gpus in (2, 3, 4, 5):
        answer = model.iteration(toy, shape_of([(0, "box", gpus)]), switches, switches.system)
        assert answer.exposed_ns == 1000


def test_eight_processes_fill_one_cache_and_ask_once(fake, toy, switches, monkeypatch):
    """Four questions, each slow enough for all to want it at once: four runs, four sound entries."""
    monkeypatch.setenv("FAKE_SLEEP", "0.3")
    context = multiprocessing.get_context("fork")
    go = context.Barrier(8)
    workers = [context.Process(target=_fill, args=(str(fake), toy, switches, go)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert calls() == 4
    assert len(list(Path("cache").rglob("*.json"))) == 4
    warm = CachedModel(AstraSim(binary=fake, backend="unaware"), Path("cache"))
    for gpus in (2, 3, 4, 5):
        warm.iteration(toy, shape_of([(0, "box", gpus)]), switches, switches.system)
    assert warm.hits == 4


def test_prices_mark_carried_over_answers(fake, capsys, monkeypatch):
    """4+4 is asked; 5+3 is carried over from it; of a program that fails all are the fallback's, 5+3 too."""
    model = ("network=astra_sim", f"network.model.binary={fake}", "network.model.backend=unaware")
    more = ("model=ResNet50", "csv=prices.csv", "network.system.across_machines=hierarchical")
    assert price([*model, *more, "shape=4+4"]) == 0
    assert "answer" not in capsys.readouterr().out
    assert price([*model, *more, "shape=4+4,5+3"]) == 0
    even, odd, note = capsys.readouterr().out.splitlines()[-3:]
    assert even.split()[-1] != "carried" == odd.split()[-1]
    assert note.startswith("carried: the network model has no answer for the placement itself:")
    assert [line.rpartition(",")[2] for line in Path("prices.csv").read_text().splitlines()] == [
        *("answer", "model", "carried")
    ]
    monkeypatch.setenv("FAKE_MODE", "crash")
    assert price([*model, "network.fallback=analytical", "network.cache=null", "shape=4+4,5+3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[-1] for line in lines[3:-1]} == {"fallback"}
    assert lines[-1].startswith("fallback: the network's program gave no answer:")


def test_all_available_models_share_one_table(fake, monkeypatch, capsys):
    """`network=all` shows what is available: without a program the analytical model, with one both."""
    monkeypatch.delenv("ASTRA_SIM_BIN", raising=False)
    asked = ["network=all", "model=ResNet50", "shape=4+4"]
    papers = ["network.system.preset=papers", "network.system.across_machines=hierarchical"]
    assert price([*asked, *papers]) == 0
    alone = capsys.readouterr().out
    program = fake.with_name("recognised")
    program.write_text(fake.read_text() + "# CongestionUnawareNetworkApi\n")
    program.chmod(0o755)
    monkeypatch.setenv("ASTRA_SIM_BIN", str(program))
    assert price(asked) == 0
    both = capsys.readouterr().out
    assert alone.splitlines()[-1].split() == both.splitlines()[-2].split()[1:]
    assert [line.split()[0] for line in both.splitlines()[-2:]] == ["analytical", "astra_sim"]
