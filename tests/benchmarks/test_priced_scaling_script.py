"""The plot of what is left of Lyra's gain: ratios of mean JCT by how workers scale."""

from pathlib import Path

import pandas as pd
import priced_scaling
import pytest
from priced_scaling import FABRICS, LINEAR, LOSSY

from artist.results.run import Run

LINES = {"model": {"_target_": "netmodels.zero.ZeroModel"}}
PRICED = {"model": {"_target_": "netmodels.analytical.AnalyticalModel"}}


def run(
    at: Path,
    policy: str,
    seed: int,
    jct_s: list[float | None],
    loss: float = 0.0,
    fabric: str = "",
    elastic: float | None = None,
) -> Run:
    """Return a run of two jobs; on a fabric if there is one."""
    folder = at / f"{policy}-{seed}-{loss}-{fabric}-{elastic}"
    folder.mkdir()
    pd.DataFrame({"jct_s": pd.array(jct_s, dtype="Float64")}).to_parquet(folder / "jobs.parquet")
    config = {
        "network": PRICED if fabric else LINES,
        "topology": {"name": fabric or "v100_t4_pools"},
        "performance": {"scaling_loss": loss},
        "workload": {"elastic": elastic, "heterogeneous": 0, "fungible": 0.21},
    }
    return Run(folder, {"seed": seed, "policy": policy}, config)


def test_gains_are_taken_seed_by_seed_on_the_same_fabric(tmp_path: Path) -> None:
    """Linear: (40 + 20) / (20 + 10) = 2 and 30 / 10 = 3, mean 2.5; at 0.8 a worker 60 / 40 = 1.5.

    The last is against the same FIFO. Priced on the cloud 80 / 80 = 1 against the FIFO there.
    """
    runs = [
        run(tmp_path, "lyra_fifo", 1, [40, 20]),
        run(tmp_path, "lyra_fifo", 2, [15, 15]),
        run(tmp_path, "lyra_fifo", 1, [40, 40], fabric="v100_t4_cloud"),
        run(tmp_path, "lyra", 1, [20, 10]),
        run(tmp_path, "lyra", 2, [5, 5]),
        run(tmp_path, "lyra", 1, [20, 20], loss=0.2),
        run(tmp_path, "lyra", 1, [40, 40], fabric="v100_t4_cloud"),
    ]
    found = priced_scaling.gains(runs)[("basic", "lyra")]
    cloud = FABRICS["v100_t4_cloud"]
    assert {at: each.mean for at, each in found.items()} == {LINEAR: 2.5, LOSSY: 1.5, cloud: 1.0}


def test_fifo_of_the_basic_scenario_is_the_baseline_of_all(tmp_path: Path) -> None:
    """60 / 20 = 3 in Basic and 60 / 10 = 6 in Ideal, whose own FIFO (40) does not count."""
    runs = [
        run(tmp_path, "lyra_fifo", 1, [40, 20]),
        run(tmp_path, "lyra", 1, [10, 10]),
        run(tmp_path, "lyra", 1, [5, 5], elastic=1),
        run(tmp_path, "lyra_fifo", 1, [20, 20], elastic=1),
    ]
    found = priced_scaling.gains(runs)
    assert [found[row, "lyra"][LINEAR].mean for row in ("basic", "ideal")] == [3.0, 6.0]


def test_a_run_whose_jobs_have_not_all_finished_says_nothing(tmp_path: Path) -> None:
    """A mean over those that have would favour what starves the others."""
    runs = [run(tmp_path, "lyra_fifo", 1, [40, 20]), run(tmp_path, "lyra", 1, [20, None])]
    assert priced_scaling.gains(runs)[("basic", "lyra")][LINEAR].mean is None


def test_the_plot_is_drawn_and_other_policies_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row a policy of the plot; what was not run is a gap."""
    runs = [run(tmp_path, each, 1, [4, 2]) for each in ("lyra_fifo", "lyra", "lyra_no_loans", "lyra_random")]
    found = priced_scaling.gains(runs)
    assert [policy for _, policy in found] == ["lyra", "lyra_no_loans"]
    priced_scaling.draw(found, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 0
