"""The real ns-3, where it is installed: closed forms, and our own packets."""

import pytest

from netmodels.fabric.links import Link
from netmodels.inputs.errors import InputError
from netmodels.ns3.model import Ns3Model
from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Channel, PrivateLink, Wire
from netmodels.packets.rings import Layer, RingJob, together

# Two racks of two machines of four GPUs, links as in ../shared/reference/contention.
TREE = Tree(
    [gpu // 4 for gpu in range(16)],
    *([0, 0, 1, 1], [Wire(3600, 500)] * 16, [Wire(100, 1000)] * 4, [Wire(100, 2000)] * 2),
)
ACROSS = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)


def test_a_packet_takes_the_sum_of_its_links_times(real):
    """4,000 bytes, 4,042 with headers, over 800 Gb/s and back 42, 1 us each way: 2 x (40.4 + 0.4 + 1,000).

    Two such messages in turn, since two GPUs all-reduce in two steps, and 3 endpoint delays of 10 ns.
    """
    tree = Tree([0, 0], [0], [Wire(800, 500)] * 2, [Wire(1, 1)], [Wire(1, 1)])
    ((result,),) = real.together([RingJob((0, 1), (Layer(0, 8000),), 1)], tree)
    step = 2 * 4042 * 8 / 800 + 2 * 42 * 8 / 800 + 2000
    assert result == pytest.approx(2 * step + 3 * 10, abs=4)


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.parametrize("size", [1 << 16, 1 << 20, 1 << 22])
def test_a_ring_of_few_gpus_is_as_our_packets_have_it(real, size, windows):
    """Headers are 6 bytes longer than RDMA's, and acknowledgements 6 shorter: within 0.7 % (0.62 found)."""
    for gpus in ((0, 8), (0, 4), (0, 1, 8, 9)):
        jobs = [RingJob(gpus, (Layer(0, size),), 1)]
        (ours,), (theirs,) = (run(jobs, TREE, windows=windows) for run in (together, real.together))
        assert theirs[0] == pytest.approx(ours[0], rel=0.007)


def test_acknowledgements_go_first_at_a_gpus_own_link(real):
    """4 GPUs on 100 Gb/s each send and acknowledge on it: behind data, windows would take 30 % longer."""
    tree = Tree([0, 0, 0, 0], [0], [Wire(100, 1000)] * 4, [Wire(1, 1)], [Wire(1, 1)])
    jobs = [RingJob((0, 1, 2, 3), (Layer(0, 1 << 22),), 1)]
    assert real.together(jobs, tree)[0][0] == pytest.approx(together(jobs, tree)[0][0], rel=0.03)


@pytest.mark.parametrize("rest", [1, 12, 13])
def test_a_last_packet_of_few_bytes_stays_behind_the_others(real, rest):
    """Taken for an acknowledgement it would overtake them, and TCP would send them again: twice the time."""
    jobs = [RingJob((0, 1, 8, 9), (Layer(0, 4 * (50 * 8000 + rest)),), 1)]
    (ours,), (theirs,) = (run(jobs, TREE, windows=False) for run in (together, real.together))
    assert theirs[0] == pytest.approx(ours[0], rel=0.007)


def test_jobs_that_share_an_uplink_slow_each_other_as_our_packets_do(real):
    """Two jobs over one uplink take 1.27 times as long; the second answer is the first one."""
    jobs = [RingJob(gpus, (Layer(300_000, 1 << 20),), 2) for gpus in ACROSS]
    ours = [times[-1] for times in together(jobs, TREE)]
    first = real.together(jobs, TREE)
    assert [times[-1] for times in first] == pytest.approx(ours, rel=0.03)
    assert real.together(jobs[:1], TREE)[0][-1] < 0.9 * first[0][-1]
    assert real.together(jobs, TREE) == first


def test_parallel_uplinks_are_taken_message_by_message(real):
    """Half of the bandwidth on each of two: by the same hashes as our packets, within 3 %."""
    tree = Tree(TREE.machine_of, TREE.rack_of, TREE.gpus, TREE.machines, [Wire(50, 2000)] * 2, cores=2)
    jobs = [RingJob(gpus, (Layer(100_000, 1 << 20),), 2) for gpus in ((0, 8), (4, 12))]
    ours = [times[-1] for times in together(jobs, tree)]
    assert [times[-1] for times in real.together(jobs, tree)] == pytest.approx(ours, rel=0.03)


class Mixed:
    """GPUs 0 and 1 in one rack, 2 and 3 in another; 1 and 3 see another latency of the uplinks."""

    hosts, cores = 4, 1

    def path(self, sender, receiver, from_port, to_port):
        """Return own link, uplinks, and own link."""
        port, uplink = Wire(400, 500), Wire(50, 500 if sender % 2 else 2000)
        racks = Link("rack", sender // 2, "out"), Link("rack", receiver // 2, "in")
        return (
            Channel(PrivateLink(sender, "out"), port),
            *(Channel(rack, uplink) for rack in racks),
            Channel(PrivateLink(receiver, "in"), port),
        )

    def unshared(self, sender, receiver):
        """Return None: all messages are followed packet by packet."""


def test_each_job_has_the_latency_of_a_link_that_it_sees(real):
    """2 us and 500 ns on the same uplinks: as our packets, within 3 %; both at 2 us are 5 and 16 % off."""
    jobs = [RingJob(gpus, (Layer(20_000, 400_000),), 4) for gpus in ((0, 2), (1, 3))]
    ours = [times[-1] for times in together(jobs, Mixed(), windows=False)]
    assert ours[1] < 0.93 * ours[0]
    theirs = [times[-1] for times in real.together(jobs, Mixed(), windows=False)]
    assert theirs == pytest.approx(ours, rel=0.03)


def test_all_to_all_sends_to_all_at_once(real):
    """4 GPUs of 2 machines; 3 messages each."""
    jobs = [RingJob((0, 1, 4, 5), (Layer(0, 1 << 20, "all_to_all"),), 1)]
    assert real.together(jobs, TREE)[0][0] == pytest.approx(together(jobs, TREE)[0][0], rel=0.01)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("NoSuch", 1, "knows no such attribute"), ("DelAckCount", "two", "is not properly formatted")],
)
def test_ns3_names_a_wrong_attribute(real, name, value, said):
    """Of a name that it does not know, and of a value, at which it ends."""
    model = Ns3Model(attributes={f"ns3::TcpSocket::{name}": value})
    with pytest.raises(InputError, match=said):
        model.together([RingJob((0, 1), (Layer(0, 8000),), 1)], TREE)
    model.worker.end()
