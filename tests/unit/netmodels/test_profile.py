"""The shipped profiles: parameter counts, skew, compute times, scaling."""

import pickle

import pytest

from netmodels.inputs.errors import InputError
from netmodels.profiles.compute_times import divide
from netmodels.profiles.profile import Layer, Profile, get_profile, profile_names

TOY = Profile("toy", (Layer("a", 10, 99, 20, 4), Layer("b", 30, 40, 50, 12)))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("AlexNet", 61_100_840),
        ("VGG11", 132_863_336),
        ("MobileNetV3", 2_542_856),
        ("ResNet18", 11_689_512),
        ("ResNet50", 25_557_032),
        ("BERT-large", 335_141_888),
    ],
)
def test_gradients_are_the_published_parameter_counts(name, parameters):
    """Four bytes a parameter, exactly; counts of torchvision and (BERT) Hugging Face."""
    assert get_profile(name).parameter_bytes == 4 * parameters


@pytest.mark.parametrize(
    ("name", "skew"),
    [
        ("AlexNet", 0.618),  # 4096 x (9216 + 1) of 61,100,840
        ("VGG11", 0.773),  # 4096 x (25088 + 1) of 132,863,336
        ("MobileNetV3", 0.403),  # 1000 x (1024 + 1) of 2,542,856
        ("ResNet18", 0.202),  # 512 x 512 x 9 + 2 x 512 of 11,689,512
        ("ResNet50", 0.092),  # 512 x 512 x 9 + 2 x 512 of 25,557,032
        (
            "BERT-large",
            0.095,
        ),  # (30522 + 512 + 2 + 2) x 1024; dally.md: 0.03
    ],
)
def test_skew(name, skew):
    """Tiresias's threshold 0.3 must separate the labels of the Dally paper's Table 1."""
    result = get_profile(name).skew
    assert result == pytest.approx(skew, abs=0.0005)
    assert (result > 0.3) == (name in {"AlexNet", "VGG11", "MobileNetV3"})


@pytest.mark.parametrize(
    ("name", "compute_ns"),
    [
        ("AlexNet", 51_877_000),
        ("VGG11", 234_458_000),
        ("MobileNetV3", 8_288_000),
        ("ResNet18", 122_247_000),
        ("ResNet50", 343_055_000),
        ("BERT-large", 15_196_139_000),
    ],
)
def test_compute_is_the_measured_time_exactly(name, compute_ns):
    """The division over layers must not lose a nanosecond; layer 0 has no input gradient."""
    profile = get_profile(name)
    assert profile.compute_ns == compute_ns
    assert profile.layers[0].input_gradient_ns == 0


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("ResNet50", "ResNet50"),
        ("resnet-50", "ResNet50"),
        ("VGG", "VGG11"),
        ("vgg11", "VGG11"),
        ("BERT", "BERT-large"),
        ("bert_large", "BERT-large"),
        ("mobilenet_v3", "MobileNetV3"),
        ("res18", "ResNet18"),  # Synergy's traces, also res50, deepspeech, gnmt, lstm, m5
        ("res50", "ResNet50"),
        ("shufflenet_v2_x1_0", "ShuffleNet"),  # Muri's traces, also gpt2, vgg16, a2c, dqn
        ("shufflenet_v2", "ShuffleNet"),
        ("mobilenet_v2", "MobileNetV2"),
        ("inception_v3", "InceptionV3"),
        ("Inception3", "InceptionV3"),
        ("gpt2", "GPT-2"),
        ("deepspeech2", "DeepSpeech"),
        ("TransformerXL", "Transformer-XL"),
        ("transformer", "Transformer"),
        ("Bi-att-Flow", "BAT"),  # CODA's Table I
        ("bidaf", "BAT"),
        ("llama2-7b", "Llama-2-7B"),
        ("llama_2_70b", "Llama-2-70B"),
    ],
)
def test_names_as_traces_spell_them(asked, name):
    """Traces write one model in several ways; asking twice gives one object, so comparing costs nothing."""
    assert get_profile(asked) is get_profile(name)
    assert get_profile(name).name == name
    assert name in profile_names()


def test_unknown_model():
    """A trace with a model that we lack ends with the nearest name."""
    with pytest.raises(InputError, match="did you mean 'ResNet50'"):
        get_profile("ResNet51")


