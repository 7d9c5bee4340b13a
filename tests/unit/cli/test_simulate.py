"""`artist.simulate`, `artist.read_run` and `artist.read_sweep`: the command without the command line."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

import artist
from artist.app.cli import main
from artist.run.point import _logging_to

DEMO = ["workload.jobs=20", "policy=fifo", "output.name=one"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_makes_the_run_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sweep of one point with the same overrides finds it finished: 0 run now, 1 kept."""
    level = logging.getLogger().level
    run = artist.simulate(DEMO)
    assert run.folder.parent == tmp_path / "runs/sweeps/one"
    assert (run.summary["jobs"], len(run.jobs)) == (20, 20)
    assert "20 jobs on 128 GPUs under fifo" in (run.folder / "artist.log").read_text(encoding="utf-8")
    assert logging.getLogger().level == level
    assert main(["-m", *DEMO]) == 0
    assert "0 run now, 1 kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "during"), [(logging.WARNING, logging.INFO), (logging.DEBUG, logging.DEBUG)]
)
def test_a_run_logs_wherever_it_runs(before: int, during: int) -> None:
    """In a process that Hydra did not prepare its lines and notes are kept; `hydra.verbose` adds to them."""
    root = logging.getLogger()
    level = root.level
    try:
        root.setLevel(before)
        with _logging_to():
            assert root.level == during
        assert root.level == before
    finally:
        root.setLevel(level)


def test_a_program_that_uses_hydra_keeps_its_own(tmp_path: Path) -> None:
    """Hydra has one state a process, and refuses a second: the other's is there again after the run."""
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        users_hydra = GlobalHydra.instance().hydra
        assert artist.simulate(DEMO).summary["jobs"] == 20
        assert GlobalHydra.instance().hydra is users_hydra is not None


def test_runs_of_threads_are_serialised() -> None:
    """Four runs of two threads have the logs of their own, of one line about jobs each; a fifth goes on."""
    with ThreadPoolExecutor(2) as threads:
        runs = list(threads.map(lambda seed: artist.simulate([*DEMO, f"seed={seed}"]), range(4)))
    assert [run.summary["seed"] for run in runs] == [0, 1, 2, 3]
    logs = [(run.folder / "artist.log").read_text(encoding="utf-8") for run in runs]
    assert [log.count("20 jobs on") for log in logs] == [1, 1, 1, 1]
    assert artist.simulate([*DEMO, "seed=4"]).summary["seed"] == 4


