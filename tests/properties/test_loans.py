"""Whatever inference uses and whatever runs, Lyra keeps to the pools."""

from math import ceil

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from artist.core.cluster import Cluster, Machine
from artist.core.events import Change, MachineEvent, Start, Stop
from artist.engine.overheads import Overheads
from artist.policies.lyra import Lyra
from artist.testing.tiny import job, run_checked
from artist.units import seconds_to_ns
from artist.workload.signals import Series

STEP_NS = seconds_to_ns(300)
STEPS = 10
TRAINING = 3
GPUS = 4


def machines(inference):
    """Return three V100 machines of the training pool and some T4 machines, two of which are worth one."""
    training = [Machine(f"v{i}", 0, "v100", GPUS, "V100", pool="training") for i in range(TRAINING)]
    others = (
        Machine(f"t{i}", 1, "t4", GPUS, "T4", speed=1 / 3, worth=0.5, pool="inference")
        for i in range(inference)
    )
    return Cluster([*training, *others])


@st.composite
def workloads(draw):
    """Return jobs of all kinds; there may be none for some time."""
    jobs = []
    for n in range(draw(st.integers(1, 15))):
        workers, step = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2]))
        kind = draw(st.sampled_from(["fixed", "fungible", "elastic", "heterogeneous"]))
        asked = {
            "fixed": {"gpu_types": ("V100",)},
            "fungible": {"fungible": True},
            "elastic": {"fungible": True, "min_gpus": workers * step, "max_gpus": 3 * workers * step},
            "heterogeneous": {"fungible": True, "mixed_types": True},
        }[kind]
        at, lasts = draw(st.integers(0, STEPS * 300)), draw(st.integers(1, 120))
        jobs.append(job(f"j{n}", workers * step, lasts * 10, at, iteration_s=10, step=step, **asked))
    return sorted(jobs, key=lambda spec: spec.submit_ns)


shares = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=STEPS + 1, max_size=STEPS + 1)


def ran(jobs, use, inference, **parameters):
    """Return the events of a run."""
    times, values = np.arange(len(use)) * STEP_NS, np.array(use)
    signals = {
        "inference": Series(times, values),
        "inference.next": Series(times, np.append(values[1:], values[-1])),
    }
    overheads = Overheads(on_stop="lose_all", resume_s=63, restart_s=63)
    policy = Lyra(**parameters)
    _, events = run_checked(jobs, machines(inference), policy, signals=signals, overheads=overheads)
    return events


def owners_after(events, inference):
    """Yield each event with the pool of each machine after the moves of its instant."""
    owners = ["training"] * TRAINING + ["inference"] * inference
    moves = [event for event in events if isinstance(event, MachineEvent)]
    for event in events:
        while moves and moves[0].time_ns <= event.time_ns:
            move = moves.pop(0)
            owners[move.machine] = move.pool
        yield event, owners


@given(workloads(), shares, st.integers(1, 9), st.sampled_from(["server_fraction", "random", "optimum"]))
@settings(max_examples=150, deadline=None)
def test_with_the_oracle_inference_is_never_short(jobs, use, inference, reclaim):
    """In each step at least ceil(N x max(use at its start, at its end)) machines are with inference."""
    events = ran(jobs, use, inference, headroom=0.0, reclaim=reclaim)
    for event, owners in owners_after(events, inference):
        step = min(event.time_ns // STEP_NS, STEPS)
        most = max(use[step : step + 2])
        assert owners.count("inference") >= ceil(inference * most - 1e-9)


@given(workloads(), shares, st.integers(1, 9), st.sampled_from(["oracle", "autoregressive"]))
@settings(max_examples=150, deadline=None)
def test_no_job_is_on_a_machine_of_the_inference_pool(jobs, use, inference, predictor):
    """Where jobs start or change, all machines are for training or on loan; they move at multiples of 300 s.

    A machine that moves is empty, which the engine checks, so what runs on is not with inference either.
    """
    events = ran(jobs, use, inference, predictor=predictor)
    for event, owners in owners_after(events, inference):
        if isinstance(event, MachineEvent):
            assert event.time_ns % STEP_NS == 0
        elif isinstance(event, Start | Change):
            assert all(owners[piece.machine] != "inference" for piece in event.allocation.slices)


@given(workloads(), shares, st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_only_reclaiming_stops_jobs_and_only_heterogeneous_ones_mix_types(jobs, use, inference):
    """Stops come at multiples of 300 s; no job is on V100 (machines 0 to 2) and T4 (from 3 on) unless it may.

    A job never holds less than its base demand: GPUs x worth is at least `min_gpus`, or `gpus`.
    """
    for event in ran(jobs, use, inference):
        if isinstance(event, Stop):
            assert event.time_ns % STEP_NS == 0
        elif isinstance(event, Start | Change):
            demand = jobs[event.job].demand
            on_t4 = [piece.machine >= TRAINING for piece in event.allocation.slices]
            assert demand.mixed_types or len(set(on_t4)) == 1
            worths = sum(
                piece.gpus * (0.5 if piece.machine >= TRAINING else 1) for piece in event.allocation.slices
            )
            assert worths >= (demand.min_gpus or demand.gpus)
