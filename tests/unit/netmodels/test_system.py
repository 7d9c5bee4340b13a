"""System settings and what a user may override."""

import pickle

import pytest

from netmodels.api import SystemSettings, merge_system
from netmodels.inputs.errors import InputError


def test_null_keeps_the_topology_s_value():
    """The shipped network config lists every setting as null, and none of them may change anything."""
    base = SystemSettings(endpoint_delay_ns=7, collective_queue="per_dimension")
    nulls = {"endpoint_delay_ns": None, "local_memory_gb_s": None, "queue_order": None}
    assert merge_system(base, nulls) == base
    assert merge_system(base, {"endpoint_delay_ns": 20}) == SystemSettings(
        20, collective_queue="per_dimension"
    )


@pytest.mark.parametrize(
    ("overrides", "expected", "allowed"),
    [
        ({"endpoint_delay": 3}, "endpoint_delay", "did you mean 'endpoint_delay_ns'?"),
        ({"collective_optimization": "base_line"}, "base_line", "did you mean 'baseline'?"),
        ({"endpoint_delay_ns": -1}, -1, "a whole number from 0 to 1000000000000"),
        ({"endpoint_delay_ns": 1.5}, 1.5, "a whole number from 0 to 1000000000000"),
        ({"endpoint_delay_ns": True}, True, "a whole number from 0 to 1000000000000"),
        ({"local_memory_gb_s": float("nan")}, "nan", "0, or a number from 0.001 to 1e+09"),
        ({"queue_order": ["issue"]}, ["issue"], "did you mean 'issue'?"),
        ({"collective_algorithm": "rings"}, "rings", "did you mean 'ring'?"),
        ({"collective_algorithm": ["ring", "ring", "tree"]}, "tree", "direct"),
        ({"collective_algorithm": ["ring", "direct"]}, ["ring", "direct"], "machine, rack, network"),
        ({"chunks": 0}, 0, "a whole number from 1 to 1024"),
        ({"chunks_in_flight": True}, True, "a whole number from 1 to 1024"),
    ],
)
def test_wrong_overrides_are_refused_with_the_allowed_ones(overrides, expected, allowed):
    """A typo in a setting must not silently price another network."""
    with pytest.raises(InputError) as error:
        merge_system(SystemSettings(), overrides)
    assert error.value.allowed.endswith(allowed)
    assert str(error.value.found) == str(expected)


def test_whole_and_fractional_numbers_are_the_same_setting():
    """1600 and 1600.0 hash alike, and so does any process, whatever its hash seed."""
    assert hash(SystemSettings(local_memory_gb_s=1600)) == hash(SystemSettings(local_memory_gb_s=1600.0))
    assert hash(pickle.loads(pickle.dumps(SystemSettings()))) == hash(SystemSettings()) == 0x917F3472896B175


def test_an_algorithm_for_all_tiers_or_one_each():
    """A list comes from a file; three alike are one and the same question to the cache."""
    settings = merge_system(
        SystemSettings(), {"collective_algorithm": ["direct", "ring", "halving_doubling"]}
    )
    tiers = ("machine", "rack", "network")
    assert [settings.algorithm_of(tier) for tier in tiers] == ["direct", "ring", "halving_doubling"]
    assert [SystemSettings().algorithm_of(tier) for tier in tiers] == ["ring"] * 3
    assert merge_system(SystemSettings(), {"collective_algorithm": ["ring"] * 3}) == SystemSettings()
