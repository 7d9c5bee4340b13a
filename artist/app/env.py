"""An environment in which an agent learns to schedule, after Gymnasium's API (needs `artist-sim[rl]`).

In plain words: whenever a waiting job fits, the agent names the one that starts next, or none, until no other
fits. A job that does not fit counts as none; while no job runs, none counts as the first one that fits. Jobs
are placed as by the policy of the overrides, whose order counts for nothing; without one by `policy=sjf`.

Examples
--------
>>> import numpy as np
>>> from artist import SchedulingEnv
>>> env = SchedulingEnv(["workload.jobs=20"])
>>> observation, info = env.reset(seed=0)
>>> ended = False
>>> while not ended:
...     shortest = np.argmin(np.where(info["fits"], observation["jobs"][:, 1], np.inf))
...     observation, reward, ended, _, info = env.step(shortest)
>>> env.result.stopped_by
'finished'
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hydra import compose
from omegaconf import OmegaConf

from artist.app.composing import composing, plain
from artist.core.arrays import Floats
from artist.core.events import Event, Gauges
from artist.core.plan import Plan
from artist.core.result import RunResult
from artist.core.view import ClusterView
from artist.errors import InputError
from artist.policies.parts.placer import Placer, placer_of
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.run.build import Simulation, build, check_config
from artist.units import NS_PER_S, ns_to_seconds, seconds_to_ns

try:
    import gymnasium
    from greenlet import getcurrent, greenlet
    from gymnasium import spaces
except ModuleNotFoundError as error:
    what = "artist.SchedulingEnv needs Gymnasium and greenlet: pip install 'artist-sim[rl]'"
    raise ModuleNotFoundError(what, name=error.name) from error

Reward = Literal["completion", "waiting"]
Observation = dict[str, npt.NDArray[Any]]
_Info = dict[str, Any]

_HOUR_NS = 3600 * NS_PER_S
_SEEDS = 2**31
_MOST = float(np.finfo(np.float64).max)


class SchedulingEnv(gymnasium.Env[Any, np.int64]):
    """Episodes are runs; a step names the waiting job that starts next.

    An observation has `jobs`, shape (slots, 4): of the first waiting jobs by arrival the GPUs asked for as a
    share of all, believed run time and time waited in hours, and 1 if the job fits now; rows of zeros follow.
    `cluster`, shape (3,), has the free share of all GPUs, and the number of jobs that wait, and that run.
    `info["fits"]` is the last column of `jobs` as booleans, `info["time_s"]` the time.

    Parameters
    ----------
    overrides
        As on the command line; the seed is that of `reset`.
    slots
        Number of waiting jobs that the agent sees; the action of that number names none.
    reward
        completion: minus the hours that unfinished jobs spent since the last step, over the number of jobs;
        an episode sums to minus the mean job completion time. waiting: the same of waiting jobs.

    Attributes
    ----------
    result
        Of the episode, once it has ended.

    Raises
    ------
    InputError
        If the overrides are wrong, or their policy has no placement.
    """

    metadata = {"render_modes": []}

    def __init__(
        self, overrides: Sequence[str] = (), *, slots: int = 64, reward: Reward = "completion"
    ) -> None:
        with composing():
            self._config = compose("config", ["policy=sjf", *overrides])
        boxes = {"jobs": (slots, 4), "cluster": (3,)}
        self.observation_space = spaces.Dict(
            {name: spaces.Box(0, _MOST, shape, np.float64) for name, shape in boxes.items()}
        )
        self.action_space = spaces.Discrete(slots + 1)
        self.result: RunResult | None = None
        self._slots, self._reward = slots, reward
        self._run: _Run | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, _Info]:
        """Begin an episode: a run with this seed, without one with a seed of the environment's generator."""
        super().reset(seed=seed)
        self.close()
        run_seed = self.np_random.integers(_SEEDS) if seed is None else seed
        OmegaConf.update(self._config, "seed", int(run_seed))
        self.result = None
        self._run = _Run(build(check_config(plain(self._config))), self._slots, self._reward)
        observation, _, _, _, info = self._next()
        return observation, info

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, _Info]:
        """Start a job, or none; return the next choice, or the end, with the reward of the time between."""
        if self._run is None or self.result is not None:
            raise gymnasium.error.ResetNeeded("no episode: call reset first")
        return self._next(int(action))

    def write(self, folder: Path) -> None:
        """Write the tables of an episode that has ended into a folder, as those of a run."""
        assert self._run is not None
        assert self.result is not None
        simulation, seed = self._run.simulation, int(self._config.seed)
        distinct = len(simulation.network.distinct)
        summary = summarise(self.result, policy="agent", seed=seed, network_distinct=distinct, run={})
        write_run(folder, self.result, self._run.recorder, summary)

    def close(self) -> None:
        """Give the episode up."""
        if self._run is not None and self.result is None:
            self._run.greenlet.throw()
        self._run = None

    def _next(self, *action: int) -> tuple[Observation, float, bool, bool, _Info]:
        assert self._run is not None
        news = self._run.greenlet.switch(*action)
        if isinstance(news, RunResult):
            self.result = news
            none: Observation = {"jobs": np.zeros((self._slots, 4)), "cluster": np.zeros(3)}
            news = none, {"fits": np.zeros(self._slots, dtype=bool), "time_s": ns_to_seconds(news.end_ns)}
        reward = self._run.meter.reward(seconds_to_ns(news[1]["time_s"]))
        return news[0], reward, self.result is not None, False, news[1]


