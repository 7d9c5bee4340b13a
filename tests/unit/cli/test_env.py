"""The environment for agents: Gymnasium's own checks, SJF as an agent, and two jobs by hand."""

import doctest
import sys
from importlib import import_module
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import artist.app.env
from artist.api import SchedulingEnv, simulate
from artist.app.env import Reward
from artist.errors import InputError

ONE_MACHINE = ["topology=pcie_10g", "cluster.machines=1", "network=zero", "workload=csv"]


@pytest.fixture
def two_jobs(tmp_path: Path) -> list[str]:
    """Return the overrides of two jobs for one machine of 5 GPUs: a takes 100 s, b 10 s, both from 0 s."""
    table = tmp_path / "jobs.csv"
    table.write_text("job_id,submit_s,gpus,duration_s,model\na,0,5,100,ResNet18\nb,0,5,10,ResNet18\n")
    return [
        "workload=csv",
        f"workload.path={table}",
        "topology=pcie_10g",
        "cluster.machines=1",
        "network=zero",
    ]


def test_gymnasium_finds_no_fault() -> None:
    """Spaces, seeds and returned values are as its API asks."""
    check_env(SchedulingEnv(["workload.jobs=20"]), skip_render_check=True)


def test_the_example_of_the_module_runs() -> None:
    """As it is printed."""
    assert doctest.testmod(artist.app.env).failed == 0


def test_sjf_as_an_agent_is_policy_sjf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes in jobs.parquet, for 100 jobs on 16 GPUs."""
    monkeypatch.chdir(tmp_path)
    overrides = ["workload.jobs=100", "workload.load_gpus=16", "workload.max_gpus=16", "cluster.machines=2"]
    env = SchedulingEnv(overrides, slots=100)
    observation, info = env.reset(seed=3)
    rewards, ended = 0.0, False
    while not ended:
        observation, reward, ended, _, info = env.step(
            np.argmin(np.where(info["fits"], observation["jobs"][:, 1], np.inf))
        )
        rewards += reward
    env.write(tmp_path)
    run = simulate([*overrides, "policy=sjf", "seed=3"])
    assert (tmp_path / "jobs.parquet").read_bytes() == (run.folder / "jobs.parquet").read_bytes()
    assert -rewards * 3600 == pytest.approx(run.summary["jct_s"]["mean"])


def test_rewards_by_hand(two_jobs: list[str]) -> None:
    """B runs to 10 s, then a to 110 s: 120 s of two jobs are 60 s a job; a waits 10 s of them, 5 s a job."""
    rewards: list[tuple[Reward, int, int]] = [("completion", 10, 60), ("waiting", 5, 5)]
    for reward, at_first, total in rewards:
        env = SchedulingEnv(two_jobs, slots=3, reward=reward)
        observation, info = env.reset(seed=0)
        assert observation["jobs"].tolist() == [
            [1, pytest.approx(100 / 3600), 0, 1],
            [1, pytest.approx(10 / 3600), 0, 1],
            [0, 0, 0, 0],
        ]
        assert observation["cluster"].tolist() == [1, 2, 0]
        observation, first, ended, _, info = env.step(np.int64(1))
        assert first == pytest.approx(-at_first / 3600)
        assert (ended, info["time_s"]) == (False, pytest.approx(10))
        assert info["fits"].tolist() == [True, False, False]
        assert observation["jobs"][0, 2] == pytest.approx(10 / 3600)
        _, second, ended, _, info = env.step(np.int64(0))
        assert (ended, info["time_s"]) == (True, pytest.approx(110))
        assert first + second == pytest.approx(-total / 3600)


def test_none_is_the_first_job_while_no_job_runs(two_jobs: list[str]) -> None:
    """An agent that always says none would wait for ever; so a runs first, and b after it."""
    env = SchedulingEnv(two_jobs, slots=3)
    env.reset(seed=0)
    env.step(np.int64(3))
    env.step(np.int64(3))
    assert env.result is not None
    assert (env.result.columns["finish_ns"] / 1e9).tolist() == pytest.approx([100, 110])


def test_none_lets_jobs_wait_while_another_runs(tmp_path: Path) -> None:
    """Of jobs a, b, c of 1 GPU, 100, 50 and 10 s, on 5 GPUs: b and c wait for a to end, though they fit."""
    table = tmp_path / "jobs.csv"
    rows = "".join(f"{name},0,1,{seconds},ResNet18\n" for name, seconds in (("a", 100), ("b", 50), ("c", 10)))
    table.write_text(f"job_id,submit_s,gpus,duration_s,model\n{rows}")
    env = SchedulingEnv([*ONE_MACHINE, f"workload.path={table}"])
    env.reset(seed=0)
    ended = False
    while not ended:
        _, _, ended, _, _ = env.step(np.int64(64))
    assert env.result is not None
    assert (env.result.columns["finish_ns"] / 1e9).tolist() == pytest.approx([100, 150, 160])


def test_episodes_begin_anew_and_are_given_up(two_jobs: list[str]) -> None:
    """`reset` in an episode gives it up; after the end, and before the first `reset`, there is no step."""
    env = SchedulingEnv(two_jobs)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))
    first, _ = env.reset(seed=0)
    again, _ = env.reset(seed=0)
    assert np.array_equal(first["jobs"], again["jobs"])
    env.step(np.int64(0))
    env.step(np.int64(0))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))
    env.close()


def test_a_policy_without_a_placement_is_refused() -> None:
    """Dally places jobs by its own rules, so an agent cannot order them."""
    with pytest.raises(InputError, match="has no placement"):
        SchedulingEnv(["policy=dally"]).reset(seed=0)


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install artist-sim` alone does not bring it; the error says what does."""
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "artist.app.env")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'artist-sim\[rl\]'"):
        import_module("artist.app.env")
