"""The command artist-network with a plan: roles, memory, mappings, refusals."""

import csv
from pathlib import Path

import pytest

PAPERS = ("topology=dgx_h100_3tier", "network.system.preset=papers")
ASKED = ("model=Llama3-70B", "topology=hgx_h100_ib400")


def test_a_plan_is_priced_by_role(network):
    """64 GPUs, tp8 pp4: groups of 8, 4 and 2; compute and exposed parts add up to the step."""
    result = network(*ASKED, "plan=tp8 pp4 gb64 zero1", "shape=8x8", "csv=out.csv")
    assert result.code == 0
    with Path("out.csv").open(newline="") as file:
        rows = {row["role"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["free network", "tp", "pp", "dp", "step"]
    assert [rows[role]["group_gpus"] for role in ("tp", "pp", "dp")] == ["8", "4", "2"]
    assert [rows[role]["tier"] for role in ("tp", "pp", "dp")] == ["machine", "rack", "rack"]
    parts = [int(rows[role]["exposed_ns"]) for role in ("free network", "tp", "pp", "dp")]
    assert sum(parts) == pytest.approx(int(rows["step"]["exposed_ns"]), abs=5)
    assert "GB of state" in result.out
    assert "round_robin" in result.out


def test_units_on_pieces_of_machines_cost_more(network):
    """Tensor parallelism of 8 on pairs of 4 GPUs leaves the machine: its time grows, compute does not."""
    times = {}
    for shape in ("2x8", "4x4", "8x2"):
        assert network(*ASKED, "plan=tp8 fsdp", f"shape={shape}", "csv=out.csv").code == 0
        with Path("out.csv").open(newline="") as file:
            rows = {row["role"]: int(row["exposed_ns"]) for row in csv.DictReader(file)}
        times[shape] = rows["free network"], rows["tp"]
    assert times["2x8"][0] == times["4x4"][0] == times["8x2"][0]
    assert times["2x8"][1] < times["4x4"][1] < times["8x2"][1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan=tp8 pp3", "gpus=24"), "layers of Llama3-70B do not divide"),
        (("plan=tp8 pp4", "gpus=24"), "does not divide the GPUs"),
        (("plan=tp8 qq", "gpus=8"), "unknown word"),
        (("plan=", "gpus=8"), "GB of state"),
        (("plan=tp8 fsdp", "gpus=64", *PAPERS, "network.system.chunks=2"), "run whole collectives as rings"),
        (("plan=tp8 fsdp mxfp8", "gpus=64"), "no training was measured on H100 in this precision"),
        (("plan=tp8 fsdp", "gpus=64", "bytes=3"), "a plan is of a language model on a placement"),
        (("mapping=order",), "only a plan has ranks to assign"),
        (
            ("plan=tp4 pp2 fsdp", "gpus=64", "model=MPT-1B", "topology=pcie_10g"),
            "no training was measured on this GPU",
        ),
        (("plan=tp8 fsdp", "gpus=64", "model=GPT-2"), "unknown language model"),
    ],
)
def test_what_is_not_priced_is_refused(network, arguments, message):
    """Exit code 2 and two lines."""
    result = network(*ASKED, *arguments)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 2
