"""Predictors of the use of inference machines."""

from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest

from artist.errors import PlanError
from artist.policies.lyra.predictors import Autoregressive, Oracle, predictor_of, share_now
from artist.workload.signals import Series

STEP_NS = 300 * 10**9


def series(values):
    """Return a signal of one value every 300 s."""
    return Series(np.arange(len(values)) * STEP_NS, np.array(values, dtype=np.float64))


def view_at(step, **signals):
    """Return a predictor's view at a sample; `next` stands for `inference.next`."""
    named = {"inference" + ".next" * (name == "next"): series(values) for name, values in signals.items()}
    return SimpleNamespace(now_ns=step * STEP_NS, signals=named)


def days(n, noise=0.0, seed=0):
    """Return samples of a wave of one day around 0.65, 288 a day."""
    rng = np.random.default_rng(seed)
    wave = 0.65 + 0.25 * np.sin(np.arange(n * 288) * 2 * np.pi / 288)
    return wave + noise * rng.standard_normal(len(wave))


def test_the_oracle_reads_the_next_sample():
    """Between two samples the last one holds: 0.6 from 300 s on."""
    view = view_at(1, use=[0.4, 0.5, 0.6], next=[0.5, 0.6, 0.7])
    assert Oracle().next_use(view) == 0.6
    view.now_ns += 10
    assert Oracle().next_use(view) == 0.6


def test_the_oracle_without_a_series_names_the_settings():
    """Without the series ahead there is nothing to read; the message names three ways out."""
    with pytest.raises(
        PlanError, match=r"'inference.next'; there is inference \(signals=inference; .*autoreg"
    ):
        Oracle().next_use(view_at(0, use=[0.5]))


def test_before_the_first_sample_nothing_is_known():
    """A series from 300 s on says at 0 s that all machines are in use: nothing is lent by mistake."""
    view = view_at(0, use=[0.5], next=[0.5])
    for signal in view.signals.values():
        signal.times_ns[:] = STEP_NS
    assert Oracle().next_use(view) == Autoregressive().next_use(view) == share_now(view, "inference") == 1.0


def test_percentages_are_refused():
    """65 for 0.65 would lend nothing, forever: the message says what was found, when, and what is allowed."""
    with pytest.raises(PlanError, match=r"^signal 'inference' is 65 at 300 s; must be a share .* 0 to 1$"):
        share_now(view_at(1, use=[0.5, 65]), "inference")


def test_little_past_gives_the_last_sample():
    """29 samples are fewer than three windows of 10: the 29th; of one sample, that one, within 0 to 1."""
    values = days(1, noise=0.02)
    assert Autoregressive().following(values[:29]) == values[28]
    assert Autoregressive().following(values[:30]) != values[29]
    assert Autoregressive().next_use(view_at(0, use=[1.2])) == 1.0


def test_a_recurrence_is_found_exactly():
    """x_k = 1.5 x_k-1 - 0.8 x_k-2 + 0.15 is linear in the window: the prediction is the next sample."""
    values = [0.5, 0.6]
    for _ in range(60):
        values.append(1.5 * values[-1] - 0.8 * values[-2] + 0.15)
    assert Autoregressive().following(np.array(values[:60])) == pytest.approx(values[60], abs=1e-9)


def test_only_the_past_is_used():
    """Later samples change nothing, whatever was asked before."""
    one, other = days(2, 0.02), days(2, 0.02)
    other[300:] = 0.1
    answers = [
        [predictor.next_use(view_at(k, use=values)) for k in range(250, 300)]
        for predictor, values in ((Autoregressive(), one), (Autoregressive(), other))
    ]
    assert answers[0] == answers[1]


def test_it_is_better_than_the_last_sample():
    """A noisy wave of four days: the mean square error of the last two is below that of persistence."""
    values, predictor = days(4, 0.01), Autoregressive()
    at = range(576, 1151)
    errors = np.array([predictor.following(values[: k + 1]) - values[k + 1] for k in at])
    still = np.array([values[k] - values[k + 1] for k in at])
    assert (errors**2).mean() < 0.8 * (still**2).mean()


@pytest.mark.parametrize("values", [[0.5] * 100, [0.0, 1.0] * 50, [0.0] * 99 + [1.0]])
def test_odd_series_give_shares(values):
    """Constant, alternating, a jump: always a number from 0 to 1; a constant goes on, so does a change."""
    predictor = Autoregressive()
    results = [predictor.following(np.array(values[: k + 1])) for k in range(100)]
    assert all(0 <= use <= 1 for use in results)
    if len(set(values)) == 1:
        assert results == pytest.approx(values)


def test_it_is_fitted_now_and_then():
    """Every 12 samples: 50 samples after the 30th make 5 fits, at 30, 42, 54, 66 and 78."""
    predictor, fits = Autoregressive(), []
    fit = predictor._fit
    predictor._fit = lambda values: fits.append(len(values)) or fit(values)
    values = days(1, 0.02)
    for n in range(1, 80):
        predictor.following(values[:n])
    assert fits == [30, 42, 54, 66, 78]


def test_old_samples_are_forgotten():
    """Of 40 samples that count, the ones before make no difference: 60 of a wave, or 60 of noise."""
    last, rng = days(1, 0.02)[:40], np.random.default_rng(1)
    told = [np.append(older, last) for older in (days(1)[:60], rng.random(60))]
    one, other = (Autoregressive(past=40).following(values) for values in told)
    assert one == other


def test_fifteen_days_cost_little():
    """4,320 predictions: less than 2 s of processor time, 0.2 taken; a fit looks at a week at most."""
    values, predictor = days(15, 0.02), Autoregressive()
    start = process_time()
    for n in range(1, len(values) + 1):
        predictor.following(values[:n])
    assert process_time() - start < 2


class Mine:
    """A predictor that returns a test's values."""

    def __init__(self, answer):
        self.answer = answer

    def next_use(self, view):
        return self.answer


@pytest.mark.parametrize("answer", [1.01, -0.1, float("nan"), None, "0.5"])
def test_a_wrong_prediction_of_ones_own_is_refused(answer):
    """A share is a number from 0 to 1."""
    with pytest.raises(PlanError, match=r"^predictor \S+\.Mine: next_use returned .*must be a number from 0"):
        predictor_of(Mine(answer)).next_use(None)
    assert predictor_of(Mine(1)).next_use(None) == 1.0
