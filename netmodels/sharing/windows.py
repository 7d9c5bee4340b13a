"""Rates of jobs whose senders keep fixed windows in flight.

A flow sends its window once a loop: its unloaded round trip and the waits in the queues on its way. So its
rate is window / (round trip + waits). A link that is offered more than it carries queues, until the waits
have slowed its flows to its capacity; a link that is not full has no queue. Where one link is full, shares
follow the windows. For jobs with one flow on each link, these rates maximise the sum of window x log(rate) -
round trip x rate within the capacities, so there is one set of them (Mo and Walrand, Fair end-to-end
window-based congestion control, IEEE/ACM Transactions on Networking 8(5), 2000).

Assumes that rates have settled, that data is a fluid, that queues never overflow, and that data in the
other direction does not delay acknowledgements (where it does, include that in the round trip). Nothing is
fitted. In ASTRA-sim's ns-3, where an uplink of 100 Gb/s is full, a flow with a port of 25 Gb/s beside two
with 100 gets 13.8 Gb/s and they 41.3; this says 12.7 and 43.3, with windows in whole packets; max-min says
25 and 37.3.

A closed form, for such questions: no setting leads here. With `transport=windows` jobs that share links are
followed packet by packet (`netmodels.sharing.packet_phases`); where they cannot be, max-min shares are no
worse over all kinds of cases (netmodels/README.md).
"""

import numpy as np

from netmodels.ring_steps import Floats
from netmodels.sharing.max_min import Incidence

_STEPS = 200
_OFF = 1e-12
"""What rates and spare capacity of a link may differ from its capacity by, as a share of it."""
_REST = 1e-14
"""What queue x spare capacity may be, as a share of all windows on the link; 0 in the solution."""


def by_windows(incidence: Incidence, capacities: Floats, windows: Floats, round_trips_ns: Floats) -> Floats:
    """Return the rate of every job, bytes per ns of each of its flows.

    Takes some 15 to 30 steps, each with a dense matrix of the links that are offered too much: meant for
    jobs that share links, not for a whole cluster at once.

    Parameters
    ----------
    incidence
        Jobs and the links that they cross. All flows of a job have equal rates and wait in all its queues.
    capacities
        Of all links, bytes per ns, shape (n_links,): 0 or more, infinite for a link that limits no job.
    windows
        What a flow of each job has in flight at most, bytes, shape (n_jobs,).
    round_trips_ns
        Of each job without queues, above 0, shape (n_jobs,).

    Returns
    -------
    Floats
        Shape (n_jobs,); 0 for a job that crosses a link without capacity.

    Raises
    ------
    ArithmeticError
        If the waits are not found.
    """
    capacity, job, link = capacities[incidence.used], incidence.job, incidence.link
    sent = windows.astype(np.float64)
    sent[job[(capacity == 0)[link] & (incidence.flows > 0)]] = 0
    offered = np.bincount(link, incidence.flows * (sent / round_trips_ns)[job], len(capacity))
    full = np.flatnonzero(offered > capacity)
    flows = np.zeros((incidence.n_jobs, len(capacity)))
    np.add.at(flows, (job, link), incidence.flows)
    waits_ns = _waits_ns(flows[:, full], capacity[full], sent, round_trips_ns)
    rates: Floats = sent / (round_trips_ns + (flows[:, full] > 0) @ waits_ns)
    return rates


def _waits_ns(flows: Floats, capacity: Floats, windows: Floats, round_trips_ns: Floats) -> Floats:
    """Return the wait in each link's queue, shape (n_links,), of flows of shape (n_jobs, n_links).

    An interior-point method: Newton's method brings wait x spare capacity, which is 0 in the solution, to a
    tenth of its mean at each step. It begins with waits that leave every link some capacity.
    """
    crosses = (flows > 0).astype(np.float64)
    all_windows = windows @ flows
    waits_ns = all_windows / capacity
    spare = capacity - windows / (round_trips_ns + crosses @ waits_ns) @ flows
    for _ in range(_STEPS):
        loops_ns = round_trips_ns + crosses @ waits_ns
        missing = capacity - windows / loops_ns @ flows - spare
        rest = waits_ns * spare / all_windows
        if (np.abs(missing) <= _OFF * capacity).all() and (rest <= _REST).all():
            return waits_ns
        slope = (flows * (windows / loops_ns**2)[:, None]).T @ crosses
        wanted = max(0.1 * rest.mean(), _REST / 10) * all_windows / waits_ns - spare
        more_ns = np.linalg.solve(slope + np.diag(spare / waits_ns), wanted - missing)
        more_spare = wanted - spare / waits_ns * more_ns
        step = min(_room(waits_ns, more_ns), _room(spare, more_spare))
        waits_ns, spare = waits_ns + step * more_ns, spare + step * more_spare
    raise ArithmeticError(f"no shares by windows after {_STEPS} steps")


def _room(values: Floats, steps: Floats) -> float:
    """Return the share of a step, 1 at most, that leaves all values above 0."""
    down = steps < 0
    return float((-0.995 * values[down] / steps[down]).min(initial=1))