class _Run:
    """A run in a greenlet; switching to it returns the next choice, at the end the result."""

    def __init__(self, simulation: Simulation, slots: int, reward: Reward) -> None:
        self.recorder = Recorder(simulation.jobs, simulation.cluster)
        self.meter = _Meter(reward, len(simulation.jobs))
        self.simulation = replace(simulation, policy=_Agent(_placer(simulation.policy), slots))
        self.greenlet = greenlet(lambda: self.simulation.run([self.recorder, self.meter]))


class _Meter:
    """Observer that integrates the number of unfinished, or waiting, jobs over time."""

    def __init__(self, reward: Reward, jobs: int) -> None:
        self._waiting_only, self._jobs = reward == "waiting", jobs
        self._job_ns, self._count, self._now = 0, 0, 0

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Take over the jobs of an instant."""
        self._advance(time_ns)
        self._count = gauges.waiting + (0 if self._waiting_only else gauges.running)

    def reward(self, now: int) -> float:
        """Return minus the hours of a job since the last call."""
        self._advance(now)
        job_ns, self._job_ns = self._job_ns, 0
        return -job_ns / _HOUR_NS / self._jobs

    def _advance(self, now: int) -> None:
        self._job_ns += self._count * (now - self._now)
        self._now = now


class _Agent:
    """The policy that asks the agent."""

    knows_durations = True
    only_while_jobs_wait = True

    def __init__(self, placer: Placer, slots: int) -> None:
        self._placer, self._slots = placer, slots

    def decide(self, view: ClusterView) -> Plan:
        """Start the jobs that the agent names."""
        plan, free = view.plan(), view.free()
        jobs, rows = view.waiting.job.tolist(), None
        running, total = len(view.jobs) - len(jobs), view.cluster.total_gpus
        while jobs:
            demands = [view.demand(job) for job in jobs[: self._slots]]
            places = {demand: self._placer.place(free, demand) for demand in set(demands)}
            fits = np.zeros(self._slots, dtype=bool)
            fits[: len(demands)] = [places[demand] is not None for demand in demands]
            if not fits.any():
                break
            rows = _rows(view) if rows is None else rows
            table = np.zeros((self._slots, 4))
            table[: len(demands), :3], table[:, 3] = rows[: len(demands)], fits
            cluster = np.array([free.total_gpus / total, len(jobs), running], dtype=np.float64)
            info = {"fits": fits, "time_s": ns_to_seconds(view.now_ns)}
            asking = getcurrent().parent
            assert asking is not None
            row = asking.switch(({"jobs": table, "cluster": cluster}, info))
            if not (row < len(fits) and fits[row]):
                if running:
                    break
                row = int(fits.argmax())
            allocation = places[demands[row]]
            assert allocation is not None
            free.take(allocation)
            plan.place(jobs.pop(row), allocation)
            rows, running = np.delete(rows, row, axis=0), running + 1
        return plan.done()


def _rows(view: ClusterView) -> Floats:
    """Return GPUs, run time and time waited of the waiting jobs, shape (n, 3)."""
    waiting = view.waiting
    waited_ns = view.now_ns - waiting.waiting_since_ns
    return np.stack(
        [waiting.gpus / view.cluster.total_gpus, waiting.ideal_ns / _HOUR_NS, waited_ns / _HOUR_NS], axis=1
    )


def _placer(policy: Any) -> Placer:
    """Return the placer of a policy's settings."""
    try:
        return placer_of(policy.placement, policy.fill, policy.seed, policy.split, policy.align)
    except AttributeError:
        what, allowed = "has no placement", "a policy with one, such as sjf"
        raise InputError(what, where="policy", found=type(policy).__name__, allowed=allowed) from None
