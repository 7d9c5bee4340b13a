"""Jobs by GPU, and the groups that they form."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from artist.policies.antman.gpu_slots import GpuSlots
from artist.testing.tiny import on, tiny_cluster

STEPS = st.lists(
    st.tuples(st.sampled_from(("put", "promote", "remove")), st.booleans(), st.integers(0, 2**16)),
    max_size=40,
)


def start(slots, job, pick, guaranteed):
    """Start a job on some free places of its kind, if there are any."""
    taken = slots.owned if guaranteed else slots.visited
    room = (~taken).sum(axis=1).tolist()
    gpus = [min(r, (pick >> 2 * m) % 3) for m, r in enumerate(room)]
    if sum(gpus):
        held = on(*((m, g) for m, g in enumerate(gpus) if g))
        slots.put(job, held, taken.astype(np.int64), guaranteed=guaranteed)


@given(STEPS)
def test_groups_are_the_jobs_that_share_gpus(steps):
    """Whatever starts, ends and is promoted, on three machines of three GPUs.

    A group has as many GPUs as the places of its members cover, at most one of them opportunistic and one
    guaranteed on each; a job that shares with nobody has no group. What `changes` does not mention is so.
    """
    slots, held = GpuSlots(tiny_cluster(3, 3)), {}
    for job, (what, guaranteed, pick) in enumerate(steps):
        running = sorted(j for j in range(job) if j in slots)
        if what == "put":
            start(slots, job, pick, guaranteed)
        elif running and what == "remove":
            gone = running[pick % len(running)]
            slots.remove(gone)
            held.pop(gone, None)
        elif running:
            other = running[pick % len(running)]
            alone = not slots.owns(other) and not slots.owned[slots.guest == other].any()
            assert slots.promote(other) == alone
        held |= slots.changes()
    owner, guest = slots.owner, slots.guest
    assert sorted(held) == sorted({*owner.ravel().tolist(), *guest.ravel().tolist()} - {-1})
    for job, allocation in held.items():
        mine = guest[owner == job] if slots.owns(job) else owner[guest == job]
        others = set(mine.tolist()) - {-1}
        assert (allocation.group is not None) == bool(others)
        assert all(held[other].group == allocation.group for other in others)
        if allocation.group is not None:
            assert allocation.opportunistic != slots.owns(job)
            members = [j for j in held if held[j].group == allocation.group]
            covered = np.isin(owner, members) | np.isin(guest, members)
            assert dict(allocation.group.gpus) == {m: int(n) for m, n in enumerate(covered.sum(axis=1)) if n}