def test_a_thread_may_ask_ahead() -> None:
    """Processes are started from it, which has no signals to hold back meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(artist.simulate, [*DEMO, "+network.ahead=1", "network.cache=cache"]).result()
    assert run.summary["jobs"] == 20


def test_the_second_call_repeats_nothing() -> None:
    """The summary is the file of the first call, with its time of writing."""
    assert artist.simulate(DEMO).written_ns == artist.simulate(DEMO).written_ns


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["policy=nope"], "policy: no such choice"),
        (["policy=fifo,srtf"], "several values without -m"),
        (["experiment=dally_batch"], "an experiment is a sweep of its own"),
        (["cluster.racks=-1"], "cluster.racks: wrong value"),
    ],
)
def test_errors_are_raised_with_the_text_of_the_command(overrides: list[str], said: str) -> None:
    """Two lines: what and where; the value found and the allowed values."""
    with pytest.raises(artist.RunError, match=said) as caught:
        artist.simulate(overrides)
    assert "\n  found " in str(caught.value)


def test_own_parts_and_notes(tmp_path: Path) -> None:
    """A policy file in a folder of one's own is found; what the command notes on stderr is a warning."""
    (tmp_path / "my own" / "policy").mkdir(parents=True)
    (tmp_path / "my own/policy/mine.yaml").write_text("defaults: [fifo, _self_]\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="collective_algorithm means nothing across machines"):
        run = artist.simulate(
            [
                *DEMO,
                "policy=mine",
                "network.system.preset=papers",
                "+network.system.collective_algorithm=direct",
            ],
            config_dir=tmp_path / "my own",
        )
    assert run.summary["policy"] == "mine"


def test_a_sweep_is_frames_with_its_settings_in_front() -> None:
    """Policy x racks, one seed, 20 jobs each: 4 rows in the summary, 80 in the jobs; null stays empty."""
    for policy in ("srtf", "fifo"):
        for racks in ("null", "1"):
            artist.simulate([*DEMO, f"policy={policy}", f"cluster.racks={racks}"])
    sweep = artist.read_sweep("runs")
    assert list(sweep.summary.columns[:4]) == ["policy", "cluster.racks", "seed", "jobs"]
    assert list(sweep.summary.policy) == ["fifo", "fifo", "srtf", "srtf"]
    assert sweep.summary["cluster.racks"].isna().sum() == 2
    assert set(sweep.summary["cluster.racks"].dropna()) == {1}
    assert list(sweep.summary["jct_s.mean"]) == [run.summary["jct_s"]["mean"] for run in sweep.runs]
    assert len(sweep.jobs) == 80
    assert list(sweep.jobs.columns[:4]) == ["policy", "cluster.racks", "seed", "job_id"]
    assert len(sweep.events) == sum(len(run.events) for run in sweep.runs)
    assert len(sweep.timeline) == sum(len(run.timeline) for run in sweep.runs)


def test_the_names_of_the_package_are_all_there() -> None:
    """Each is imported when asked for; another is an AttributeError, as of any module."""
    assert all(getattr(artist, name).__name__ == name for name in artist.__all__)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        artist.simulat  # noqa: B018


def test_a_sweep_makes_all_combinations_and_returns_them(capfd: pytest.CaptureFixture[str]) -> None:
    """2 policies x 2 seeds, with a field that only these policies have; the command finds all four finished.

    A run of another call in the same folder is not among them.
    """
    artist.simulate([*DEMO, "seed=7"])
    points = ["policy=fifo,srtf", "seed=range(0,2)", "workload.jobs=20", "policy.placement=random"]
    sweep = artist.sweep([*points, "output.name=one"])
    assert [(run.summary["policy"], run.summary["seed"]) for run in sweep.runs] == [
        *(("fifo", 0), ("fifo", 1)),
        *(("srtf", 0), ("srtf", 1)),
    ]
    assert capfd.readouterr().err.count("done in") == 4
    assert main(["-m", *points, "output.name=one"]) == 0
    assert "0 run now, 4 kept" in capfd.readouterr().err


def test_a_sweep_may_be_an_experiment_on_several_cores() -> None:
    """The four points of the Dally paper's Table 1 in processes; the sweep has the experiment's name."""
    runs = artist.sweep(["experiment=dally_table1", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]).runs
    assert {run.folder.parent.name for run in runs} == {"dally_table1"}
    assert len(runs) == 4


def test_points_of_a_sweep_that_fail_are_warned_of() -> None:
    """One of two points is wrong: the other is returned. If none is left, the error is raised."""
    with pytest.warns(UserWarning, match=r"racks=-1: cluster\.racks: wrong value"):
        sweep = artist.sweep([*DEMO, "cluster.racks=-1,1"])
    assert len(sweep.runs) == 1
    with pytest.raises(artist.RunError, match=r"cluster\.racks: wrong value\n  found -1; allowed"):
        artist.sweep([*DEMO, "cluster.racks=-1,-2"])
    with pytest.raises(artist.RunError, match="policy: no such choice"):
        artist.sweep(["policy=nope,fifo"])


def test_a_sweep_leaves_logging_and_another_hydra_alone(tmp_path: Path) -> None:
    """Root handlers and level are those of before; so are the other's state and configuration."""
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        users_hydra, settings = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
        artist.sweep([*DEMO, "seed=0,1"])
        assert GlobalHydra.instance().hydra is users_hydra is not None
        assert HydraConfig.instance().cfg is settings
    assert (logging.getLogger().handlers, logging.getLogger().level) == (handlers, level)


def test_runs_and_sweeps_are_shown_by_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A title and the table of the command, as wide as the terminal; in a notebook as HTML, whole."""
    monkeypatch.setenv("COLUMNS", "60")
    sweep = artist.sweep(["policy=fifo,srtf", "workload.jobs=20"])
    title, *lines = repr(sweep).splitlines()
    assert title == "sweep of 2 runs"
    assert [line.split()[0] for line in lines[3:5]] == ["fifo", "srtf"]
    assert max(map(len, lines[:5])) <= 60
    assert "left out at 60 characters" in repr(sweep)
    html = sweep._repr_html_()
    assert "<th>JCT mean (" in html
    assert html.count("<tr>") == 3
    assert "left out" not in html
    assert repr(sweep.runs[0]).startswith(f"run of fifo, seed 0: {sweep.runs[0].folder}\n")
    assert sweep.runs[0]._repr_html_().count("<tr>") == 2
