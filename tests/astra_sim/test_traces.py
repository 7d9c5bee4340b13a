"""Chakra traces of users: read with their groups, priced in process as ASTRA-sim runs them, or refused."""

import json
from pathlib import Path

import pytest

from netmodels.api import AnalyticalModel
from netmodels.astra_sim.chakra import COLLECTIVE, COMPUTE, RECEIVE, SEND
from netmodels.astra_sim.inputs import program_files
from netmodels.astra_sim.traces import trace_profile
from netmodels.calibration.calibrated import read_calibrated
from netmodels.collectives.dimensions import tiers_of
from netmodels.collectives.rank_program import RankNetwork, rank_times
from netmodels.inputs.errors import InputError
from tests.astra_sim.drawn_traces import SEEDS, node, placement_of, traces_of, write

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "recorded" / "traces.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_of_a_trace_end_as_in_astra_sim(record, tmp_path, seed):
    """To the nanosecond: 18 drawn programs of 8 to 64 ranks, on one to three dimensions."""
    shape = record.placement(placement_of(seed))
    write(tmp_path, *traces_of(seed, len(ANSWERS[seed])))
    program = trace_profile("drawn", tmp_path, tmp_path / "groups.json").program
    (tiers,) = tiers_of(shape, record.SWITCHES)
    network = RankNetwork(shape, tiers, record.SWITCHES.system)
    times = rank_times(program.ranks(shape, network, 1.0), network)
    assert [list(time) for time in times] == ANSWERS[seed]


def two_ranks(*nodes):
    """Return the nodes of rank 0, and a compute node for rank 1."""
    return [list(nodes), [node(1, COMPUTE, [], 1)]]


def test_an_iteration_of_two_ranks_by_hand(record, tmp_path):
    """30 us of compute, then a gather of a byte: 10 + 1,000 + 10 ns. The other's 20 us are hidden."""
    gather = {"comm_type": 2, "comm_size": 1}
    nodes = [[node(1, COMPUTE, [], us), node(2, COLLECTIVE, [1], **gather)] for us in (30, 20)]
    write(tmp_path, nodes, {})
    profile = trace_profile("two", tmp_path / "drawn", None)
    answer = AnalyticalModel().iteration(
        profile, record.placement("2"), record.SWITCHES, record.SWITCHES.system
    )
    assert (answer.compute_ns, answer.exposed_ns) == (30_000, 1_020)


def test_a_trace_written_here_is_read_as_it_was(record, tmp_path):
    """Nodes in whole ns, groups and messages of a read trace are those that ASTRA-sim gets."""
    write(tmp_path, *traces_of(0, 8))
    shape = record.placement("8")
    (tiers,) = tiers_of(shape, record.SWITCHES)
    network = RankNetwork(shape, tiers, record.SWITCHES.system)
    first = trace_profile("drawn", tmp_path, tmp_path / "groups.json").program
    again = tmp_path / "again"
    again.mkdir()
    files = program_files(first.ranks(shape, network, 1.0), network.levels, record.SWITCHES.system)
    for name, content in files.items():
        (again / name).write_bytes(content)
    assert trace_profile("drawn", again, again / "groups.json").program.program.ranks == first.program.ranks


def test_a_profile_file_names_traces_and_groups(tmp_path):
    """Paths from its folder; other content is another profile, with another digest."""
    digests = set()
    for seed in (0, 1):
        (tmp_path / str(seed)).mkdir()
        write(tmp_path / str(seed), *traces_of(seed, 8))
        entry = f"{{chakra: ./{seed}, groups: {seed}/groups.json}}"
        (tmp_path / "mine.yaml").write_text(f"models:\n  Mine: {entry}\n")
        profile = read_calibrated(tmp_path / "mine.yaml")("Mine")
        assert profile.compute_ns == profile.program.free_ns(8)
        digests.add(profile.digest)
    assert len(digests) == 2
    for entry, words in (
        ("{groups: 0/groups.json}", "groups without traces"),
        ("{chakra: ./2}", "not the traces"),
    ):
        (tmp_path / "mine.yaml").write_text(f"models:\n  Mine: {entry}\n")
        with pytest.raises(InputError, match=words):
            read_calibrated(tmp_path / "mine.yaml")


GROUPS = {1: [0, 1]}
REDUCE = {"comm_type": 0, "comm_size": 8}


