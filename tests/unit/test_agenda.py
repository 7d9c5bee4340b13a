"""Order of the entries that are due at one instant."""

from artist.engine.agenda import ARRIVAL, FINISH, TIMER, Agenda


def test_arrivals_come_between_finishes_and_the_timer() -> None:
    """Arrivals are no entries of the heap: at 5 job 7 finishes, job 0 arrives, then the timer is due."""
    agenda = Agenda([5, 6])
    agenda.schedule(5, TIMER)
    agenda.schedule(5, FINISH, 7)
    assert list(agenda.due(5)) == [(FINISH, 7), (ARRIVAL, 0), (TIMER, 0)]
    assert agenda.next_time() == 6
