"""Which way to share a run takes: the configuration's, else the policy's."""

import pytest
from pydantic import ValidationError

from artist.performance.sharing import Interleaved, Packed
from artist.policies.gandiva import Gandiva
from artist.policies.muri import Muri
from artist.run.build import sharing_of
from artist.run.config import PerformanceConfig

FORMULA = PerformanceConfig(contention=(1, 1, 1), loading="split")


@pytest.mark.parametrize(
    ("sharing", "of_gandiva", "of_muri"),
    [(None, Packed, Interleaved), ("packed", Packed, Packed), ("interleaved", Interleaved, Interleaved)],
)
def test_a_group_runs_as_its_policy_runs_it_unless_the_configuration_says(sharing, of_gandiva, of_muri):
    """One sweep may compare Gandiva, which packs, with Muri, which interleaves; or hold both to one way."""
    config = PerformanceConfig(sharing=sharing)
    assert type(sharing_of(config, Gandiva())) is of_gandiva
    assert type(sharing_of(config, Muri(order="srsf"))) is of_muri


def test_groups_run_in_the_ordering_of_their_policy():
    """Two jobs of CPU 3, GPU 1 and CPU 1, GPU 3: shifted by one 1 + 3 + 1 = 5 at best, 8 in turn at worst."""
    stages = [(0, 3, 1, 0), (0, 1, 3, 0)]
    clocks = (sharing_of(FORMULA, Muri(order="srsf", ordering=each)).clock for each in ("best", "worst"))
    assert [clock.group_ns(stages) for clock in clocks] == [5, 8]


def test_a_factor_below_one_is_no_contention():
    """Sharing makes nobody faster than the formula, which has all resources to itself."""
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        PerformanceConfig(contention=(0.9, 1, 1))
