"""`scripts/validation/contention.py --ns3`: what ns-3 is asked, and that a table comes without it."""

import contention
import pytest
from contention_cases import TABLES

from netmodels.inputs.errors import InputError

HEADER = (
    "case,kind,nic,rack_uplink,job,npus,compute_ns,allreduce_bytes,start_ns,iterations,alone_ns,together_ns"
)


@pytest.fixture
def folder(tmp_path):
    """Return tables with one case: two jobs of 1,000 ns and a small all-reduce each."""
    rows = [f"1,two_cross,100Gbps,100Gbps,{job},{job} {8 + job},1000,1000,0,2,100,110" for job in (0, 1)]
    (tmp_path / TABLES[0]).write_text("\n".join([HEADER, *rows]))
    (tmp_path / TABLES[1]).write_text("case\n")
    return tmp_path


def test_jobs_are_asked_together_and_alone(folder, model, monkeypatch, capsys):
    """The fake's jobs take 1,000 + 2 x 1,000 ns together, 2,000 alone; the table says 1.1: 36.36 % less."""
    monkeypatch.setattr(contention, "Ns3Model", model)
    assert contention.main([str(folder), "--packets", "0", "--ns3"]) == 0
    (row,) = (line.split() for line in capsys.readouterr().out.splitlines() if " ns3 " in line)
    assert row[3:7] == ["2", "36.36", "36.36", "36.36"]


def test_without_the_package_the_other_ways_are_compared(folder, monkeypatch, capsys):
    """A line on stderr says what to install."""

    def missing():
        raise InputError("ns-3 is not installed", allowed="pip install artist-sim[ns3]")

    monkeypatch.setattr(contention, "Ns3Model", missing)
    assert contention.main([str(folder), "--packets", "0", "--ns3"]) == 0
    said = capsys.readouterr()
    assert "pip install artist-sim[ns3]" in said.err
    assert " ns3 " not in said.out
    assert " flow_level " in said.out
