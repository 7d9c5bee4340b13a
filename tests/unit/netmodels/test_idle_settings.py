"""Settings that were said and mean nothing."""

from netmodels.fabric.system import SystemSettings, idle_settings


def test_nccl_takes_no_setting_but_its_buckets():
    """NCCL's model has no algorithm or chunks to choose; it joins gradients in buckets."""
    said = ("collectives", "chunks", "across_machines", "bucket_cap_mb")
    result = idle_settings(SystemSettings(collectives="nccl"), said)
    reason = ("with collectives=nccl", "network.system.collectives=astra_sim")
    assert result == dict.fromkeys(("chunks", "across_machines"), reason)


def test_one_ring_has_no_algorithm_inside_a_level():
    """One ring has no levels beyond a machine, inside which the algorithm remains; hierarchies have."""
    said = ("collective_algorithm", "chunks")
    idle = idle_settings(SystemSettings(across_machines="flat_ring"), said)
    assert idle == {"collective_algorithm": ("across machines with across_machines=flat_ring", "")}
    assert idle_settings(SystemSettings(across_machines="hierarchical"), said) == {}


def test_one_queue_serves_in_order_of_issue():
    """The order of phases matters only if every dimension has a queue."""
    assert list(idle_settings(SystemSettings(), ("queue_order",))) == ["queue_order"]
    assert idle_settings(SystemSettings(collective_queue="per_dimension"), ("queue_order",)) == {}
