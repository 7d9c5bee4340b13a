"""Gandiva's grow-shrink: elastic jobs use what is idle, and give it back when somebody needs it."""

from artist.core.events import Change
from artist.policies.gandiva.policy import Gandiva
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster

ELASTIC = {"min_gpus": 1, "max_gpus": 4}


def growing(**parameters):
    """Return Gandiva that lets jobs grow after 10 quiet seconds."""
    return Gandiva(**{"grow_shrink": True, "grow_after_s": 10} | parameters)


def run(jobs, machines=1, gpus=4, policy=None):
    """Return the result, and (time in s, job, GPUs) of every change of GPUs."""
    result, events = run_checked(jobs, tiny_cluster(machines, gpus), policy or growing())
    changes = [(e.time_ns / 1e9, e.job, e.allocation.gpus) for e in events if isinstance(e, Change)]
    return result, changes


def test_a_job_grows_when_it_is_quiet_and_shrinks_when_somebody_arrives():
    """A of 100 s on 2 GPUs takes all 4 at 10, until b comes at 30 and wants 2; b leaves at 50.

    a: 10 done at 10, 20 / 0.5 = 40 more at 30, 20 more at 50: 70. Nobody has come since 30, so it grows at
    once, and 30 x 0.5 s later it ends: 65. b starts at once, 30 to 50.
    """
    jobs = [job("a", 2, 100, **ELASTIC), job("b", 2, 20, at=30)]
    result, changes = run(jobs)
    assert changes == [(10, 0, 4), (30, 0, 2), (50, 0, 4)]
    assert seconds(result, "finish_ns") == [65, 50]
    fixed, changes = run(jobs, policy=growing(grow_shrink=False))
    assert (seconds(fixed, "finish_ns"), changes) == ([100, 50], [])


def test_no_job_shrinks_for_a_job_that_fits():
    """8 GPUs: a holds 4 of them after growing, b finds 2 others at 30."""
    _, changes = run([job("a", 2, 100, **ELASTIC), job("b", 2, 20, at=30)], gpus=8)
    assert changes == [(10, 0, 4)]


def test_jobs_grow_on_their_own_machines_only():
    """Machines of 2 GPUs: a (1 GPU) takes the other one of its machine, not those of the next."""
    _, changes = run([job("a", 1, 100, **ELASTIC)], machines=2, gpus=2)
    assert changes == [(10, 0, 2)]


def test_growth_keeps_to_the_steps_of_the_demand():
    """2, 4 or 6 GPUs where there are 5: 4."""
    _, changes = run([job("a", 2, 100, min_gpus=2, max_gpus=6, step=2)], gpus=5)
    assert changes == [(10, 0, 4)]


def test_first_come_first_grown():
    """5 GPUs, 2 held by a, 1 by b: a takes the 2 that are idle, b keeps its one."""
    _, changes = run([job("a", 2, 100, **ELASTIC), job("b", 1, 100, **ELASTIC)], gpus=5)
    assert changes[0] == (10, 0, 4)


def test_no_job_grows_while_others_wait():
    """B waits for 4 GPUs until a ends at 100; a leaves 2 idle all the time."""
    result, changes = run([job("a", 2, 100, **ELASTIC), job("b", 4, 10)])
    assert (seconds(result, "finish_ns"), changes) == ([100, 110], [])


def test_grown_jobs_shrink_before_time_slices_end():
    """Turns of 20 s are over when b comes at 30, but a, grown to 4 of 6 GPUs, shrinks, and c goes on."""
    jobs = [job("a", 2, 100, **ELASTIC), job("c", 2, 100), job("b", 2, 20, at=30)]
    result, changes = run(jobs, gpus=6, policy=growing(slicing=True, quantum_s=20))
    assert changes[:2] == [(10, 0, 4), (30, 0, 2)]
    assert result.columns["preemptions"].sum() == 0
    assert seconds(result, "finish_ns") == [65, 100, 50]
