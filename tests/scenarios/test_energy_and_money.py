"""Energy, money and CO2 of a run, worked by hand.

Machines of 2 GPUs of types A and B: 700 W busy and 100 W idle at 2 an hour, 300 W and 50 W at 1 an hour. The
grid has 400 g of CO2 per kWh for half an hour, then 100.
"""

from pathlib import Path
from typing import Any

import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.job import JobSpec
from artist.core.rates import Intensity, Rates, Watts
from artist.data import data_path
from artist.datacenter.costs import Power, rates_of
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.errors import InputError
from artist.policies.basic.ordered import Ordered
from artist.recording.costs import CostAccounts
from artist.testing.tiny import PlainPerformance, job
from artist.units import seconds_to_ns
from artist.workload.signals import FileSignals
from netmodels.api import load_topology

TYPES = (("box", "A"), ("box", "B"))
WATTS = dict(zip(TYPES, (Watts(100, 700), Watts(50, 300)), strict=True))
PRICES = dict(zip(TYPES, (2.0, 1.0), strict=True))
GRID = Intensity([0, seconds_to_ns(1800)], [400, 100])
CLUSTER = Cluster([Machine(f"m{i}", 0, "box", 2, gpu_type) for i, (_, gpu_type) in enumerate(TYPES)])


def costs(
    jobs: list[JobSpec], rates: Rates, events: tuple[CapacityEvent, ...] = ()
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Return the summary's costs of a run under FIFO, and the columns of its jobs."""
    accounts = CostAccounts(jobs, CLUSTER, rates)
    options: dict[str, Any] = {"overheads": Overheads(), "failures": events, "observers": [accounts]}
    result = Engine(jobs, CLUSTER, Ordered(order="fifo"), PlainPerformance(), **options).run()
    accounts.close(result.end_ns)
    columns = {name: column.tolist() for name, column in accounts.job_columns(result).items()}
    entry: dict[str, Any] = dict(accounts.summary_entries(result)["costs"])
    assert entry["total"]["gpu_h"] == pytest.approx(4 * result.end_ns / 3.6e12, rel=1e-12)
    for amount in entry["total"].keys() - {"co2_kg"}:
        by_cause = sum(part[amount] for part in entry["causes"].values())
        by_type = sum(part[amount] for of in entry["types"].values() for part in of.values())
        assert entry["total"][amount] == pytest.approx(by_cause, rel=1e-12)
        assert entry["total"][amount] == pytest.approx(by_type, rel=1e-12)
    return entry, columns


def test_two_jobs_of_two_types_and_an_hour_of_idle() -> None:
    """Job a holds both A for 1 h, b both B for 0.5 h; 2 B are idle for 0.5 h.

    a: 2 x 0.7 = 1.4 kWh, 2 x 2 = 4, 0.7 x 400 + 0.7 x 100 = 350 g. b: 2 x 0.3 / 2 = 0.3 kWh, 2 x 1 / 2 = 1,
    0.3 x 400 = 120 g. Idle: 2 x 0.05 / 2 = 0.05 kWh, 1, 0.05 x 100 = 5 g.
    """
    jobs = [job("a", 2, 3600), job("b", 2, 1800)]
    entry, columns = costs(jobs, Rates(PRICES, WATTS, GRID))
    assert columns["energy_kwh"] == pytest.approx([1.4, 0.3])
    assert columns["money"] == pytest.approx([4, 1])
    assert columns["co2_kg"] == pytest.approx([0.35, 0.12])
    total = {"gpu_h": 4, "energy_kwh": 1.75, "money": 6, "co2_kg": 0.475}
    assert entry["total"] == pytest.approx(total)
    assert entry["causes"]["idle"] == pytest.approx({"gpu_h": 1, "energy_kwh": 0.05, "money": 1})
    assert entry["types"]["A"]["useful"] == pytest.approx({"gpu_h": 2, "energy_kwh": 1.4, "money": 4})
    assert entry["types"]["B"]["idle"] == pytest.approx({"gpu_h": 1, "energy_kwh": 0.05, "money": 1})


def test_a_failure_costs_lost_work_and_repair() -> None:
    """m0 (A) fails from 1800.5 s to 5400.5 s; a goes on at m1 (B), as fast: 0.5 s x 2 GPUs of A are lost.

    Lost: 0.7 kW x 1 GPU-s, 2 / 3600. Repair: 2 GPU-h at 0.1 kW and 2. Useful: 1 GPU-h of A, 1 of B.
    """
    events = (
        CapacityEvent(seconds_to_ns(1800.5), "fail", 0),
        CapacityEvent(seconds_to_ns(5400.5), "join", 0),
    )
    late = job("late", 1, 1, at=5400.5)
    entry, columns = costs([job("a", 2, 3600), late], Rates(PRICES, WATTS, None), events)
    lost, repair, useful = (entry["causes"][cause] for cause in ("lost_by_failure", "repair", "useful"))
    assert lost == pytest.approx({"gpu_h": 1 / 3600, "energy_kwh": 0.7 / 3600, "money": 2 / 3600})
    assert repair == pytest.approx({"gpu_h": 2, "energy_kwh": 0.2, "money": 4})
    assert entry["types"]["B"]["useful"]["gpu_h"] == pytest.approx(1)
    assert columns["money"][0] == pytest.approx(2 + 2 / 3600 + 1)
    assert useful["gpu_h"] == pytest.approx(2 + 1 / 3600)
    assert set(columns) == {"energy_kwh", "money"}


def test_only_what_has_rates_is_counted() -> None:
    """Prices alone: money, and neither energy nor CO2."""
    entry, columns = costs([job("a", 2, 3600)], Rates(PRICES, None, None))
    assert set(columns) == {"money"}
    assert entry["total"] == pytest.approx({"gpu_h": 4, "money": 6})


def test_users_pay_for_their_jobs() -> None:
    """Two jobs of one user cost 4 + 1; without users there is no entry."""
    named = [
        JobSpec(**{**spec_fields(spec), "user": "ann"}) for spec in (job("a", 2, 3600), job("b", 2, 1800))
    ]
    entry, _ = costs(named, Rates(PRICES, None, None))
    assert entry["users"] == {"ann": pytest.approx({"gpu_h": 3, "money": 5})}
    assert "users" not in costs([job("a", 2, 10)], Rates(PRICES, None, None))[0]


def spec_fields(spec: JobSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__dataclass_fields__}


H100 = Cluster([Machine("m0", 0, "dgx", 8, "H100"), Machine("m1", 0, "box", 4, "V100")])


def test_shipped_figures_fill_what_is_left_out() -> None:
    """H100: PUE 2 x (700 + 575) W; V100 with a host of 800 W for 4 GPUs: 2 x (40 + 200) W idle."""
    power = Power.model_validate({"pue": 2, "host_w": {"V100": 800}})
    rates = rates_of(None, power, H100, {})
    assert rates is not None
    assert rates.watts == {("dgx", "H100"): Watts(1290, 2550), ("box", "V100"): Watts(480, 1000)}
    assert rates_of(None, None, H100, {}) is None


def test_every_shipped_gpu_type_has_power() -> None:
    """A run on any shipped topology can count energy."""
    files = [load_topology(file) for file in sorted(data_path("topologies").glob("*.yaml"))]
    types = {machine.gpu_type for file in files for machine in file.machine_types.values() if machine.gpus}
    cluster = Cluster([Machine(name, 0, name, 8, name) for name in sorted(types)])
    rates = rates_of(None, Power(), cluster, {})
    assert rates is not None
    assert rates.watts is not None
    assert all(0 < watts.idle < watts.busy for watts in rates.watts.values())


@pytest.mark.parametrize("prices", [{"H100": 2.0}, {"H100": 2.0, "v100": 1.0}])
def test_a_type_without_price_is_refused(prices: dict[str, float]) -> None:
    """The cluster's V100 has none: names are those of its machines."""
    with pytest.raises(InputError, match="no figure for GPU type V100"):
        rates_of(prices, None, H100, {})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("100,400", r"line 2, grid: the first value is later"),
        ("0,400\n50,-3", r"line 3, grid: less than 0"),
    ],
)
def test_a_carbon_series_begins_at_0_and_is_not_negative(tmp_path: Path, rows: str, message: str) -> None:
    """Before the first value nothing is known; faults name the line."""
    file = tmp_path / "grid.csv"
    file.write_text(f"time_s,grid\n{rows}\n")
    with pytest.raises(InputError, match=message):
        rates_of(None, Power(carbon="grid"), H100, FileSignals(path=file).series())


def test_an_unknown_signal_is_refused() -> None:
    """The name is that of a column of the signals."""
    with pytest.raises(InputError, match="no such signal"):
        rates_of(None, Power(carbon="grid"), H100, {})


def test_the_last_intensity_holds_for_ever() -> None:
    """400 x 1800 + 100 x 3600 s; a number holds from the start."""
    assert GRID.until(seconds_to_ns(5400)) == pytest.approx((400 * 1800 + 100 * 3600) * 1e9)
    assert Intensity([0], [50]).until(7) == 350
