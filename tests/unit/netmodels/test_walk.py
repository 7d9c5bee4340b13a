"""One iteration of a two-layer model, by hand: every all-reduce takes what we say."""

from netmodels.api import Layer, Profile, Span, SystemSettings
from netmodels.walk import Passage, walk

# forward 10 + 20; b: weight 30, input 5; a: weight 15. Issued at 30 + 30 = 60 and at 60 + 5 + 15 = 80.
TWO = Profile("two", (Layer("a", 10, 7, 15, 100), Layer("b", 20, 5, 30, 200)))
ONE_QUEUE = SystemSettings()
BY_ISSUE = SystemSettings(collective_queue="per_dimension")
BY_LAYER = SystemSettings(collective_queue="per_dimension", queue_order="lowest_layer_first")


def machine(ns):
    """Return a passage through the machine's dimension."""
    return Passage(0, "machine", ns, 1)


def rack(ns):
    """Return a passage through the rack's dimension."""
    return Passage(1, "rack", ns, 1)


def test_communication_that_fits_is_hidden():
    """Hidden: 60..75 for b, before compute ends at 80. Exposed: 80..85 for a, 5 ns."""
    answer = walk(TWO, lambda size: (machine(15 if size == 200 else 5),), ONE_QUEUE)
    assert (answer.compute_ns, answer.comm_ns, answer.exposed_ns) == (80, 20, 5)
    assert answer.spans == (Span(60, 75, "machine", 1), Span(80, 85, "machine", 1))
    assert answer.tiers == (("machine", 20),)


def test_one_queue_serves_whole_collectives():
    """While b has machine 60..70, rack 70..100, a waits: machine 100..110, rack 110..140."""
    answer = walk(TWO, lambda size: (machine(10), rack(30)), ONE_QUEUE)
    assert (answer.comm_ns, answer.exposed_ns) == (80, 60)
    assert answer.tiers == (("machine", 20), ("rack", 60))


def test_a_queue_per_dimension_overlaps_them():
    """Machine 60..70, rack 70..100 for b; 80..90, 100..130 for a: 10 ns earlier than in one queue."""
    answer = walk(TWO, lambda size: (machine(10), rack(30)), BY_ISSUE)
    assert (answer.comm_ns, answer.exposed_ns) == (70, 50)
    assert answer.spans == (Span(60, 70, "machine", 1), Span(70, 130, "rack", 2), Span(80, 90, "machine", 1))


def test_the_lowest_layer_goes_first():
    """Machine busy with c 40..100 when b (70) and a (90) come; a has the longer way, by layer it goes first.

    By issue: b 100..110, a 110..120, its rack 120..160. By layer: a 100..110, its rack 110..150, b 110..120.
    """
    three = Profile(
        "three", (*TWO.layers, Layer("c", 0, 0, 10, 300))
    )  # c issued at 30 + 10 = 40, then b at 70, a at 90
    routes = {300: (machine(60),), 200: (machine(10),), 100: (machine(10), rack(40))}
    assert walk(three, routes.__getitem__, BY_ISSUE).total_ns == 100 + 10 + 10 + 40
    assert walk(three, routes.__getitem__, BY_LAYER).total_ns == 100 + 10 + 40


def test_what_arrives_at_the_instant_a_server_is_free_takes_part():
    """Machine free of c at 90, just as a is issued: a, the lower layer, before b, waiting since 70."""
    three = Profile("three", (*TWO.layers, Layer("c", 0, 0, 10, 300)))
    routes = {300: (machine(50),), 200: (machine(10),), 100: (machine(10), rack(40))}
    assert walk(three, routes.__getitem__, BY_LAYER).total_ns == 90 + 10 + 40


def test_layers_without_gradient_send_nothing():
    """Only b sends, 60..75, hidden: nothing exposed."""
    silent = Profile("silent", (Layer("a", 10, 7, 15, 0), TWO.layers[1]))
    answer = walk(silent, lambda size: (machine(15),), ONE_QUEUE)
    assert (answer.comm_ns, answer.exposed_ns) == (15, 0)


def test_update_delays_hold_the_end_and_no_server():
    """End of b 75, updated at 75 + 40 = 115, after the end of a 85: exposed 115 - 80."""
    slow = Profile("slow", (TWO.layers[0], Layer("b", 20, 5, 30, 200, update_ns=40)))
    answer = walk(slow, lambda size: (machine(15 if size == 200 else 5),), ONE_QUEUE)
    assert (answer.comm_ns, answer.exposed_ns) == (20, 35)
