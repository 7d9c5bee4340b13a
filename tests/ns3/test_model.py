"""`network=ns3` without ns-3: what it asks, composes, refuses, and says of itself."""

from pathlib import Path

import pytest
import yaml

from artist.data import data_path
from netmodels.api import load_topology, shape_of
from netmodels.fabric.system import merge_system
from netmodels.inputs.errors import InputError
from netmodels.models.cache import CachedModel
from netmodels.ns3.model import Ns3Model, Ns3Parameters
from netmodels.ns3.tree import Tree
from netmodels.packets import rings
from netmodels.packets.engine import Wire
from netmodels.profiles.layers import Layer, Profile

TOPOLOGY = load_topology(data_path("topologies", "v100_100g.yaml"))
FABRIC, SYSTEM, TYPE = TOPOLOGY.fabric, TOPOLOGY.system("papers"), TOPOLOGY.default_machine_type
FOUR = shape_of([(0, TYPE, 2), (0, TYPE, 2)])
# Forward 30; backward: b weight gradient until 50, input gradient until 60, a weight gradient until 80.
TOY = Profile("toy", (Layer("a", 10, 10, 20, 4000), Layer("b", 20, 10, 20, 4000)))


def ask(model, shape=FOUR, **settings):
    return model.iteration(TOY, shape, FABRIC, merge_system(SYSTEM, settings))


def test_an_iteration_is_collectives_in_one_queue_beside_the_backward_pass(model, starts):
    """The fake's take 4,000 ns each: issued at 50, the second waits: 50 + 8,000 - 80 of compute = 7,970."""
    asked = model()
    answer = ask(asked)
    assert (answer.compute_ns, answer.comm_ns, answer.exposed_ns) == (80, 8000, 7970)
    assert starts() == 1


def test_a_size_is_asked_once(model, monkeypatch):
    """Two layers of 4,000 bytes, two iterations: one question; with windows it is another one."""
    asked, questions = model(), []
    monkeypatch.setattr(
        asked.worker, "ask", lambda question: questions.append(question) or {"ends_ns": [[4000]]}
    )
    ask(asked)
    ask(asked)
    assert len(questions) == 1
    ask(asked, transport="windows")
    assert len(questions) == 2


def test_one_gpu_asks_nothing(model, starts):
    """It sends to no one."""
    assert ask(model(), shape_of([(0, TYPE, 1)])).total_ns == 80
    assert not starts()


def test_equal_collectives_of_other_iterations_are_kept_on_disk(model, starts, tmp_path, monkeypatch):
    """The same layers computed half as fast: another iteration, whose collective no worker is asked for."""
    CachedModel(model(), tmp_path).iteration(TOY, FOUR, FABRIC, SYSTEM)
    monkeypatch.setenv("FAKE_MODE", "crash")
    kept = CachedModel(model(), tmp_path)
    answer = kept.iteration(TOY.scaled(2), FOUR, FABRIC, SYSTEM)
    assert (answer.compute_ns, answer.comm_ns, kept.hits) == (160, 8000, 0)
    assert starts() == 1


def test_long_messages_go_in_longer_packets(model, monkeypatch):
    """4 GPUs: of 8,000,000 bytes a message has 2,000,000, 64 packets of 31,250; with windows of 8,000.

    Of 40,000,000 bytes it has 10,000,000: 154 of 65,000, the longest.
    """
    asked, questions = model(), []
    monkeypatch.setattr(
        asked.worker, "ask", lambda question: questions.append(question) or {"ends_ns": [[4000]]}
    )
    system = merge_system(SYSTEM, {"transport": "windows"})
    for size, settings in ((8, SYSTEM), (40, SYSTEM), (8, system)):
        asked.collective_ns("all_reduce", size * 10**6, FOUR, FABRIC, settings)
    assert [question["payload_bytes"] for question in questions] == [31_250, 65_000, 8000]
    sizes = [question["attributes"]["ns3::TcpSocket::SegmentSize"] for question in questions]
    assert sizes == ["31250", "65000", "8000"]


