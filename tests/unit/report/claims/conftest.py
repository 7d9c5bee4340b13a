"""Runs of two policies, and a claim on their makespans."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from artist.report.claims.evaluate import Result, evaluate
from artist.report.claims.evidence import Evidence
from artist.report.claims.schema import Claim
from artist.results.folder import read_run
from artist.results.run import Run

MAKESPAN = {"says": "shorter", "source": "5.1", "metric": "makespan_s", "policy": "new", "against": "old"}
Maker = Callable[..., list[Run]]
Holder = Callable[..., Result]


@pytest.fixture
def runs(run_folder: Callable[..., Path], tmp_path: Path) -> Maker:
    """Return a maker of runs from {(policy, racks): makespans by seed}; one number is that of five seeds.

    All jobs arrive at 0, 1 and 2 s, and queue for a quarter of their JCT in the mean.
    """

    def make(
        makespans: dict[tuple[str, int], float | Sequence[float]], topology: str = "near", **sections: Any
    ) -> list[Run]:
        model_ = []
        for (policy, racks), values in makespans.items():
            for seed, makespan in enumerate(values if isinstance(values, Sequence) else (values,) * 5):
                config: dict[str, Any] = {
                    "policy": {"name": policy}, "cluster": {"racks": racks}, "seed": seed,
                    "topology": {"name": topology},
                }  # fmt: skip
                for name, section in sections.items():
                    config[name] = config.get(name, {}) | section
                place = tmp_path / f"{topology}-{policy}-{racks}-{seed}-{len(list(tmp_path.iterdir()))}"
                run = read_run(run_folder(place, config))
                run.summary.update(policy=policy, makespan_s=makespan, seed=seed)
                model_.append(run)
        return model_

    return make


@pytest.fixture
def held() -> Holder:
    """Return a function that holds a claim against runs."""

    def hold(run_list: Sequence[Run], **more: Any) -> Result:
        claim = Claim.model_validate(MAKESPAN | {"paper": -0.5} | more)
        return evaluate(claim, [Evidence(run) for run in run_list])

    return hold


@pytest.fixture
def makespan_claim() -> Mapping[str, Any]:
    """The claim without its number."""
    return MAKESPAN
