"""`performance.contention=packets` with `network=ns3`: jobs that share links are asked together."""

from dataclasses import replace

import pytest

from artist.data import data_path
from netmodels.api import load_topology
from netmodels.contention.contention import Contention
from netmodels.profiles.layers import Layer, Profile

TOPOLOGY = load_topology(data_path("topologies", "pcie_10g.yaml"))
KIND = TOPOLOGY.default_machine_type
MACHINES = [(0, machine, KIND, 8) for machine in range(2)]
HALF = [(0, machine, KIND, 4) for machine in range(2)]
BYTES = 400_000
JOB = Profile("job", (Layer("a", 30_000, 30_000, 40_000, BYTES),))


def contention(model, way="packets", **settings):
    """Return the links of two machines of 8 GPUs with a port of 10 Gb/s each."""
    return Contention(way, MACHINES, TOPOLOGY.fabric, TOPOLOGY.system("papers"), model, **settings)


def test_jobs_that_share_ports_are_asked_together_and_alone(model, monkeypatch):
    """By the fake each takes a ns more for each byte of the other: 400,000 ns more than alone.

    Asked are the collective, both together, and one of the two alone, as they are equal.
    """
    ns3_model, questions = model(), []
    ask = ns3_model.worker.ask
    monkeypatch.setattr(ns3_model.worker, "ask", lambda question: questions.append(question) or ask(question))
    links = contention(ns3_model)
    jobs = [links.traffic(JOB, HALF)] * 2
    assert links.together(jobs) == [job.alone_ns + BYTES for job in jobs]
    assert [(len(question["jobs"]), question["iterations"]) for question in questions] == [
        (1, None),
        (2, 16),
        (1, 16),
    ]
    assert links.together(jobs) == [job.alone_ns + BYTES for job in jobs]
    assert len(questions) == 3


def test_a_job_that_shares_nothing_is_asked_alone(model, monkeypatch):
    """With another one inside a machine there is nothing to follow."""
    ns3_model = model()
    links = contention(ns3_model)
    jobs = [links.traffic(JOB, HALF), links.traffic(JOB, [(0, 0, KIND, 4)])]
    monkeypatch.setattr(ns3_model.worker, "ask", lambda question: pytest.fail("asked"))
    assert links.together(jobs) == [job.alone_ns for job in jobs]


def test_too_many_packets_are_scaled_down(model, monkeypatch):
    """8 GPUs, 2 x 7 messages of 50,000 bytes each, 7 packets: 784 a job, x 16 iterations x 2: 25,088.

    Of at most 15,000, half of the 70,000 ns and of the bytes are asked. What is longer counts twice.
    """
    ns3_model, questions = model(packets_together=15_000), []
    ask = ns3_model.worker.ask
    monkeypatch.setattr(ns3_model.worker, "ask", lambda question: questions.append(question) or ask(question))
    links = contention(ns3_model)
    jobs = [links.traffic(JOB, HALF)] * 2
    assert links.together(jobs) == [job.alone_ns + BYTES for job in jobs]
    (compute_ns, size, *_), (rest_ns, none, *_) = questions[1]["jobs"][0][1]
    assert (compute_ns + rest_ns, size, none) == (35_000, BYTES // 2, 0)


def test_on_average_only_collectives_are_asked(model, monkeypatch):
    """`mean_field` needs what a job sends alone."""
    ns3_model = model()
    links = contention(ns3_model, "mean_field")
    jobs = [links.traffic(JOB, HALF)] * 2
    monkeypatch.setattr(ns3_model.worker, "ask", lambda question: pytest.fail("asked"))
    assert links.together(jobs)[0] > jobs[0].alone_ns


def test_real_packets_slow_jobs_as_ours_do(real):
    """Two equal jobs on two ports: what they take longer than alone, within 3 % of our own packets.

    GPUs have links of 450 byte/ns. On those of 10 it is 12 %: there a GPU sends its messages one after the
    other, here in turn.
    """
    from netmodels.fabric.system import merge_system

    profile = Profile("job", (Layer("a", 100_000, 100_000, 100_000, 4_000_000),))
    (inside,) = TOPOLOGY.fabric.machine
    fabric = replace(TOPOLOGY.fabric, machine=(replace(inside, bandwidth_bytes_per_ns=450.0),))
    system = merge_system(TOPOLOGY.system("papers"), {"transport": "packets"})
    slower = []
    for model in (None, real):
        links = Contention("packets", MACHINES, fabric, system, model)
        jobs = [links.traffic(profile, HALF)] * 2
        slower.append(links.together(jobs)[0] - jobs[0].alone_ns)
    assert slower[1] == pytest.approx(slower[0], rel=0.03)
