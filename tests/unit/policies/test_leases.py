"""Leases by when they end."""

from artist.policies.dally.leases import Leases


def test_the_next_lease_to_end_is_found_across_the_cycle():
    """Leases of 10, begun at 3 and 8, end at 13, 18, 23, ..."""
    leases = Leases(10)
    assert leases.next_end(0) is None
    leases.begin(1, 3)
    assert leases.next_end(3) == 13
    leases.begin(2, 8)
    assert [leases.next_end(now) for now in (8, 13, 17, 18)] == [13, 18, 18, 23]
    assert [leases.ending(now) for now in (13, 14, 18)] == [(1,), (), (2,)]


def test_a_lease_begun_again_ends_once():
    """The job of 3 begins again at 5: its lease ends at 15, and none at 13; dropped, none at all."""
    leases = Leases(10)
    leases.begin(1, 3)
    leases.begin(1, 5)
    assert (leases.ending(13), leases.ending(15), leases.next_end(5)) == ((), (1,), 15)
    leases.drop(1)
    leases.drop(1)
    assert leases.next_end(5) is None
