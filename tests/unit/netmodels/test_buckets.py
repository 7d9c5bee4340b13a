"""Gradients in buckets, by hand, and as PyTorch makes them of known models."""

import pickle

import pytest

from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.profile import get_profile

MIB = 2**20


def model(*gradients_bytes, **figures):
    """Return a profile of layers of 10 + 20 + 30 ns with these gradients, first to last."""
    layers = (Layer(f"layer{place}", 10, 20, 30, size) for place, size in enumerate(gradients_bytes))
    return Profile("toy", tuple(layers), **figures)


def gradients(profile):
    """Return the bytes that each layer all-reduces, first to last."""
    return [layer.gradient_bytes for layer in profile.layers]


def test_a_bucket_closes_with_the_gradient_that_reaches_its_cap():
    """Cap 100, from the last layer: 60 + 50 >= 100; 100 alone; the rest, 30 + 40, at the first layer."""
    assert gradients(bucketed(model(40, 30, 100, 50, 60), 100)) == [70, 0, 100, 110, 0]


def test_a_gradient_is_never_split():
    """90 + 500: one bucket of 590, though the cap is 100."""
    assert gradients(bucketed(model(7, 500, 90), 100)) == [7, 590, 0]


def test_left_at_its_default_the_first_bucket_closes_at_one_mebibyte():
    """PyTorch: 1 MiB, then 25. 0.5 + 0.5 MiB close the first; 20 + 6 the second; 3 are left.

    With a cap that the user sets (26), the first bucket has it, too: 0.5 + 0.5 + 6 + 20 >= 26, then 3.
    """
    profile = model(3 * MIB, 20 * MIB, 6 * MIB, MIB // 2, MIB // 2)
    assert gradients(bucketed(profile, 25 * MIB)) == [3 * MIB, 26 * MIB, 0, MIB, 0]
    assert gradients(bucketed(profile, 26 * MIB)) == [3 * MIB, 27 * MIB, 0, 0, 0]


def test_the_last_bucket_waits_for_the_first_layer_with_a_gradient():
    """Layers 0 and 2 have none: the last bucket sits on layer 1, the others stay as they are."""
    assert gradients(bucketed(model(0, 5, 0, 6), 100)) == [0, 11, 0, 0]
    assert gradients(bucketed(model(0, 0), 100)) == [0, 0]


def test_without_a_cap_the_profile_is_itself():
    """0 is one all-reduce a layer: not even a copy."""
    profile = model(1, 2)
    assert bucketed(profile, 0) is profile


def test_everything_else_of_the_profile_stays():
    """Compute, start-up, source and factor; asked twice, it is the same object."""
    profile = model(1, 2, 3, source="by hand", launch_ns=70)
    joined = bucketed(profile, 100)
    assert joined is bucketed(model(1, 2, 3, launch_ns=70), 100)
    assert (joined.launch_ns, joined.source, joined.compute_ns) == (70, "by hand", profile.compute_ns)
    assert joined.parameter_bytes == profile.parameter_bytes == 6
    assert joined != profile
    assert (joined.skew, profile.skew) == (
        1.0,
        0.5,
    )  # Tiresias' skew is asked of the model, not of its buckets


def test_scaling_and_joining_commute():
    """10 x 0.55 = 5 (truncated), then doubled from the original: 10 x 1.1 = 11, whichever comes first."""
    profile = model(1, 2, 3)
    joined = bucketed(profile.scaled(0.55), 100)
    assert joined == bucketed(profile, 100).scaled(0.55)
    assert joined.scaled(2).layers[0].forward_ns == 11
    assert joined.factor == 0.55
    assert bucketed(pickle.loads(pickle.dumps(profile.scaled(0.55))), 100) == joined


def test_a_bucket_waits_for_the_longest_update_of_its_layers():
    """Cap 8: layers 2 and 1, of delays 2 and 9, wait 9, on layer 1; layer 0 alone waits its own 5."""
    layers = [Layer(f"layer{place}", 1, 1, 1, 4, delay) for place, delay in enumerate((5, 9, 2))]
    joined = bucketed(Profile("slow", tuple(layers)), 8)
    assert [layer.update_ns for layer in joined.layers] == [5, 9, 0]


@pytest.mark.parametrize(
    ("name", "buckets_mib"),
    [
        # MiB, extras included: fc 7.816 closes the first bucket; layer4 from its end, 1x1 and 3x3 kernels
        # 4.016 + 9.004 + 4.004 + 4.016 + 9.004 = 30.043 >= 25; so on, 97.492 in all
        ("ResNet50", (7.816, 30.043, 25.039, 25.320, 9.274)),
        # 4097 x 1000, 4097 x 4096 and 25089 x 4096: a bucket each; convolutions of 512 x 512 x 9 (9.002) by
        # threes: 27.006; two more of them, one of 256 x 512 x 9 and two of 256 x 256 x 9: 27.008; then 2.118
        ("VGG16", (15.629, 64.016, 392.016, 27.006, 27.008, 2.118)),
    ],
)
def test_buckets_of_known_models(name, buckets_mib):
    """Sizes in order of issue, at PyTorch's default; the same when its rule is run tensor by tensor."""
    sizes = [size / MIB for size in reversed(gradients(bucketed(get_profile(name), 25 * MIB))) if size]
    assert sizes == pytest.approx(buckets_mib, abs=0.0005)


def test_the_model_asks_for_buckets():
    """Two GPUs, 1 GB/s, 100 ns a step: two layers of 3000 and 5000 B cost 2 (100 + 1500) + 2 (100 + 2500).

    Joined: one all-reduce of 8000 B at the end of the backward pass, 2 (100 + 4000); endpoint delays are 0.
    Forward 20, weight gradients and the input gradient of layer 1: 30 + 20 + 30; the first is issued at 50.
    """
    ring = (Dimension("ring", 100, 1.0),)
    fabric, shape = Fabric("rings", ring, ring, ring), shape_of([(0, "a", 2)])

    def exposed_ns(cap_mb):
        system = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=0, bucket_cap_mb=cap_mb)
        return AnalyticalModel().iteration(model(3000, 5000), shape, fabric, system).exposed_ns

    assert exposed_ns(0) == exposed_ns(None) == 5200 + 3200 - 50
    assert exposed_ns(25) == 8200
