"""Sources of iteration times: measured here, measured on a V100, estimated."""

import pytest

from netmodels.profiles.architectures import ARCHITECTURES
from netmodels.profiles.compute_times import TRAINING, Estimated, Measured
from netmodels.profiles.profile import get_profile, profile_names


def test_every_architecture_has_a_time():
    """A model without one would fail only when a trace names it."""
    assert set(TRAINING) == set(ARCHITECTURES)


@pytest.mark.parametrize(
    ("name", "batch", "v100_ms"),
    [
        ("VGG16", 16, 68),  # Muri: Table 3, and the GPU stages of its traces
        ("VGG19", 16, 80),
        ("ShuffleNet", 128, 59),
        ("GPT-2", 4, 410),
        ("A2C", 64, 14),
        ("DQN", 128, 8),
        ("MobileNetV2", 512, 710 / 1.55),  # Synergy: with 3 CPUs / gain from all it can use
        ("M5", 512, 600 / 2.5),
        ("Transformer-XL", 128, 670),
        ("GNMT", 128, 120),
        ("LSTM", 20, 11),
        ("DeepSpeech", 20, 757),
    ],
)
def test_a_v100_is_a_quarter_as_fast(name, batch, v100_ms):
    """375 images of ResNet-50 a second against 1,490: a measured time counts a quarter."""
    profile = get_profile(name)
    assert TRAINING[name].batch == batch
    assert profile.compute_ns == pytest.approx(v100_ms * 1e6 / 4, rel=2e-4)  # 710 / 1.55 = 458.06
    assert "V100 at speed 0.25" in profile.source


def test_resnet50_is_estimated_as_it_was_measured():
    """The rate of fp32 estimates is that of ResNet50 itself: 6 x 4.089e9 x 512 / 0.343055 s = 36.6e12."""
    fp32 = TRAINING["InceptionV3"].compute
    assert isinstance(fp32, Estimated)
    assert float(fp32.operations_per_s) == pytest.approx(36.6e12, rel=0.001)
    macs = 512 * sum(item.macs for item in ARCHITECTURES["ResNet50"]())
    assert fp32.iteration_ns(macs) == get_profile("ResNet50").compute_ns == 343_055_000


@pytest.mark.parametrize(("name", "batch"), [("InceptionV3", 64), ("Transformer", 125), ("BAT", 60)])
def test_an_estimate_follows_the_work(name, batch):
    """As long as ResNet50, times what it multiplies / what ResNet50's batch of 512 multiplies."""
    macs = {value: sum(layer.macs for layer in ARCHITECTURES[value]()) for value in (name, "ResNet50")}
    expected_ns = 343_055_000 * batch * macs[name] / (512 * macs["ResNet50"])
    assert get_profile(name).compute_ns == pytest.approx(expected_ns, abs=1)


@pytest.mark.parametrize(
    ("name", "parameters"), [("Llama-2-7B", 6_738_415_616), ("Llama-2-70B", 68_976_648_192)]
)
def test_decoders_send_two_bytes_a_parameter(name, parameters):
    """Gradients in bf16, a sequence of 4096 tokens on each GPU, 40 % of 989.4 TFLOP/s."""
    profile = get_profile(name)
    assert profile.parameter_bytes == 2 * parameters
    macs = sum(layer.macs for layer in ARCHITECTURES[name]())
    assert profile.compute_ns == pytest.approx(6 * macs / (0.4 * 989.4e3), abs=1)  # 1e12 / s = 1e3 / ns
    assert "4096 tokens" in profile.source


@pytest.mark.parametrize("name", profile_names())
def test_the_source_names_measured_and_estimated_times(name):
    """A reader of a result must see what was measured and what was not."""
    training, source = TRAINING[name], get_profile(name).source
    assert ("as measured by the authors of" in source) == isinstance(training.compute, Measured)
    assert ("estimated, 6 operations" in source) == isinstance(training.compute, Estimated)
    assert source.endswith(f", batch {training.batch}")


@pytest.mark.parametrize("name", profile_names())
def test_no_time_is_lost_in_the_division(name):
    """Layers and phases add up to the iteration; only work takes time, and layer 0 hands nothing back."""
    profile, shapes = get_profile(name), ARCHITECTURES[name]()
    macs = TRAINING[name].batch * sum(shape.macs for shape in shapes)
    assert profile.compute_ns == TRAINING[name].compute.iteration_ns(macs)
    assert profile.layers[0].input_gradient_ns == 0
    for layer, shape in zip(profile.layers, shapes, strict=True):
        assert shape.macs or not (layer.forward_ns or layer.input_gradient_ns or layer.weight_gradient_ns)
