"""Models that ask a fake worker, and one that asks ns-3 where it is installed."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from netmodels.ns3 import model as ns3_model
from netmodels.ns3.model import Ns3Model
from netmodels.ns3.process import Worker

FAKE = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return the number of starts of the fake worker."""
    log = tmp_path / "starts"
    monkeypatch.setenv("FAKE_LOG", str(log))
    return lambda: len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def fake(starts: Callable[[], int]) -> Iterator[Callable[..., Worker]]:
    """Return a maker of fake workers."""
    model_: list[Worker] = []

    def make(timeout_s: float = 60) -> Worker:
        model_.append(Worker(timeout_s, FAKE))
        return model_[-1]

    yield make
    for worker in model_:
        worker.end()


@pytest.fixture
def model(fake: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ns3Model]:
    """Return a maker of models that ask a fake worker; the package is said to be installed."""
    monkeypatch.setattr(ns3_model, "version", lambda name: "3.44.post0")

    def make(**parameters: object) -> Ns3Model:
        model_ = Ns3Model(**parameters)
        model_.worker = fake(model_.parameters.timeout_s)
        return model_

    return make


@pytest.fixture(scope="session")
def real() -> Iterator[Ns3Model]:
    """Return a model with the real ns-3."""
    if find_spec("ns3") is None:
        pytest.skip("ns-3 is not installed: pip install artist-sim[ns3]")
    model = Ns3Model()
    yield model
    model.worker.end()
