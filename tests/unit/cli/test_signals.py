"""Signals from the command line: a policy follows them, and the run key covers what they say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Artist = Callable[..., Any]

# First in, first out, but only while inference wants no more than half: asked every 10 s.
POLICY = """
from artist.policies.parts.placer import placer_of


class Polite:
    on_events, interval_s = False, 10

    def decide(self, view):
        plan, free = view.plan(), view.free()
        times, values = view.signals["inference"].up_to(10**18)
        assert times[-1] <= view.now_ns
        for job in view.waiting.job.tolist() if values[-1] <= 0.5 else ():
            allocation = placer_of("consolidate", "proportional").place(free, view.demand(job))
            if allocation is not None:
                free.take(allocation)
                plan.place(job, allocation)
        return plan.done()
"""


@pytest.fixture
def polite(mine: Path) -> tuple[str, ...]:
    """Return the arguments for a policy that follows `inference` in the file `demand`."""
    (mine / "polite.py").write_text(POLICY)
    (mine / "policy" / "polite.yaml").write_text("_target_: polite.Polite\n")
    return f"--config-dir={mine}", "policy=polite", "signals=file", "signals.path=demand"


def starts() -> set[float]:
    """Return the first start of each run made so far."""
    return {pd.read_parquet(path)["first_start_s"].min() for path in Path("runs").rglob("jobs.parquet")}


def test_a_policy_follows_a_file(artist: Artist, polite: tuple[str, ...]) -> None:
    """Inference wants 0.9 until 25 s, then 0.5: the first tick at which jobs start is 30 s."""
    Path("demand").write_text("time_s,inference\n0,0.9\n25,0.5\n")
    assert artist(*polite).code == 0
    assert starts() == {30}


def test_a_sweep_runs_again_if_the_file_changed(artist: Artist, polite: tuple[str, ...]) -> None:
    """Kept while the file says the same; 45 s instead of 25 is another run, which starts at 50."""
    Path("demand").write_text("time_s,inference\n0,0.9\n25,0.5\n")
    assert "1 run now, 0 kept" in artist("-m", *polite, "seed=0").err
    assert "0 run now, 1 kept" in artist("-m", *polite, "seed=0").err
    Path("demand").write_text("time_s,inference\n0,0.9\n45,0.5\n")
    assert "1 run now, 0 kept" in artist("-m", *polite, "seed=0").err
    assert starts() == {30, 50}


def test_a_name_that_no_signal_has_is_refused(artist: Artist, polite: tuple[str, ...]) -> None:
    """The names there are, and how to give one; not a bare KeyError of the policy."""
    Path("demand").write_text("time_s,train,serve\n0,0.9,1\n")
    wanted = "policy Polite asks for signal 'inference'; there is "
    known, none = artist(*polite), artist(*polite[:2], "signals=none")
    assert f"PlanError: {wanted}only train, serve (signals=file signals.path=FILE)" in known.err
    assert f"PlanError: {wanted}none (signals=file signals.path=FILE)" in none.err


POOLS = "cluster.machines=[{type: v100_8gpu, count: 1}, {type: t4_8gpu, count: 1, pool: inference}]"


def test_a_run_without_the_series_that_its_policy_follows_does_not_start(
    artist: Artist, refused: Callable[..., str]
) -> None:
    """The oracle needs `inference` and what comes next: none is there, or one of the two.

    What is told can be done as it stands: each way the run starts.
    """
    message = refused("policy=lyra", "topology=v100_t4_pools", POOLS)
    assert message.startswith("signals: policy Lyra follows a series that is not there")
    assert "found 'none'; allowed: inference, inference.next as well: signals=inference, or " in message
    assert "or signals=file signals.path=FILE signals.ahead=[inference]" in message
    Path("demand").write_text("time_s,inference\n0,0.9\n")
    given = "policy=lyra", "topology=v100_t4_pools", POOLS, "signals=file", "signals.path=demand"
    told = "signals.ahead=[inference], or policy.predictor=autoregressive"
    assert f"found 'inference'; allowed: inference.next as well: {told}\n" in refused(*given)
    for way in ("signals.ahead=[inference]", "policy.predictor=autoregressive"):
        assert artist(*given, way).code == 0
    assert artist(*given[:3], "signals=inference").code == 0


@pytest.mark.parametrize("value", ["14", "-0.1", "1.001"])
def test_a_use_of_machines_that_is_no_share_is_refused(
    refused: Callable[..., str], artist: Artist, value: str
) -> None:
    """Before the start, with the line: its third row; 0 and 1 are shares, and other names are free."""
    Path("demand").write_text(f"time_s,power,inference\n0,14,0\n300,-14,1\n90000,1,{value}\n")
    given = "policy=lyra", "topology=v100_t4_pools", "signals=file", "signals.path=demand"
    message = refused(*given, POOLS, "signals.ahead=[inference]")
    assert message.startswith("demand, line 4, inference: no share at 90000 s")
    assert f"found {float(value)}; allowed: 0 to 1, of the machines of the pool: divide by" in message
    Path("demand").write_text("time_s,power,inference\n0,14,0\n300,-14,1\n")
    assert artist(*given, POOLS, "signals.ahead=[inference]").code == 0


def test_a_policy_that_misses_values_of_a_forecast_does_not_start(refused: Callable[..., str]) -> None:
    """Values at 0, 300, 600 s, ...; a policy called every 900 s misses that at 300 s."""
    given = "policy=lyra", "policy.interval_s=900", "topology=v100_t4_pools", POOLS, "signals=inference"
    message = refused(*given)
    assert message.startswith("policy.interval_s: inference.next tells one value ahead, and none of")
    assert "found 900.0; allowed: seconds of which the time of each value is a multiple" in message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("signals=file",), ["signals.path"]),
        (("signals=file", "signals.path=demand"), ["demand", "no such file", "the path of a signal file"]),
        (("signals=file", "signals.path=."), ["is a folder", "the path of a signal file"]),
        (("signals=none", "+signals.path=demand"), ["signals.path"]),
        (("signals=nothing",), ["signals", "'nothing'", "file, inference, none"]),
        (("signals._target_=artist.workload.arrivals.TraceArrivals",), ["signals._target_", "series"]),
    ],
)
def test_bad_signals_are_refused(
    refused: Callable[..., str], arguments: tuple[str, ...], told: list[str]
) -> None:
    """Field or file, the value found and the allowed values, before the clock starts."""
    message = refused(*arguments)
    for words in told:
        assert words in message
