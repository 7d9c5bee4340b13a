"""The model checks of CODA: what the script finds is what the pages and the paper say."""

import re
from pathlib import Path

import cpu_side
import pytest

from artist.run.build import Simulation

ROOT = Path(__file__).parents[2]
ROW = re.compile(rf"^\| (?:{'|'.join(cpu_side.STEPS)}) \|.*\|$", re.MULTILINE)


@pytest.fixture(scope="module")
def run() -> Simulation:
    """Return the machines and the table that the script asks."""
    return cpu_side.simulation()


def test_the_allocator_takes_the_steps_of_table_2(run: Simulation) -> None:
    """From starts of 3, 5 and 5, and 3 for Transformer, it ends at the best number of each model."""
    results = {model: cpu_side.core_search(run, model) for model in cpu_side.STEPS}
    assert {model: steps for model, (_, _, steps) in results.items()} == cpu_side.STEPS
    ends = {model: end for model, (_, end, _) in results.items()}
    assert ends == {model: cpu_side.best_cpus(run, model, "1N1G") for model in cpu_side.STEPS}


def test_the_page_shows_the_output_of_the_script(run: Simulation) -> None:
    """All rows of the models and of the network, as docs/cpus_and_memory.md has them."""
    rows = [*cpu_side.models_table(run), *cpu_side.network_table(run)]
    told = ROW.findall((ROOT / "docs" / "cpus_and_memory.md").read_text(encoding="utf-8"))
    shown = [row for row in told if row in rows]
    assert len(shown) == 2 * len(cpu_side.STEPS)


def test_two_machines_cost_the_exposed_communication_of_the_network_model(run: Simulation) -> None:
    """Transformer: 1 s of compute, 0.051 s exposed on PCIe, 0.847 on 10 Gb/s: 1.847 / 1.053 = 1.755 as long.

    8 CPUs where 7.2 are needed cost 0.2 % of the compute on one machine; on two, 2 on each are enough. GPUs
    that wait so long would need 1.8 x 2 / 1.755 = 2.1 CPUs.
    """
    near = cpu_side.parts(run, cpu_side.at_best(run, "Transformer", "1N4G"))[0]
    far = cpu_side.parts(run, cpu_side.at_best(run, "Transformer", "2N4G"))[0]
    cost = cpu_side.apart(run, "Transformer", "2N4G")
    assert cost.longer == pytest.approx(sum(far) / sum(near) - 1)
    assert (near.exposed_ns / 1e9, far.exposed_ns / 1e9) == pytest.approx((0.0505, 0.8471), abs=1e-4)
    assert cost.longer == pytest.approx(0.755, abs=1e-3)
    assert cost.cpus == pytest.approx(1.8 * 2 / 1.755, rel=1e-3)


def test_the_plot_is_drawn(run: Simulation, tmp_path: Path) -> None:
    """In one file."""
    cpu_side.draw(run, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 0
