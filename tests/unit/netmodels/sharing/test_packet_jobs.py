"""Several jobs packet by packet: hand-worked, and drift."""

from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Wire
from netmodels.packets.rings import Layer, RingJob, together

SLOW = Wire(80, 1000)
PAIR = Tree([0, 0], [0], [SLOW] * 2, [SLOW], [SLOW])
MESSAGE_NS = 5618  # 8,000 bytes over two links and back: see test_sharing_packets.py
RACKS = Tree(
    [gpu // 4 for gpu in range(16)],
    [0, 0, 1, 1],
    [Wire(3600, 500)] * 16,
    [Wire(100, 1000)] * 4,
    [Wire(100, 2000)] * 2,
)  # the fabric of ../shared/reference/contention
FIRST, SECOND = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)  # both cross from rack to rack


def test_a_ring_of_two():
    """1,000 compute, then twice (two steps) a delay of 10 and a message of 8,000 bytes, and a delay."""
    step_ns = 10 + MESSAGE_NS
    iteration_ns = 1000 + 2 * step_ns + 10
    job = RingJob((0, 1), (Layer(1000, 16_000),), iterations=3)
    assert together([job], PAIR) == ((iteration_ns, 2 * iteration_ns, 3 * iteration_ns),)


def test_a_gather_has_half_the_steps_and_an_exchange_too():
    """All-gather: one message of the input. All-to-all: one of half of it."""
    for kind, count_bytes in (("all_gather", 8000), ("all_to_all", 16_000)):
        job = RingJob((0, 1), (Layer(0, count_bytes, kind),), iterations=1)
        assert together([job], PAIR) == ((10 + MESSAGE_NS + 10,),)


def test_collectives_run_one_at_a_time_under_the_next_layers():
    """Issued at 1,000 and 2,000: the second waits for the first, 11,266 each; computation goes on."""
    ride_ns = 2 * (10 + MESSAGE_NS) + 10
    job = RingJob((0, 1), (Layer(1000, 16_000), Layer(1000, 16_000), Layer(500, 0)), iterations=1)
    assert together([job], PAIR) == ((1000 + 2 * ride_ns,),)
    job = RingJob((0, 1), (Layer(1000, 16_000), Layer(50_000, 0)), iterations=1)
    assert together([job], PAIR) == ((51_000,),)


def test_jobs_without_a_common_link_are_as_alone():
    """Two jobs, each within its own rack."""
    jobs = [RingJob((0, 4), (Layer(0, 2**20),), 2), RingJob((8, 12), (Layer(0, 2**20),), 2)]
    assert together(jobs, RACKS) == tuple(together([job], RACKS)[0] for job in jobs)


def test_gpus_begin_in_the_order_of_their_numbers():
    """However jobs are mentioned, and wherever their rings begin; the other way round it is not the same."""
    layers = (Layer(300_000, 2**20),)
    jobs = [RingJob(FIRST, layers, 3), RingJob(SECOND, layers, 3)]
    first, second = together(jobs, RACKS)
    assert together(jobs[::-1], RACKS) == (second, first)
    assert first != second
    turned = RingJob(SECOND[5:] + SECOND[:5], layers, 3)
    assert together([jobs[0], turned], RACKS) == (first, second)


def drifting(start_ns, iterations):
    """Return ends of two jobs of equal periods (1 MiB, 0.3 ms), and those of one alone."""
    layers = (Layer(300_000, 2**20),)
    jobs = [RingJob(FIRST, layers, iterations), RingJob(SECOND, layers, iterations, start_ns)]
    return (*together(jobs, RACKS), together(jobs[:1], RACKS)[0])


def test_jobs_that_touch_drift_together():
    """Started 100 us apart: iterations end within 50 us of each other from the 6th on."""
    first, second, _ = drifting(100_000, 12)
    apart_ns = [abs(after - before) for before, after in zip(first, second, strict=True)]
    assert apart_ns[0] > 50_000
    assert max(apart_ns[5:]) < 50_000


def test_jobs_that_never_touch_are_exactly_alone():
    """Started 247 us apart, each sends while the other computes."""
    first, second, alone = drifting(247_000, 12)
    assert first == alone
    assert second == tuple(end + 247_000 for end in alone)


def test_received_messages_are_added_until_complete():
    """1,000 ns of adding a receipt. Rings of two: of an all-reduce's two receipts, the first is added.

    A reduce-scatter's only one is; an all-gather's is not.
    """
    receipts = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1}
    for kind, adds in (("all_reduce", 1), ("reduce_scatter", 1), ("all_gather", 0)):
        size = 8000 if kind == "all_gather" else 16_000
        job = RingJob((0, 1), (Layer(0, size, kind, add_ns=1000),), iterations=1)
        assert together([job], PAIR) == ((receipts[kind] * (10 + MESSAGE_NS) + 10 + adds * 1000,),)
