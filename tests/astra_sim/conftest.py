"""Reads the recorded answers of real ASTRA-sim binaries, which lie beside the checkout and not in it."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from netmodels.api import Dimension, Layer, Profile

REFERENCE = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference" / "astra_sim"
KINDS = {"Ring": "ring", "Switch": "switch", "FullyConnected": "fully_connected"}
TIERS = ("machine", "rack", "network")


@dataclass(frozen=True)
class Reference:
    """The folder of recorded answers."""

    folder: Path

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of one of its CSV files."""
        with (self.folder / name).open(newline="") as file:
            return list(csv.DictReader(file))

    def profile(self, name: str) -> Profile:
        """Return a workload; names carry a glued number, BERT's layer count is wrong (FORMATS.md)."""
        lines = (self.folder / "workloads" / name).read_text().splitlines()[2:]
        columns = [line.split() for line in lines]
        return Profile(
            name,
            tuple(
                Layer(
                    each[0].lstrip("0123456789"),
                    int(float(each[2])),
                    int(float(each[5])),
                    int(float(each[8])),
                    int(each[10]),
                    int(float(each[11])),
                )
                for each in columns
                if len(each) >= 12
            ),
        )


@pytest.fixture(scope="session")
def reference() -> Reference:
    """Return the recorded answers, or skip where they are absent."""
    if not REFERENCE.is_dir():
        pytest.skip(f"recorded answers of ASTRA-sim are not on this machine ({REFERENCE})")
    return Reference(REFERENCE)


Dims = list[tuple[str, Dimension, int]]


@pytest.fixture(scope="session")
def dims_of() -> Callable[..., Dims]:
    """Return a reader of `Ring|Switch`, `8|4`, `450|25` (2^30 byte/s), `500|2000` (ns)."""

    def read(kinds: str, members: str, bandwidth: str, latency: str, links: str = "one") -> Dims:
        columns = zip(*(column.split("|") for column in (kinds, members, bandwidth, latency)), strict=True)
        return [
            (
                TIERS[min(place, 2)],
                Dimension(KINDS[kind], float(delay), float(speed) * 2**30 / 1e9, 0, links),  # type: ignore[arg-type]
                int(count),
            )
            for place, (kind, count, speed, delay) in enumerate(columns)
        ]

    return read
