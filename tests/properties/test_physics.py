"""Physics by setting, as `scripts/validation/physics.py` asks for it: random placements and fabrics."""

from random import Random

import physics
import pytest

from netmodels.models.analytical import AnalyticalModel

HOLD = {  # properties in which a setting is never off
    "flat_ring, ideal": physics.PROPERTIES,
    "nccl": physics.PROPERTIES,
    "flat_ring, queueing": ("bandwidth", "bytes"),
    "tree, ideal": ("bandwidth", "bytes", "rack"),
    "hierarchical, ideal": ("bandwidth", "bytes"),
}
EXCEPT = {("machine", "nccl", "all_reduce")}  # NCCL's chain through a machine of more GPUs has more steps


def test_settings_keep_the_physics_that_their_page_promises():
    """420 questions of 21 cells, docs/network_model.md: wider, fewer bytes or nearer is not dearer."""
    found = physics.measured(420, 7, list(HOLD))
    off = {
        cell: max(those)
        for cell, those in found.items()
        if cell[0] in HOLD[cell[1]] and cell not in EXCEPT and max(those).factor > 1 + physics.TOLERANCE
    }
    assert off == {}
    assert all(len(those) > 2 for those in found.values())


@pytest.mark.parametrize(("prop", "less", "more"), [("bytes", 2.0, 1.0), ("rack", 1.0, 2.0)])
def test_a_violation_is_found(prop, less, more, monkeypatch):
    """Twice the time for fewer bytes, or in one rack: a factor of 2; nothing the other way round."""
    draw, model = Random(1), AnalyticalModel()
    while True:
        asked = physics.random_question(draw, "nccl", "all_reduce")
        changes = dict(physics.changes(draw, asked))
        if prop in changes and changes[prop].allowed == 1.0:
            break
    times = {id(asked): less * 1e9, id(changes[prop].question): more * 1e9}
    monkeypatch.setattr(physics.Question, "time_ns", lambda self, model: times[id(self)])
    assert physics.judge(asked, changes[prop], model).factor == pytest.approx(2.0)
    changed = changes[prop]._replace(dearer=not changes[prop].dearer)
    assert physics.judge(asked, changed, model).factor == pytest.approx(0.5)


def test_a_shared_uplink_is_what_the_file_states():
    """`cloud_ethernet` has ports of 25 Gb/s and uplinks of 50; 64 GPUs exchange, in racks of 2 or 4 machines.

    In racks of two a port passes 8 x (8/64 nearby + 48/64 beyond) / 25 = 0.28, an uplink 16 x 48/64 / 50 =
    0.24; in racks of four an uplink passes 32 x 32/64 / 50 = 0.32. The bytes of a ring pass a port anyhow.
    """
    (cloud,) = (one for one in physics.shipped() if one.name == "cloud_ethernet")
    machines = [(cloud.default_machine_type, 8)]
    two, four = (
        physics.Question(cloud, "all_to_all", "flat_ring, ideal", [machines * count] * (8 // count), 10**6)
        for count in (2, 4)
    )
    assert physics.stated(two, four) == pytest.approx(0.32 / 0.28)
    assert physics.stated(four, two) == 1.0
