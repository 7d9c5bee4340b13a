"""Networks that play Atari games: the one of the DQN paper in Nature, and A2C's with the same body.

Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015; A2C is the
synchronous form of Mnih et al., arXiv:1602.01783. Four frames of 84 x 84 pixels; four actions, those of
Breakout, which Muri plays. A sample is one observation.
"""

from netmodels.profiles.architectures.layer_shapes import LayerShape, linear, square

_ACTIONS = 4


def dqn() -> list[LayerShape]:
    """Return DQN: 1.69 million parameters; the target network is a copy and sends nothing."""
    return [*_body(), linear("head", 512, _ACTIONS)]


def a2c() -> list[LayerShape]:
    """Return A2C: 1.69 million parameters, DQN's and one more output for the value of a state."""
    return [*_body(), linear("actor", 512, _ACTIONS), linear("critic", 512, 1)]


def _body() -> list[LayerShape]:
    return [
        square("conv1", (4, 32), 8, 20, extras=1),
        square("conv2", (32, 64), 4, 9, extras=1),
        square("conv3", (64, 64), 3, 7, extras=1),
        linear("fc4", 64 * 7 * 7, 512),
    ]
