"""Seeds of the suite that all classes of policies run: two, and four with `--slow`."""

import pytest

from artist.testing.conformance import PolicyConformance


@pytest.fixture(autouse=True)
def _seeds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each suite on half of its workloads, unless slow tests are asked for."""
    if not request.config.getoption("--slow"):
        monkeypatch.setattr(PolicyConformance, "seeds", range(2))
