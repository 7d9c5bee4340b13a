"""Language models with a plan on ASTRA-sim: each rank's trace, and the ranks followed in process."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from netmodels.api import AnalyticalModel, Plan, language_profile
from netmodels.astra_sim.inputs import program_files
from netmodels.astra_sim.process import ProgramError
from netmodels.collectives.dimensions import tiers_of
from netmodels.collectives.rank_program import Node, RankNetwork, RankProgram, RankTime, rank_times
from netmodels.inputs.errors import InputError
from tests.astra_sim.chakra_traces import read_trace

RUNS = [
    json.loads(line) for line in (Path(__file__).parent / "recorded" / "plans.jsonl").read_text().splitlines()
]
NAMES = [f"{run['placement']} {run['plan']}" for run in RUNS]


def network(record, placement, **settings):
    """Return the network of switches on a placement: a message of a byte takes 1, 2 and 5 us by tier."""
    shape, system = record.placement(placement), replace(record.SWITCHES.system, **settings)
    return RankNetwork(shape, tiers_of(shape, record.SWITCHES)[0], system)


def asked(record, run, number):
    """Return profile, shape and fabric of a recorded run."""
    architecture, plan, placement, fabric = record.PLANS[number]
    assert (plan, placement) == (run["plan"], run["placement"])
    return record.planned(architecture, plan), record.placement(placement), fabric


# --- recorded runs of the real program


@pytest.mark.parametrize("number", range(len(RUNS)), ids=NAMES)
def test_every_rank_ends_when_it_did_in_astra_sim(record, tmp_path, number):
    """To the nanosecond, of 8 to 64 ranks; from files that are byte for byte those written today."""
    run = RUNS[number]
    profile, shape, fabric = asked(record, run, number)
    (tiers,) = tiers_of(shape, fabric)
    ranks_network = RankNetwork(shape, tiers, fabric.system)
    program = profile.program.ranks(shape, ranks_network, 1.0)
    assert [list(time) for time in rank_times(program, ranks_network)] == run["npus"]
    for name, content in program_files(program, ranks_network.levels, fabric.system).items():
        (tmp_path / name).write_bytes(content)
    assert record.digest_of_files(tmp_path) == run["files"]
    answer = AnalyticalModel().iteration(profile, shape, fabric, fabric.system)
    assert answer.total_ns == max(end for end, _ in run["npus"])


def test_runs_of_8_to_64_ranks_are_recorded():
    """More than 20, with all roles."""
    counts = {len(run["npus"]) for run in RUNS}
    assert (len(RUNS), min(counts), max(counts)) == (21, 8, 64)


def test_the_users_own_program_ends_as_recorded(real, record):
    """The real run: three plans of 8, 24 and 64 ranks."""
    for number in (1, 12, 18):
        profile, shape, fabric = asked(record, RUNS[number], number)
        real.iteration(profile, shape, fabric, fabric.system)
        assert [[npu.total_ns, npu.comm_ns] for npu in real.last] == RUNS[number]["npus"]


# --- rules, by hand


def test_a_ring_waits_for_its_latest_member(record):
    """All-gather of a byte by 3 of 4 GPUs, hops of 1,000 ns, 10 ns per step; rank 2 starts at 5,000.

    They send first at 10, 10, 5,010, then at max(the one before + 1,000, own) + 10: 6,020, 1,020, 5,020, and
    end so at 6,030, 7,030, 5,030.
    """
    nodes = [
        (Node(1, "all_gather", (), size_bytes=1, group=1),),
        (Node(1, "all_gather", (), size_bytes=1, group=1),),
        (Node(1, "compute", (), ns=5000), Node(2, "all_gather", (1,), size_bytes=1, group=1)),
        (Node(1, "compute", (), ns=7),),
    ]
    times = rank_times(RankProgram(tuple(nodes), {1: (0, 1, 2)}), network(record, "4"))
    assert times == (RankTime(6030, 6030), RankTime(7030, 7030), RankTime(5030, 30), RankTime(7, 0))


def test_a_rank_has_one_collective_or_send_at_a_time(record):
    """A send of 1 us holds the rank's next one; the receives wait beside it: ends at 1 and 2 us."""
    sends = (Node(1, "send", (), size_bytes=1, peer=1), Node(2, "send", (), size_bytes=1, peer=2))
    receive = (Node(1, "receive", (), size_bytes=1, peer=0),)
    times = rank_times(RankProgram((sends, receive, receive), {}), network(record, "3"))
    assert [time.end_ns for time in times] == [2000, 1000, 2000]


def test_rings_leave_a_machine_where_they_entered_the_last(record):
    """Neighbours differ in one dimension: to and fro over machines, and over racks."""
    assert network(record, "3+3").in_ring(range(6)) == (0, 1, 2, 5, 4, 3)
    assert network(record, "2+2|2+2").in_ring(range(8)) == (0, 1, 3, 2, 6, 7, 5, 4)
    assert network(record, "4+4+4+4").in_ring([1, 5, 9, 13]) == (1, 5, 9, 13)


