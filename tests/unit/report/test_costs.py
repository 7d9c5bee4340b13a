"""The table of energy and money of a row."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from artist.report.page.grouped_tables import costs_table
from artist.results.compare import Replicates


def row(*entries: dict[str, Any]) -> Replicates:
    runs = [SimpleNamespace(summary={"costs": entry} if entry else {}) for entry in entries]
    return cast(Replicates, SimpleNamespace(name="fifo", runs=runs))


def entry(money: float) -> dict[str, Any]:
    """Return costs of 4 GPU-hours, 3 of them of use, on two types."""
    useful, idle = {"gpu_h": 3.0, "money": money}, {"gpu_h": 1.0, "money": 0.5}
    total, none = {"gpu_h": 4.0, "money": money + 0.5}, {"gpu_h": 0.0, "money": 0.0}
    causes = {"useful": useful, "idle": idle, "spare": none}
    return {"total": total, "causes": causes, "types": {"A": {"useful": useful}}, "users": {"ann": useful}}


def test_costs_by_cause_type_and_user_are_means_over_replicates() -> None:
    """Money 5 and 7: 6 useful, 6.5 in all; parts without GPUs and amounts not counted are left out."""
    table = costs_table([row(entry(5), entry(7))])
    assert table is not None
    assert [column.title for column in table.columns] == ["of", "row", "GPU-hours", "money"]
    assert {cells[0].text: [cell.value for cell in cells[2:]] for cells in table.rows} == {
        "all GPUs": [4, 6.5],
        "useful work": [3, 6],
        "idle": [1, 0.5],
        "GPUs A": [3, 6],
        "user ann": [3, 6],
    }


@pytest.mark.parametrize("rows", [[row({})], [row(entry(5), {})]])
def test_rows_without_costs_have_no_table(rows: list[Replicates]) -> None:
    """A mean over some replicates is none."""
    assert costs_table(rows) is None
