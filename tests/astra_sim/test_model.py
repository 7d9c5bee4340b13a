"""Questions about placements, and the handling of placements that a back end cannot express."""

from dataclasses import replace

import pytest

from netmodels.api import Dimension, Layer, Profile, shape_of
from netmodels.collectives.dimensions import views_of
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import AnalyticalModel, iteration_in


def exposed(model, profile, shape, fabric):
    return model.iteration(profile, shape, fabric, fabric.system).exposed_ns


def test_a_regular_placement_is_asked_as_it_is(astra, toy, switches):
    """The fake exposes 1000 ns a dimension: one in a machine, two over machines, three over racks."""
    model = astra()
    two = [(0, "box", 2)]
    assert exposed(model, toy, shape_of(two), switches) == 1000
    assert exposed(model, toy, shape_of(two * 2), switches) == 2000
    wide = shape_of([*two * 2, *[(1, "box", 2)] * 2])
    assert exposed(model, toy, wide, switches) == 3000
    assert not model.carries(wide, switches)


@pytest.mark.parametrize("alone", [True, False])
def test_nothing_to_send_needs_no_program(astra, toy, switches, monkeypatch, alone):
    """One GPU, or a model without gradients: compute alone."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    silent = Profile("silent", (Layer("all", 5, 0, 5, 0),))
    shape = shape_of([(0, "box", 1 if alone else 2)])
    answer = astra().iteration(toy if alone else silent, shape, switches, switches.system)
    assert (answer.exposed_ns, answer.comm_ns) == (0, 0)


ONE_LAYER = Profile("one layer", (Layer("all", 500, 0, 500, 4_000_000),))
"""All of its communication is exposed: there is nothing left to compute."""


def test_an_irregular_placement_is_stretched_as_its_neighbour(astra, switches, monkeypatch):
    """3 + 1 is asked as 2 + 2: the fake communicates 4 ms there, the analytical model A, and B for 3 + 1."""
    monkeypatch.setenv("FAKE_NS", "1000000")
    model, ours = astra(), AnalyticalModel()
    even, odd = (shape_of([(0, "box", a), (0, "box", b)]) for a, b in ((2, 2), (3, 1)))
    a, b = (exposed(ours, ONE_LAYER, shape, switches) for shape in (even, odd))
    assert exposed(model, ONE_LAYER, odd, switches) == pytest.approx(b * 4_000_000 / a, rel=1e-5)
    assert model.carries(odd, switches)
    assert not model.carries(even, switches)


@pytest.mark.parametrize("backend", ["unaware", "aware"])
def test_less_compute_never_hides_more(astra, toy, switches, monkeypatch, backend):
    """A neighbour that hides its communication is no evidence for this placement."""
    monkeypatch.setenv("FAKE_NS", "100000")
    shape = shape_of([(0, "box", 3), (0, "box", 1)])
    model = astra(backend)
    results = [exposed(model, toy.scaled(1 / factor), shape, switches) for factor in (1, 2, 4, 8, 16)]
    assert results == sorted(results)


def test_version_1_takes_the_analytical_answer_for_irregular_placements(astra, toy, switches, monkeypatch):
    """So the analytical answer stands for an irregular placement, and the program is not run."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    system = replace(switches.system, collective_queue="per_dimension", local_memory_gb_s=0)
    shape = shape_of([(0, "box", 3), (0, "box", 1)])
    answer = astra("version1").iteration(toy, shape, switches, system)
    assert answer.exposed_ns == AnalyticalModel().iteration(toy, shape, switches, system).exposed_ns


def test_the_program_is_asked_about_buckets(astra, toy, switches, tmp_path):
    """A bucket of 1000 MiB holds all gradients of the toy: the same files as if layer 0 had them all."""
    system = replace(switches.system, bucket_cap_mb=1000)
    first, *others = toy.layers
    joined = [
        replace(first, gradient_bytes=toy.parameter_bytes),
        *(replace(o, gradient_bytes=0) for o in others),
    ]
    files = []
    for place, (profile, asked) in enumerate(
        ((toy, system), (Profile("toy", tuple(joined)), switches.system))
    ):
        scratch = tmp_path / str(place)
        model = astra(keep=True, scratch=str(scratch))
        model.iteration(profile, shape_of([(0, "box", 2)]), switches, asked)
        files.append([path.read_bytes() for path in sorted(scratch.glob("*/iteration.*.et"))])
    assert len(files[0]) == 2
    assert files[0] == files[1]


def test_fractions_are_rounded_up_for_the_neighbour(astra, toy, switches, tmp_path):
    """3 + 2 | 2: 7 / 3 GPUs a machine, 3 / 2 machines a rack, two racks: asked as 3, 2 and 2."""
    shape = shape_of([(0, "box", 3), (0, "box", 2), (1, "box", 2)])
    astra(keep=True).iteration(toy, shape, switches, switches.system)
    (folder,) = (tmp_path / "scratch").iterdir()
    assert "npus_count: [ 3, 2, 2 ]" in (folder / "network.yml").read_text()
    assert len(list(folder.glob("iteration.*.et"))) == 12