def test_received_bytes_are_added_as_in_other_models(model, monkeypatch):
    """1,000 bytes a message, 3 memory accesses of 1.1 ns at 900 GB/s, each in whole ns: 3 ns.

    GPUs add in the first half of the steps only (`netmodels.packets.rings.Layer`), so it is no mean.
    """
    asked, questions = model(), []
    monkeypatch.setattr(
        asked.worker, "ask", lambda question: questions.append(question) or {"ends_ns": [[4000]]}
    )
    asked.collective_ns("all_reduce", 4000, FOUR, FABRIC, SYSTEM)
    (((_, ((_, _, _, _, add_ns, _),), _, _),),) = (question["jobs"] for question in questions)
    assert add_ns == 3


def test_answers_are_kept_on_disk(model, starts, tmp_path):
    """Another model with the same settings starts no worker; with other packets it does."""
    models = [CachedModel(model(payload_bytes=value), tmp_path) for value in (8000, 8000, 1448)]
    answers = [model.iteration(TOY, FOUR, FABRIC, SYSTEM) for model in models]
    assert answers[0] == answers[1] == answers[2]
    assert starts() == 2


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("collectives", "nccl"),
        ("across_machines", "hierarchical"),
        ("across_machines", "tree"),
        ("transport", "ideal"),
    ],
)
def test_unsupported_questions_are_refused(model, starts, setting, value):
    """With the field, before ns-3 begins."""
    one_gpu, system = shape_of([(0, TYPE, 1)]), merge_system(SYSTEM, {setting: value})
    with pytest.raises(InputError, match=f"network.system.{setting}"):
        ask(model(), **{setting: value})
    with pytest.raises(InputError, match=f"network.system.{setting}"):
        model().parts(TOY, one_gpu, FABRIC, system)
    assert not starts()


def test_long_questions_are_refused_before_ns3_begins(model, starts):
    """4 GPUs, 6 messages of 1,000 bytes each, 24 packets; a message of 3 GB; both in words."""
    assert ask(model(max_packets=24))
    with pytest.raises(InputError, match="too many packets\n  found 24"):
        ask(model(max_packets=23))
    large = Profile("large", (Layer("a", 10, 10, 20, 12_000_000_000),))
    with pytest.raises(InputError, match="longer than 2 GiB"):
        model().iteration(large, FOUR, FABRIC, SYSTEM)
    assert starts() == 1


def test_a_wrong_attribute_is_named(model, monkeypatch):
    """With its value, as the user wrote it."""
    monkeypatch.setenv("FAKE_MODE", "attribute")
    with pytest.raises(InputError, match=r"network.model.attributes(.|\n)*DelAckCount=two"):
        ask(model(attributes={"ns3::TcpSocket::DelAckCount": "two"}))


def test_without_the_package_the_error_names_the_installation(monkeypatch):
    """Before the clock starts."""

    def version(name):
        from importlib.metadata import PackageNotFoundError

        raise PackageNotFoundError(name)

    monkeypatch.setattr("netmodels.ns3.model.version", version)
    with pytest.raises(InputError, match=r"pip install artist-sim\[ns3\]"):
        Ns3Model()


def test_the_version_names_ns3_and_all_that_changes_answers(model):
    """Keys of answers on disk contain it."""
    versions = {
        model(**given).version for given in ({}, {"payload_bytes": 1448}, {"attributes": {"a": True}})
    }
    assert len(versions) == 3
    assert all(version.startswith("3.44.post0") for version in versions)
    assert model(timeout_s=5).version == model().version


def test_jobs_together_are_asked_as_one_question(model):
    """Two jobs, each of 2 iterations of 100 + 2 x 1,000 ns by the fake, the second from 7 ns on."""
    tree = Tree([0, 0, 1, 1], [0, 0], [Wire(800, 100)] * 4, [Wire(100, 1000)] * 2, [Wire(50, 2000)])
    layers = (rings.Layer(100, 1000),)
    jobs = [rings.RingJob((0, 2), layers, 2), rings.RingJob((1, 3), layers, 2, 7)]
    assert model().together(jobs, tree) == ((2100, 4200), (2107, 4207))


def test_the_config_lists_every_field():
    """And the defaults are those of the class."""
    given = yaml.safe_load((Path(__file__).parents[2] / "conf/network/ns3.yaml").read_text())["model"]
    assert given.pop("_target_") == "netmodels.ns3.model.Ns3Model"
    assert given == Ns3Parameters().model_dump()