@pytest.mark.parametrize(
    ("nodes", "groups", "words"),
    [
        (two_ranks(node(1, 2, [])), {}, ["drawn.0.et, node 1: a type of node", "found 2", "4 (COMP)"]),
        (two_ranks(node(1, COMPUTE, [7])), {}, ["node 1: it waits for a node that is not there", "found 7"]),
        (
            two_ranks(node(1, COMPUTE, [2]), node(2, COMPUTE, [1])),
            {},
            ["drawn.0.et: nodes wait for each other", "1 -> 2"],
        ),
        (two_ranks(node(1, COMPUTE, []), node(1, COMPUTE, [])), {}, ["a node twice", "found 1"]),
        (two_ranks(node(1, COMPUTE, [], num_ops=5, tensor_size=2)), {}, ["compute by roofline"]),
        (two_ranks(node(1, COMPUTE, [], is_cpu_op=1)), {}, ["an operation of the CPU"]),
        (two_ranks(), {}, ["drawn.0.et: a trace without nodes"]),
        (
            two_ranks(node(1, COLLECTIVE, [], comm_type=5, comm_size=8)),
            {},
            ["collective that is not", "7 (reduce"],
        ),
        (two_ranks(node(1, COLLECTIVE, [], comm_type=0)), {}, ["wrong comm_size", "found 'nothing'"]),
        (
            two_ranks(node(1, COLLECTIVE, [], **REDUCE, pg_name="3")),
            GROUPS,
            ["no group of rank 0", "found 3", "1, 0"],
        ),
        (two_ranks(node(1, COLLECTIVE, [], **REDUCE, pg_name="x")), GROUPS, ["wrong pg_name", "found 'x'"]),
        (two_ranks(node(1, COLLECTIVE, [], **REDUCE)), {}, ["waits for ever", "other members of group 0"]),
        (
            two_ranks(node(1, RECEIVE, [], comm_src=1, comm_size=8)),
            {},
            ["waits for ever", "message of rank 1"],
        ),
        (two_ranks(node(1, SEND, [], comm_dst=0, comm_size=8)), {}, ["between wrong ranks", "comm_dst 0"]),
        (two_ranks(node(1, SEND, [], comm_dst=2, comm_size=8)), {}, ["between wrong ranks", "comm_dst 2"]),
        (
            two_ranks(node(1, COMPUTE, [])),
            {1: [0, 2]},
            ["group 1: a rank without a trace", "found 2", "0 to 1"],
        ),
        (two_ranks(node(1, COMPUTE, [])), {1: [0]}, ["group 1: wrong members", "two or more"]),
        (two_ranks(node(1, COMPUTE, [])), {0: [0, 1]}, ["wrong number of a group", "found '0'"]),
    ],
)
def test_traces_that_cannot_run_are_refused_in_two_lines(tmp_path, nodes, groups, words):
    """File and node, found and allowed."""
    write(tmp_path, nodes, groups)
    with pytest.raises(InputError) as error:
        trace_profile("bad", tmp_path, tmp_path / "groups.json")
    assert len(str(error.value).splitlines()) == 2
    for word in words:
        assert word in str(error.value)


def test_missing_ranks_and_broken_files_are_refused(tmp_path):
    """A gap in the ranks, two programs in a folder, none, a file cut off, another format, no JSON."""
    write(tmp_path, *traces_of(0, 8))
    trace = tmp_path / "drawn.3.et"
    whole = trace.read_bytes()
    for content, words in (
        (whole[:-3], "3 bytes are missing"),
        (b"not a trace", "Chakra"),
        (whole[:1], "missing"),
    ):
        trace.write_bytes(content)
        with pytest.raises(
            InputError, match=f"drawn.3.et, byte (.|\n)*cut off(.|\n)*{words}|cut off(.|\n)*{words}"
        ):
            trace_profile("bad", tmp_path, tmp_path / "groups.json")
    trace.unlink()
    with pytest.raises(InputError, match="trace of rank 3 is missing"):
        trace_profile("bad", tmp_path, None)
    (tmp_path / "other.0.et").write_bytes(whole)
    with pytest.raises(InputError, match=r"not the traces of one program(.|\n)*drawn, other"):
        trace_profile("bad", tmp_path, None)
    with pytest.raises(InputError, match=r"not the traces of one program(.|\n)*none"):
        trace_profile("bad", tmp_path / "absent", None)
    (tmp_path / "groups.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        trace_profile("bad", tmp_path / "other", tmp_path / "groups.json")
