"""The generated layers against published counts, and the tables that the Dally authors measured on."""

from pathlib import Path

import pytest

from netmodels.profiles.architectures import ARCHITECTURES
from netmodels.profiles.architectures.layer_shapes import attention, convolution, linear, lstm, shared_head

WORKLOADS = Path(__file__).resolve().parents[3] / ".." / "shared" / "reference" / "astra_sim" / "workloads"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("AlexNet", "alexnet_B512_astra-sim.csv"),
        ("VGG11", "vgg11_B256_astra-sim.csv"),
        ("ResNet18", "resnet18_B512_astra-sim.csv"),
        ("ResNet50", "resnet50_B512_astra-sim.csv"),
    ],
)
def test_weights_are_those_of_the_measured_layers(name, file):
    """Layer by layer, the weight tensors must be the ones that were measured: generated, not copied."""
    assert [4 * layer.weights for layer in ARCHITECTURES[name]()] == measured_bytes(file)


def test_mobilenet_is_the_small_one():
    """The measured table declares 54 layers and lists 52: all the small model's, in its order."""
    generated = [4 * item.weights for item in ARCHITECTURES["MobileNetV3"]()]
    rest = iter(generated)
    measured = measured_bytes("mobilenet_v3_B512_astra-sim.csv")
    assert (len(generated), len(measured)) == (54, 52)
    assert all(any(item == size for item in rest) for size in measured)


def test_bert_holds_the_measured_layers():
    """The measured table declares 145 layers (24 x 6, a head) and lists 66: all but the head ours."""
    generated = {4 * item.weights for item in ARCHITECTURES["BERT-large"]()}
    measured = set(measured_bytes("BERT-large_B256_astra-sim2.csv"))
    assert measured - generated == {8192}  # qa_outputs: 1024 x 2
    assert len(ARCHITECTURES["BERT-large"]()) == 1 + 24 * 6 + 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("AlexNet", 61_100_840),  # torchvision, down to ShuffleNet
        ("VGG11", 132_863_336),
        ("VGG16", 138_357_544),
        ("VGG19", 143_667_240),
        ("ResNet18", 11_689_512),
        ("ResNet50", 25_557_032),
        ("InceptionV3", 23_834_568),  # 27,161,264 with the auxiliary head of 3,326,696
        ("MobileNetV2", 3_504_872),
        ("MobileNetV3", 2_542_856),
        ("ShuffleNet", 2_278_604),
        ("BERT-large", 335_141_888),  # Hugging Face
        ("GPT-2", 124_439_808),  # Hugging Face
        ("GNMT", 160_671_297),  # NVIDIA's tests of optimizers in apex: "MLPerf GNMT has 160671297 parameters"
        ("LSTM", 33_278 * 200 + 2 * (4 * 200 * 400 + 8 * 200) + 33_278 * 201),  # by hand
        ("DQN", (256 + 1) * 32 + (512 + 1) * 64 + (576 + 1) * 64 + (3136 + 1) * 512 + 513 * 4),  # by hand
        ("A2C", 1_686_180 + 513),  # DQN and the value
        ("Llama-2-7B", 6_738_415_616),  # Hugging Face
        ("Llama-2-70B", 68_976_648_192),  # Hugging Face
    ],
)
def test_parameters_are_the_published_ones(name, parameters):
    """The all-reduced bytes follow from them; exact to the last one if the exact count is public."""
    assert parameters_of(name) == parameters


@pytest.mark.parametrize(
    ("name", "parameters", "tolerance"),
    [
        ("Transformer", 65e6, 0.04),  # the paper's Table 3; it rounds, and biases are not said
        ("Transformer-XL", 192e6, 0.001),  # NVIDIA's wt103_base
        ("BAT", 2.6e6, 0.02),  # the paper, section 4, "about"
        ("DeepSpeech", 86.6e6, 0.001),  # two 2 x 4096 x 2048 of 16.8 million each in 4 layers, 19.2, 0.3
        ("M5", 0.5e6, 0.12),  # the paper's Table 1 cuts off: 550,912 weights of convolutions
        ("WaveNet", 50 * 22_112 + 16_384 + 262_656 + 131_328, 0),  # by hand; none is published
    ],
)
def test_parameters_are_near_rounded_ones(name, parameters, tolerance):
    """If a paper rounds, or leaves sizes open, our choices must still give its figure."""
    assert parameters_of(name) == pytest.approx(parameters, rel=tolerance)