def test_a_message_takes_the_widest_dimension(record):
    """In a machine 2 x 500 ns, between machines 2 x 1,000, between racks 2 x 2,500, whichever GPUs."""
    ranks = network(record, "2+2|2+2")
    assert [ranks.send_ns(0, target, 1) for target in (1, 2, 3, 4, 7)] == [1000, 2000, 2000, 5000, 5000]


def test_what_never_ends_is_named(record):
    """A receive without a send, other collectives of a member, and a member without one."""
    for nodes, found in (
        ((Node(1, "receive", (), size_bytes=1, peer=1),), "a message of rank 1"),
        ((Node(1, "all_gather", (), size_bytes=1, group=1),), "the other members of group 1"),
    ):
        with pytest.raises(InputError, match=f"waits for ever(.|\n)*{found}"):
            rank_times(RankProgram((nodes, ()), {1: (0, 1)}), network(record, "2"))
    gathers = [(Node(1, "all_gather", (), size_bytes=size, group=1),) for size in (1, 2)]
    with pytest.raises(InputError, match=r"group 1, collective 1, rank 1(.|\n)*2 bytes, all_gather of 1"):
        rank_times(RankProgram(tuple(gathers), {1: (0, 1)}), network(record, "2"))


# --- questions to a program


def test_a_trace_has_groups_and_messages(record):
    """tp4 pp2 on 8 GPUs: groups of 4 with numbers from 1, and sends to the GPU of the other stage."""
    profile, shape, fabric = asked(record, RUNS[1], 1)
    ranks = network(record, "8")
    files = program_files(profile.program.ranks(shape, ranks, 1.0), ranks.levels, fabric.system)
    assert json.loads(files["groups.json"]) == {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}
    _, nodes = read_trace(files["iteration.5.et"])
    values = [{one.name: one.string_val or one.int64_val for one in node.attr} for node in nodes]
    assert {value["pg_name"] for value in values if "pg_name" in value} == {"2"}
    assert {value["comm_dst"] for value in values if "comm_dst" in value} == {1}
    assert {value["comm_src"] for value in values if "comm_src" in value} == {1}
    assert [node.id for node in nodes] == list(range(1, len(nodes) + 1))


@pytest.mark.parametrize(
    ("placement", "plan", "carried"),
    [
        ("8+8", Plan(tp=2, pp=2, batch=8), False),
        ("9+7", Plan(tp=2, pp=2, batch=8), True),  # uneven
        ("8+8", Plan(tp=2, pp=4, batch=8), True),  # GPU 4 of a machine sends to GPU 0 of the other
        ("2+2|2+2", Plan(tp=2, batch=8), False),
        (
            "2+2|2+2",
            Plan(tp=2, pp=4, batch=8),
            True,
        ),  # the second machine of a rack to the first of the other
    ],
)
def test_placements_without_the_messages_of_a_plan_are_carried(
    astra, record, monkeypatch, placement, plan, carried
):
    """ASTRA-sim's networks have no message over two dimensions: the ranks are followed in process."""
    monkeypatch.setenv("FAKE_MODE", "crash")  # an answer is not the program's
    shape, fabric, profile = (
        record.placement(placement),
        record.SWITCHES,
        language_profile(record.SMALL, plan),
    )
    model = astra("unaware")
    assert model.carries(shape, fabric, fabric.system, profile) == carried
    if carried:
        ours = AnalyticalModel().iteration(profile, shape, fabric, fabric.system)
        assert model.iteration(profile, shape, fabric, fabric.system) == ours


@pytest.mark.parametrize(
    ("backend", "settings", "where"),
    [
        ("version1", {}, "plan"),
        ("ns3", {}, "plan"),
        ("unaware", {"chunks": 2}, "network.system.chunks"),
        ("unaware", {"across_machines": "tree"}, "network.system.across_machines"),
        ("unaware", {"collective_algorithm": "direct"}, "network.system.collective_algorithm"),
    ],
)
def test_programs_and_settings_without_rings_of_ranks_refuse_plans(astra, record, backend, settings, where):
    """By name, before anything runs."""
    profile = language_profile(record.SMALL, Plan(tp=8))
    system = replace(record.SWITCHES.system, **settings)
    with pytest.raises(InputError) as error:
        astra(backend).iteration(profile, record.placement("8"), record.SWITCHES, system)
    assert error.value.where == where


def test_a_crash_before_all_have_finished_is_asked_again(astra, record, tmp_path, monkeypatch):
    """Freed twice, groups may crash the program at its end, at random: five runs, then the error."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "runs"))
    with pytest.raises(ProgramError, match="it failed"):
        astra().iteration(
            record.planned(record.SMALL, "tp8"),
            record.placement("8"),
            record.SWITCHES,
            record.SWITCHES.system,
        )
    assert len((tmp_path / "runs").read_text().split()) == 5