def test_the_list_of_models_stays_readable():
    """All names stand in one message: two lines, and the list no longer than a few of a terminal's."""
    with pytest.raises(InputError) as error:
        get_profile("no such thing at all")
    message = str(error.value)
    assert all(name in message for name in profile_names())
    assert message.count("\n") == 1
    assert len(message) < 400


def test_no_alias_hides_a_model():
    """Every listed name means itself."""
    assert [get_profile(name).name for name in profile_names()] == list(profile_names())


def test_compute_counts_the_operators_of_the_iteration():
    """10 + 20 for a (its input gradient is nobody's), 30 + 40 + 50 for b: 150 ns."""
    assert TOY.compute_ns == 150
    assert (TOY.parameter_bytes, TOY.skew) == (16, 0.75)


def test_scaling_truncates_once():
    """0.5 x (10, 20, 30, 40, 50); 0.6 x 0.5 x 30 = 9 from the original, not from 0.5 x."""
    half = TOY.scaled(0.5)
    assert [layer.forward_ns for layer in half.layers] == [5, 15]
    assert half is TOY.scaled(0.5)
    assert half.compute_ns == 5 + 10 + 15 + 20 + 25
    assert half.scaled(0.6).layers[1].forward_ns == 9  # 30 x 0.3
    assert half.scaled(2) is TOY
    assert half.parameter_bytes == TOY.parameter_bytes


def test_the_factor_is_part_of_equality():
    """Two speeds must never share an answer in a cache; equal content must, in any process."""
    assert TOY.scaled(0.5) != TOY
    assert hash(TOY) != hash(TOY.scaled(0.5))
    assert pickle.loads(pickle.dumps(TOY.scaled(0.5))) == TOY.scaled(0.5)
    assert Profile("toy", TOY.layers) == TOY
    assert Profile("other", TOY.layers) != TOY


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_wrong_factors(factor):
    """A GPU of speed 0 would never finish."""
    with pytest.raises(InputError, match="wrong factor"):
        TOY.scaled(factor)


def test_wrong_layers():
    """Negative times and fractions of a byte are mistakes of whoever wrote the profile."""
    with pytest.raises(InputError, match="gradient_bytes"):
        Profile("bad", (Layer("a", 1, 1, 1, -4),))
    with pytest.raises(InputError, match="forward_ns"):
        Profile("bad", (Layer("a", 1.5, 1, 1, 4),))
    with pytest.raises(InputError, match="needs layers"):
        Profile("bad", ())


def test_largest_remainder():
    """10 by 1 : 1 : 1 is 3.33 each: the first gets the odd one; weight 0 gets nothing."""
    assert divide(10, [1, 1, 0, 1]) == [4, 3, 0, 3]
    assert divide(7, [1, 2]) == [2, 5]  # 2.33 and 4.67


def test_the_start_up_of_collectives_is_kept_and_never_scaled():
    """A launch takes as long on a fast GPU; it tells profiles apart, in caches too; 0 is no launch."""
    launched = TOY.with_launch(70)
    assert (TOY.launch_ns, launched.launch_ns, launched.scaled(0.5).launch_ns) == (0, 70, 70)
    assert TOY.scaled(0.5).with_launch(70) == launched.scaled(0.5)
    assert launched.compute_ns == TOY.compute_ns
    assert launched != TOY
    assert launched.digest != TOY.digest
    assert launched.with_launch(0) == TOY
    assert TOY.scaled(0.5).with_launch(70).scaled(2) == launched  # from the original: nothing truncated twice


def test_an_update_delay_is_of_every_layer_and_never_scaled():
    """Whichever all-reduce ends last, the iteration ends so much later; 0 is no delay."""
    delayed = TOY.with_update(70)
    assert [layer.update_ns for layer in delayed.scaled(0.5).layers] == [70, 70]
    assert TOY.scaled(0.5).with_update(70) == delayed.scaled(0.5)
    assert TOY.with_launch(5).with_update(70) == delayed.with_launch(5)
    assert delayed.digest != TOY.digest
    assert delayed.with_update(0) == TOY


@pytest.mark.parametrize("launch_ns", [-1, 1.5, True])
def test_a_launch_is_a_whole_number(launch_ns):
    """Times are whole ns everywhere."""
    with pytest.raises(InputError, match="launch_ns"):
        TOY.with_launch(launch_ns)
