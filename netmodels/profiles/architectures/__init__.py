"""Models as lists of layers, generated from their published architectures.

Table 1 of the Dally paper, the models of the Muri, Synergy, CODA and Lyra papers, and two decoders.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from netmodels.profiles.architectures.decoders import llama2_7b, llama2_70b
from netmodels.profiles.architectures.language import bert_large, gpt2, transformer_base, transformer_xl
from netmodels.profiles.architectures.layer_shapes import LayerShape
from netmodels.profiles.architectures.mobile_vision import mobilenet_v2, mobilenet_v3_small, shufflenet_v2
from netmodels.profiles.architectures.recurrent import bat, gnmt, lstm_words
from netmodels.profiles.architectures.reinforcement import a2c, dqn
from netmodels.profiles.architectures.speech import deepspeech, m5, wavenet
from netmodels.profiles.architectures.vision import (
    alexnet,
    inception_v3,
    resnet18,
    resnet50,
    vgg11,
    vgg16,
    vgg19,
)

__all__ = ["ARCHITECTURES", "LayerShape"]

ARCHITECTURES: Mapping[str, Callable[[], list[LayerShape]]] = MappingProxyType(
    {
        "AlexNet": alexnet,
        "VGG11": vgg11,
        "VGG16": vgg16,
        "VGG19": vgg19,
        "ResNet18": resnet18,
        "ResNet50": resnet50,
        "InceptionV3": inception_v3,
        "MobileNetV2": mobilenet_v2,
        "MobileNetV3": mobilenet_v3_small,
        "ShuffleNet": shufflenet_v2,
        "BERT-large": bert_large,
        "GPT-2": gpt2,
        "Transformer": transformer_base,
        "Transformer-XL": transformer_xl,
        "GNMT": gnmt,
        "LSTM": lstm_words,
        "BAT": bat,
        "DeepSpeech": deepspeech,
        "M5": m5,
        "WaveNet": wavenet,
        "A2C": a2c,
        "DQN": dqn,
        "Llama-2-7B": llama2_7b,
        "Llama-2-70B": llama2_70b,
    }
)
