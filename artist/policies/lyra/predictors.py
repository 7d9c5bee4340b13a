"""Predictors: the share of its machines that inference will use in the next step. For Lyra.

A policy takes the name of a shipped predictor, or a predictor of the user's own. Both shipped ones read named
series (`view.signals`), sampled in even steps, as shares of the machines from 0 to 1.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Protocol

import numpy as np
from pydantic import PlainValidator

from artist.core.arrays import Floats
from artist.core.checked import AnswerError
from artist.core.view import ClusterView
from artist.errors import PlanError
from artist.policies.parts.parameters import check_part, checked_part
from artist.units import ns_to_seconds

USE = "inference"  # share of its machines that inference uses
NEXT_USE = "inference.next"  # the same, one step ahead


class Predictor(Protocol):
    """Predicts the use of the inference machines.

    One that reads more than `inference` may list these series by name in a tuple `follows`.
    """

    def next_use(self, view: ClusterView) -> float:
        """Return the share of its machines that inference will use in the next step, from 0 to 1."""


def share_now(view: ClusterView, name: str) -> float:
    """Return the last sample of a series of shares; before the first one 1, all machines.

    Raises
    ------
    PlanError
        If there is no such series, or its sample is not a share.
    """
    values = view.signals[name].up_to(view.now_ns)[1]
    share = float(values[-1]) if len(values) else 1.0
    if not 0 <= share <= 1:
        at = f"{ns_to_seconds(view.now_ns):g} s"
        raise PlanError(f"signal {name!r} is {share:g} at {at}; must be a share of the machines from 0 to 1")
    return share


class Oracle:
    """Knows the next sample: it reads the series `inference.next`."""

    follows = (NEXT_USE,)

    def next_use(self, view: ClusterView) -> float:
        """Return the share of its machines that inference will use in the next step, from 0 to 1.

        Raises
        ------
        PlanError
            If there is no such series, or its sample is not a share.
        """
        if NEXT_USE not in view.signals:
            raise PlanError(
                f"the oracle asks for signal {NEXT_USE!r}; there is {', '.join(view.signals) or 'none'} "
                f"(signals=inference; of a file signals.ahead=[{USE}]; or policy.predictor=autoregressive)"
            )
        return share_now(view, NEXT_USE)


class Autoregressive:
    """A linear function of the last `window` samples, fitted by least squares to the past.

    Fitted again after every `refit` samples, on the last `past` of them. Until there are three times as many
    as the window holds, the prediction is the last sample.

    Differs from the paper, section 6: there an LSTM of two layers looks at the same window.
    """

    def __init__(self, window: int = 10, refit: int = 12, past: int = 2016) -> None:
        self._window, self._refit, self._past = window, refit, past
        self._weights: Floats | None = None
        self._fitted = 0  # samples known then

    def next_use(self, view: ClusterView) -> float:
        """Return the share of its machines that inference will use in the next step, from 0 to 1."""
        values = view.signals[USE].up_to(view.now_ns)[1]
        return self.following(values) if len(values) else 1.0

    def following(self, values: Floats) -> float:
        """Return the prediction that follows some samples, shape (n,), n at least 1."""
        if len(values) < 3 * self._window:
            return _clipped(float(values[-1]))
        if self._weights is None or len(values) - self._fitted >= self._refit:
            self._weights = self._fit(values[-self._past :])
            self._fitted = len(values)
        return _clipped(float(self._weights[0] + values[-self._window :] @ self._weights[1:]))

    def _fit(self, values: Floats) -> Floats:
        """Return a constant and the weights of the samples in a window, the oldest first.

        Normal equations, summed without BLAS: its threads would slow this down, and round differently.
        """
        windows = np.lib.stride_tricks.sliding_window_view(values, self._window + 1)
        rows = np.hstack([np.ones((len(windows), 1)), windows])
        products = np.einsum("ki,kj->ij", rows, rows)
        weights: Floats = np.linalg.lstsq(products[:-1, :-1], products[:-1, -1])[0]
        return weights


def _clipped(use: float) -> float:
    return min(1.0, max(0.0, use))


PREDICTORS: Mapping[str, Callable[[], Predictor]] = {"oracle": Oracle, "autoregressive": Autoregressive}
AnyPredictor = Annotated[
    str | Predictor, PlainValidator(lambda value: check_part(value, PREDICTORS, "next_use"))
]


def _checked_use(use: object, view: ClusterView) -> float:
    """Return a predictor's answer as a share."""
    if not isinstance(use, int | float | np.floating) or not 0 <= use <= 1:
        raise AnswerError(repr(use), "must be a number from 0 to 1")
    return float(use)


def predictor_of(predictor: str | Predictor) -> Predictor:
    """Return a shipped predictor by name, one of the user's own checked."""
    if isinstance(predictor, str):
        return PREDICTORS[predictor]()
    return checked_part(predictor, "predictor", next_use=_checked_use)