def test_one_neighbour_is_asked_once(astra, toy, switches, monkeypatch, tmp_path):
    """3 + 1 and 1 + 3 are one shape, 2 + 2 is its neighbour: one run for all."""
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    model = astra()
    for pair in ((3, 1), (2, 2), (1, 3)):
        model.iteration(toy, shape_of([(0, "box", gpus) for gpus in pair]), switches, switches.system)
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_the_aware_back_end_knows_one_dimension(astra, switches, tmp_path, monkeypatch):
    """2 + 2 is asked as four on the rack's switch: 2 ms there, the analytical model A, and B for 2 + 2."""
    monkeypatch.setenv("FAKE_NS", "1000000")
    model, shape = astra("aware", keep=True), shape_of([(0, "box", 2), (0, "box", 2)])
    (view,) = views_of(shape, switches)
    flat = replace(view, levels=(replace(view.levels[1], members=4),))
    a, b = (iteration_in(ONE_LAYER, value, switches.system).exposed_ns for value in (flat, view))
    assert exposed(model, ONE_LAYER, shape, switches) == pytest.approx(b * 2_000_000 / a, rel=1e-5)
    (folder,) = (tmp_path / "scratch").iterdir()
    assert "npus_count: [ 4 ]" in (folder / "network.yml").read_text()


def test_two_on_a_ring_are_a_mesh_for_the_aware_back_end(astra, toy, switches, tmp_path):
    """It stops at a second link between the same two."""
    ring = replace(switches, machine=(Dimension("ring", 500.0, 50.0),))
    astra("aware", keep=True).iteration(toy, shape_of([(0, "box", 2)]), ring, ring.system)
    (folder,) = (tmp_path / "scratch").iterdir()
    assert "FullyConnected" in (folder / "network.yml").read_text()


def test_the_slowest_machine_type_counts(astra, toy, switches):
    """Old boxes see two dimensions in a machine, new ones one: 2000 ns and 1000, so 2000."""
    inner = (Dimension("switch", 500.0, 50.0, size=2), Dimension("switch", 900.0, 20.0))
    old = (inner, switches.rack, switches.network)
    mixed = replace(switches, by_machine_type={"old": old})
    assert exposed(astra(), toy, shape_of([(0, "new", 4)]), mixed) == 1000
    assert exposed(astra(), toy, shape_of([(0, "old", 4)]), mixed) == 2000
    assert exposed(astra(), toy, shape_of([(0, "old", 4), (0, "new", 4)]), mixed) == 3000


def test_settings_of_the_program_are_part_of_its_version(astra):
    """Another packet size is another answer, so another entry in every cache."""
    versions = {
        astra("ns3").version,
        astra("ns3", ns3={"PACKET_PAYLOAD_SIZE": 1000}).version,
        astra("ns3", arguments=["--injection-scale=2"]).version,
        astra("unaware").version,
    }
    assert len(versions) == 4


def test_htsim_is_asked_with_its_flags_and_a_warning(astra, toy, switches, caplog):
    """Its arguments come last; its answers were not usable when tried."""
    arguments = ["--htsim_opts=-topo"]
    assert exposed(astra("htsim", arguments=arguments), toy, shape_of([(0, "box", 2)]), switches) == 1000
    assert "not usable" in caplog.text


def test_a_start_up_cost_cannot_be_asked(astra, toy, switches):
    """The programs have no word for it; profiles with scaled compute are asked as they are."""
    with pytest.raises(InputError, match="scale_compute"):
        exposed(astra(), toy.with_launch(5), shape_of([(0, "box", 2)]), switches)


def test_each_machine_type_is_asked_about_its_own_links(astra, toy, switches, tmp_path):
    """Types a and b differ inside a machine only, c is on slow ports: with one GPU each, a and b look alike.

    The program is asked twice, once about the slow ports.
    """
    slow = (Dimension("switch", 9000.0, 0.125),)
    other = (Dimension("switch", 1.0, 1.0),)
    types = {
        "b": (other, switches.rack, switches.network),
        "c": (switches.machine, slow, switches.network),
    }
    fabric = replace(switches, by_machine_type=types)
    shape = shape_of([(0, "a", 1), (0, "b", 1), (0, "c", 1)])
    astra(keep=True).iteration(toy, shape, fabric, fabric.system)
    asked = [(folder / "network.yml").read_text() for folder in (tmp_path / "scratch").iterdir()]
    assert sorted("latency: [ 9000.0 ]" in text for text in asked) == [False, True]


def test_update_delays_are_refused(astra, switches):
    """ASTRA-sim 2.x has no word for them."""
    late = Profile("late", (Layer("all", 500, 0, 500, 4_000_000, update_ns=7),))
    with pytest.raises(InputError, match="update delays"):
        exposed(astra(), late, shape_of([(0, "box", 2)]), switches)
