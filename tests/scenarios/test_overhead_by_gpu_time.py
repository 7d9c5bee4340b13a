"""Overhead by GPU time, of jobs that keep their GPUs and one that does not."""

from dataclasses import replace

from artist.core.iteration import IterationParts
from artist.engine.stopping import StopRule
from artist.recording.metrics import summarise
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S


class Communicating(PlainPerformance):
    """On several GPUs, half as much exposed communication as compute."""

    def reprice(self, changed, running):
        prices = super().reprice(changed, running)
        several = {j: running.allocation(j).gpus > 1 for j in prices}
        return {
            j: IterationParts(parts.compute_ns, exposed_ns=parts.compute_ns // 2 * several[j])
            for j, parts in prices.items()
        }


def _run(until_s=None):
    jobs = [replace(job("a", 2, 10, min_gpus=1, max_gpus=2), model="wide"), job("b", 1, 10)]
    script = Scripted(
        {
            0: lambda view, plan: [plan.place(0, on((0, 1))), plan.place(1, on((1, 1)))],
            4: lambda view, plan: plan.place(0, on((0, 2))),
        }
    )
    until = {} if until_s is None else {"stop": StopRule(time_ns=until_s * NS_PER_S)}
    result, _ = run_checked(jobs, tiny_cluster(), script, Communicating(), **until)
    return result, summarise(result, policy="", seed=0, network_distinct=0, run={})["comm_overhead"]


def test_gpu_time_of_an_elastic_job_is_that_of_the_gpus_it_held():
    """a: 2 iterations of 2 s on 1 GPU, then 8 of 1 + 0.5 s on 2; b: 10 s on 1 GPU, all of it computing.

    GPU-seconds of computing: a 1 x 4 + 2 x 8 = 20, b 10; exposed: 2 x 4 = 8. So 8 / 30, where the mean over
    the two jobs is 4 / 12 / 2 = 1 / 6; all of it by a, which asks for 2.
    """
    result, overhead = _run()
    assert seconds(result, "finish_ns") == [16, 10]
    assert seconds(result, "gpu_compute_ns") == [20, 10]
    assert seconds(result, "gpu_exposed_comm_ns") == [8, 0]
    assert (overhead["mean"], overhead["by_gpu_time"]) == (1 / 6, 8 / 30)
    assert overhead["largest"] == {"model": "wide", "gpus": 2, "jobs": 1, "share": 1.0}


def test_unfinished_jobs_count_up_to_the_end_of_the_run():
    """At 7 s a has done 2 of its 8 iterations on 2 GPUs: 2 x 1 of 1 x 4 + 2 x 2 + 7 GPU-seconds."""
    _, overhead = _run(until_s=7)
    assert overhead["by_gpu_time"] == 2 / 15