@pytest.mark.parametrize(
    ("name", "giga_macs"),
    [
        ("AlexNet", 0.71),
        ("VGG11", 7.61),
        ("VGG16", 15.47),
        ("VGG19", 19.63),
        ("ResNet18", 1.81),
        ("ResNet50", 4.09),
        ("InceptionV3", 5.71),
        ("MobileNetV2", 0.30),
        ("MobileNetV3", 0.06),
        ("ShuffleNet", 0.146),  # the paper; torchvision: 0.14
    ],
)
def test_multiply_accumulates_are_the_published_ones(name, giga_macs):
    """They divide the compute time over the layers; torchvision's documentation lists them as GFLOPS."""
    assert sum(layer.macs for layer in ARCHITECTURES[name]()) / 1e9 == pytest.approx(giga_macs, abs=0.01)


@pytest.mark.parametrize(
    ("name", "tokens", "attention_share"),
    [
        ("BERT-large", 384, 24 * 2 * 384 / (24 * 12 * 1024)),  # per layer: 2 x tokens x width, 12 x width^2
        ("Llama-2-7B", 4096, 32 * 2 * 4096 * 4096 / 6_607_077_376),  # the weights without the input table
        ("Llama-2-70B", 4096, 80 * 2 * 4096 * 8192 / 68_713_185_280),
    ],
)
def test_work_of_transformers_follows_their_weights(name, tokens, attention_share):
    """Each token goes once through every weight; attention comes on top with its products of activations."""
    layers = ARCHITECTURES[name]()
    worked = tokens * sum(layer.weights for layer in layers if layer.macs)
    assert sum(layer.macs for layer in layers) / worked == pytest.approx(1 + attention_share, rel=0.005)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_layers_with_equal_names_or_negative_values_are_refused(name):
    """Two layers of one name could not be told apart; nothing weighs or works less than nothing."""
    layers = ARCHITECTURES[name]()
    assert len({layer.name for layer in layers}) == len(layers)
    assert all(min(layer.weights, layer.extras, layer.macs) >= 0 for layer in layers)
    assert all(layer.weights + layer.extras + layer.macs for layer in layers)


def test_convolutions_by_hand():
    """4 channels to 6, 3 taps, 5 positions: 72 weights, 6 biases, 360; in two groups half of both."""
    whole = convolution("a", (4, 6), 3, 5, extras=1)
    assert (whole.weights, whole.extras, whole.macs) == (72, 6, 360)
    assert convolution("a", (4, 6), 3, 5, groups=2).macs == 180


def test_recurrent_layers_by_hand():
    """4 gates of 3 units that see 2 inputs and 3 states: 60 weights, 24 biases, worked at each of 5 steps."""
    one = lstm("a", 2, 3, 5)
    assert (one.weights, one.extras, one.macs) == (60, 24, 300)
    both = lstm("a", 2, 3, 5, directions=2, biases=1)
    assert (both.weights, both.extras, both.macs) == (120, 24, 600)


def test_attention_by_hand():
    """Width 4, 3 tokens that ask 5 with keys 2 wide: 3 x 16, 5 x 8 twice, 3 x 16 + 2 x 3 x 5 x 4 = 168."""
    layers = attention("a", 4, 3, bias=1, norm=2, context=5, pair_width=2)
    assert [layer.weights for layer in layers] == [16, 8, 8, 16]
    assert [layer.extras for layer in layers] == [4, 2, 2, 12]
    assert [layer.macs for layer in layers] == [48, 40, 40, 168]


def test_shared_weights_count_once():
    """The head of 4 x 10 works as much as one of its own, and weighs nothing."""
    head = shared_head("a", 4, 10, times=3)
    assert (head.weights, head.macs) == (0, linear("a", 4, 10, times=3).macs)


def parameters_of(name):
    """Return all parameters of a model."""
    return sum(layer.weights + layer.extras for layer in ARCHITECTURES[name]())


def measured_bytes(file):
    """Return the gradient bytes of a measured table, or skip where it is absent."""
    if not WORKLOADS.is_dir():
        pytest.skip(f"measured layer tables are not on this machine ({WORKLOADS})")
    lines = (WORKLOADS / file).read_text().splitlines()[2:]
    return [int(line.split()[10]) for line in lines if len(line.split()) >= 12]
