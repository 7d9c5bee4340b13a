"""One iteration of a two-layer model, by hand: every all-reduce takes what we say."""

from netmodels.api import Layer, Profile, Span, SystemSettings
from netmodels.collectives.timeline import ChunkedCollective, Transfer, alone, iteration_timeline

# forward 10 + 20; b: weight 30, input 5; a: weight 15. Issued at 30 + 30 = 60 and at 60 + 5 + 15 = 80.
TWO = Profile("two", (Layer("a", 10, 7, 15, 100), Layer("b", 20, 5, 30, 200)))
ONE_QUEUE = SystemSettings()
BY_ISSUE = SystemSettings(collective_queue="per_dimension")
BY_LAYER = SystemSettings(collective_queue="per_dimension", queue_order="lowest_layer_first")


def collectives(*transfers, **by_size):
    """Return the collectives of sizes 100, 200 and 300: the same transfers for all, or by name."""
    return {size: ChunkedCollective(by_size.get(f"s{size}", transfers)) for size in (100, 200, 300)}


def machine(ns):
    """Return a transfer through the machine's dimension."""
    return Transfer(0, "machine", ns, 1)


def rack(ns):
    """Return a transfer through the rack's dimension."""
    return Transfer(1, "rack", ns, 1)


def test_communication_that_fits_is_hidden():
    """Hidden: 60..75 for b, before compute ends at 80. Exposed: 80..85 for a, 5 ns."""
    answer = iteration_timeline(TWO, collectives(machine(5), s200=(machine(15),)), ONE_QUEUE)
    assert (answer.compute_ns, answer.comm_ns, answer.exposed_ns) == (80, 20, 5)
    assert answer.spans == (Span(60, 75, "machine", 1), Span(80, 85, "machine", 1))
    assert answer.tiers == (("machine", 20),)


def test_one_queue_serves_whole_collectives():
    """While b has machine 60..70, rack 70..100, a waits: machine 100..110, rack 110..140."""
    answer = iteration_timeline(TWO, collectives(machine(10), rack(30)), ONE_QUEUE)
    assert (answer.comm_ns, answer.exposed_ns) == (80, 60)
    assert answer.tiers == (("machine", 20), ("rack", 60))


def test_a_queue_per_dimension_overlaps_them():
    """Machine 60..70, rack 70..100 for b; 80..90, 100..130 for a: 10 ns earlier than in one queue."""
    answer = iteration_timeline(TWO, collectives(machine(10), rack(30)), BY_ISSUE)
    assert (answer.comm_ns, answer.exposed_ns) == (70, 50)
    assert answer.spans == (Span(60, 70, "machine", 1), Span(70, 130, "rack", 2), Span(80, 90, "machine", 1))


def test_the_lowest_layer_goes_first():
    """Machine busy with c 40..100 when b (70) and a (90) come; a has the longer way, by layer it goes first.

    By issue: b 100..110, a 110..120, its rack 120..160. By layer: a 100..110, its rack 110..150, b 110..120.
    """
    three = Profile(
        "three", (*TWO.layers, Layer("c", 0, 0, 10, 300))
    )  # c issued at 30 + 10 = 40, then b at 70, a at 90
    routes = collectives(s300=(machine(60),), s200=(machine(10),), s100=(machine(10), rack(40)))
    assert iteration_timeline(three, routes, BY_ISSUE).total_ns == 100 + 10 + 10 + 40
    assert iteration_timeline(three, routes, BY_LAYER).total_ns == 100 + 10 + 40


def test_arrivals_at_the_instant_a_server_is_freed_take_part():
    """Machine free of c at 90, just as a is issued: a, the lower layer, before b, waiting since 70."""
    three = Profile("three", (*TWO.layers, Layer("c", 0, 0, 10, 300)))
    routes = collectives(s300=(machine(50),), s200=(machine(10),), s100=(machine(10), rack(40)))
    assert iteration_timeline(three, routes, BY_LAYER).total_ns == 90 + 10 + 40


def test_layers_without_gradient_send_nothing():
    """Only b sends, 60..75, hidden: nothing exposed."""
    silent = Profile("silent", (Layer("a", 10, 7, 15, 0), TWO.layers[1]))
    answer = iteration_timeline(silent, collectives(machine(15)), ONE_QUEUE)
    assert (answer.comm_ns, answer.exposed_ns) == (15, 0)


def test_update_delays_hold_the_end_and_no_server():
    """End of b 75, updated at 75 + 40 = 115, after the end of a 85: exposed 115 - 80."""
    slow = Profile("slow", (TWO.layers[0], Layer("b", 20, 5, 30, 200, update_ns=40)))
    answer = iteration_timeline(slow, collectives(machine(5), s200=(machine(15),)), ONE_QUEUE)
    assert (answer.comm_ns, answer.exposed_ns) == (20, 35)


def starts(ways, chunks, in_flight=1):
    """Return (start, server) of the transfers of a collective alone, and its end."""
    served, end_ns = alone(ChunkedCollective(tuple(ways), chunks), SystemSettings(chunks_in_flight=in_flight))
    return sorted((start_ns, transfer.server) for start_ns, transfer in served), end_ns


def test_chunks_follow_each_other():
    """Two chunks, machine 10 and rack 30 each: the second waits for the rack from 20 to 40, ends at 70."""
    assert starts([machine(10), rack(30)], 2) == ([(0, 0), (10, 0), (10, 1), (40, 1)], 70)


def test_a_chunk_that_comes_back_queues_behind_those_that_came_first():
    """Machine 10, rack 10, machine 10, three chunks: out at 0, 10, 20; back at 30, 40, 50."""
    there_and_back = [machine(10), rack(10), machine(10)]
    out = [(0, 0), (10, 0), (10, 1), (20, 0), (20, 1), (30, 0), (30, 1), (40, 0), (50, 0)]
    assert starts(there_and_back, 3) == (out, 60)


def test_chunks_in_flight_share_nothing():
    """Five chunks of 10 ns, two at a time: 3 rounds, as ASTRA-sim's congestion-unaware back end has it."""
    assert starts([machine(10)], 5, in_flight=2)[1] == 30


def test_one_queue_takes_the_next_collective_when_all_chunks_are_through():
    """Layer b issued at 60, two chunks over machine 10 and rack 30: until 130; then a: until 200."""
    pair = dict.fromkeys((100, 200), ChunkedCollective((machine(10), rack(30)), 2))
    assert iteration_timeline(TWO, pair, ONE_QUEUE).total_ns == 60 + 70 + 70


def test_a_queue_per_dimension_takes_chunks_as_they_come():
    """The chunks of b have the rack 70..100..130; a's, issued at 80, follow at once: 130..160..190."""
    pair = dict.fromkeys((100, 200), ChunkedCollective((machine(10), rack(30)), 2))
    assert iteration_timeline(TWO, pair, BY_ISSUE).total_ns == 190
