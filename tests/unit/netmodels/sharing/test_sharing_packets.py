"""Messages on links, packet by packet, by hand."""

import pytest

from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Packets, Wire, window_bytes

SLOW, FAST = Wire(80, 1000), Wire(800, 1000)  # a packet of 8,036 bytes takes 804 and 80 ns; 48 bytes 5 and 0


def machine(*wires):
    """Return GPUs on one switch."""
    return Tree([0] * len(wires), [0], wires, [FAST], [FAST])


def ends(tree, *messages, windows=True):
    """Return the end times of messages (time, sender, receiver, packets of 8,000 bytes)."""
    packets, result = Packets(tree, windows=windows), {}
    for place, (start, sender, receiver, count) in enumerate(messages):
        packets.at(
            start,
            lambda now, what: packets.send(now, what[1], what[2], found_at(result), what[0]),
            (place, (sender, receiver), int(count * 8000)),
        )
    packets.run()
    return [result[place] for place in range(len(messages))]


def found_at(times):
    """Return a callback that notes the end of a message."""

    def note(now, place):
        times[place] = now

    return note


def test_one_packet_over_two_links():
    """There 804 + 1,000 on each, back 5 + 1,000 on each: 5,618."""
    assert ends(machine(SLOW, SLOW), (0, 0, 1, 1)) == [5618]


def test_packets_follow_each_other():
    """Seven more packets take 804 each: 5,618 + 7 x 804."""
    assert ends(machine(SLOW, SLOW), (0, 0, 1, 8)) == [5618 + 7 * 804]


def test_the_last_packet_may_be_smaller():
    """4,000 bytes more: 4,036 take 404, after the first packet on the second link: 5,618 + 404."""
    assert ends(machine(SLOW, SLOW), (0, 0, 1, 1.5)) == [5618 + 404]


def test_a_window_is_the_slowest_link_times_the_round_trip():
    """2 x 2,000 latency + 80 + 800 of 8,000 bytes = 4,880 ns, at 10 bytes a ns."""
    assert window_bytes(machine(FAST, SLOW).path(0, 1, 0, 0)) == 48_800


def test_a_window_is_all_that_is_ahead_of_others():
    """Seven of 16 packets are in the window of 48,800 bytes and at the slow link from 1,080 on.

    Another sender's packet, sent at 2,000, passes from 1,080 + 7 x 804 = 6,708 to 7,512, and is over 1,000 +
    2,005 later. The rest of the 16 follow. Without windows all 16 are ahead: 1,080 + 16 x 804 = 13,944.
    """
    tree, messages = machine(FAST, FAST, SLOW), [(0, 0, 2, 16), (2000, 1, 2, 1)]
    assert ends(tree, *messages) == [1080 + 17 * 804 + 3005, 7512 + 3005]
    assert ends(tree, *messages, windows=False) == [13944 + 3005, 13944 + 804 + 3005]


def test_two_messages_share_a_link():
    """Packets alternate from 1,080 on: of 16, the 15th is the first message's last, the 16th the other's."""
    tree = machine(FAST, FAST, SLOW)
    assert ends(tree, (0, 0, 2, 8), (0, 1, 2, 8)) == [1080 + 15 * 804 + 3005, 1080 + 16 * 804 + 3005]


def test_a_gpu_sends_its_messages_in_turn():
    """One packet of the first message, that of the second, then the first's other: 2 and 3 x 804.

    Then 1,000 + 80 + 1,000 there and 1,000 + 5 + 1,000 back.
    """
    assert ends(machine(SLOW, FAST, FAST), (0, 0, 1, 2), (0, 0, 2, 1)) == [3 * 804 + 4085, 2 * 804 + 4085]


def test_acknowledgements_wait_behind_data_in_a_switch():
    """The acknowledgement is in the switch at 3,608 + 1,005 = 4,613.

    On its link packets of another sender pass, the fourth until 1,804 + 4 x 804 = 5,020; so it is back at
    5,020 + 5 + 1,000. Without them at 5,618.
    """
    assert ends(machine(SLOW, SLOW, SLOW), (0, 0, 1, 1), (0, 2, 0, 8))[0] == 6025


def test_acknowledgements_go_before_data_at_the_gpu_that_sends_them():
    """GPU 1 sends 16 packets to GPU 2 from 0 on; at 3,608 its fifth is on the way, until 4,020.

    Then the acknowledgement goes: 4,020 + 2,010, and not after the window of seven.
    """
    assert ends(machine(SLOW, SLOW, SLOW), (0, 0, 1, 1), (0, 1, 2, 16))[0] == 4020 + 2010


@pytest.mark.parametrize(("machines", "links"), [([0, 0], 2), ([0, 1], 4), ([0, 2], 6)])
def test_a_path_leads_through_the_least_switches(machines, links):
    """Machine; rack; core: every tier adds a link up and one down."""
    tree = Tree(machines, [0, 0, 1], [SLOW] * 2, [SLOW] * 3, [SLOW] * 2)
    assert len(tree.path(0, 1, 0, 0)) == links
    one_way = 804 + 1000 + 5 + 1000
    assert ends(tree, (0, 0, 1, 1)) == [links * one_way]
