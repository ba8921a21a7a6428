"""The configuration as dataclasses.

Written by scripts/write_config.py from docs/reference/configuration.md.
"""
from __future__ import annotations

import dataclasses
from typing import Any, List, Mapping, Optional, Union


@dataclasses.dataclass
class Input:
    """How samples that are no arrays become values of an input.

    preset: how pictures are prepared, but for the keys below; by default guessed from the shape of the input
    fit: how pictures get their size: resized and cut out of the middle, stretched, with bars on both sides or beside the
      upper left corner, or none: each keeps its own, where the model leaves height and width open
    resize: what pictures are resized to first: the shorter side, or [height, width]
    crop: what is cut out of the middle: one size, or [height, width]
    layout: where the channels are; by default as the shape of the input says
    color: which channels pictures have
    fill: the byte beside a picture that was fit in
    scale: bytes of pictures, or amplitudes of recordings, are multiplied by this first
    mean: and this subtracted: one number, or one for each channel
    std: and divided by this
    rate: samples per second that recordings must have
    length: samples of the windows that recordings are cut into; whole: each file is one sample of its own length, where the
      model leaves that open
    multiple_of: sides of pictures that keep their size, and lengths of whole recordings, are cut to a multiple of this:
      pictures to their middle, recordings at their end
    shape: shape of a sample in files of raw numbers
    dtype: type of the numbers in them, lowest byte first
    batch_axis: axis of the input that the batch is on, 1 where sequences come first; by default 0, or as the shapes of
      samples say
    """

    preset: Optional[str] = None
    fit: Optional[str] = None
    resize: Optional[Union[int, List[int]]] = None
    crop: Optional[Union[int, List[int]]] = None
    layout: Optional[str] = None
    color: Optional[str] = None
    fill: Optional[int] = None
    scale: Optional[Union[float, str]] = None
    mean: Optional[Union[float, List[float]]] = None
    std: Optional[Union[float, List[float]]] = None
    rate: Optional[int] = None
    length: Optional[Union[int, str]] = None
    multiple_of: Optional[int] = None
    shape: Optional[Union[int, List[int]]] = None
    dtype: Optional[str] = None
    batch_axis: Optional[Union[int, str]] = None


@dataclasses.dataclass
class Match:
    """Which nodes a rule is about; all conditions must hold.

    op: operator type, such as Conv
    name: node name; * is any run of characters, ? any one
    pattern: part of such a subgraph of the prepared model, for example MatMul(Softmax, any)
    groups: groups of a convolution; 1 of other layers with weights. A depthwise one has input_channels: 1, groups: 2..
    kernel: each extent of the window of a convolution: 1 for pointwise ones
    input_channels: input channels of a group, or rows of a matrix
    output_channels: output channels, or columns of a matrix
    depth: place among the layers with weights, in the order in which they run, from 0, or from the last, -1, back; -1..0:
      the last and the first
    """

    op: Optional[str] = None
    name: Optional[str] = None
    pattern: Optional[str] = None
    groups: Optional[Union[int, str]] = None
    kernel: Optional[Union[int, str]] = None
    input_channels: Optional[Union[int, str]] = None
    output_channels: Optional[Union[int, str]] = None
    depth: Optional[Union[int, str]] = None


@dataclasses.dataclass
class Layer:
    """A rule for single layers. All that match a node are merged key by key, and later ones win.

    match: which nodes; all conditions must hold. An operator that was fused into another, such as a BatchNormalization,
      stands for that one
    if_present: it is no error if nothing matches, as in configurations for several models
    keep_float: keep these nodes in float; false, or a 'storage' or 'bits' in the entry, quantizes them whatever that costs
    activations: as above, for what these nodes compute, behind a Relu or Clip that is fused with them
    inputs: as above, for what these nodes read
    weights: as above, for these nodes
    accuracy: as above, for these nodes
    requantize: as above, for the sums of products of these nodes
    accumulator: as above, for these nodes
    """

    match: Optional[Match] = None
    if_present: Optional[bool] = None
    keep_float: Optional[bool] = None
    activations: Optional[Union[Activations, str]] = None
    inputs: Optional[Activations] = None
    weights: Optional[Weights] = None
    accuracy: Optional[Accuracy] = None
    requantize: Optional[Requantize] = None
    accumulator: Optional[Accumulator] = None


@dataclasses.dataclass
class Accumulator:
    """The accumulator of sums of products.

    bits: its width; ONNX files cannot express it, engines take 32; auto: as the target says, else 32 (default auto)
    overflow: what happens to a sum that does not fit; auto: as the target says, else saturate (default auto)
    avoid_overflow: widen weight scales until no input can make a sum overflow (default false)
    """

    bits: Optional[Union[int, str]] = None
    overflow: Optional[str] = None
    avoid_overflow: Optional[bool] = None


@dataclasses.dataclass
class Requantize:
    """How the integer graph rescales.

    rounding: how ties are rounded: as in ONNX, in TVM (two kinds), in TensorFlow Lite (two kinds), or by shifts alone; auto:
      as the target says, else half_even (default auto)
    arithmetic: float32, or int32 products in int64; auto: fixed point unless ties are rounded to even (default auto)
    bias_after: add the bias to the rescaled result, in its storage type, and not to the accumulator in int32; auto: as the
      target says, else false (default auto)
    """

    rounding: Optional[str] = None
    arithmetic: Optional[str] = None
    bias_after: Optional[Union[bool, str]] = None


@dataclasses.dataclass
class Embeddings:
    """Tables in which a language model looks tokens up.

    storage: type of their elements; int8 has a scale for each row (default float)
    """

    storage: Optional[str] = None


@dataclasses.dataclass
class Cache:
    """Keys and values that a decoder hands on from step to step.

    storage: type of inputs of [batch,heads,length,size] that come back as outputs with more rows (default float)
    granularity: one scale for each channel of a head, which all heads share, or for each head (default per_channel)
    """

    storage: Optional[str] = None
    granularity: Optional[str] = None


@dataclasses.dataclass
class Accuracy:
    """Methods that reduce the error.

    effort: how much time to spend on accuracy (default default)
    slowdown: how much slower the network may be for keeping its most sensitive layers in float, or in 16 bits where nothing
      is float: 0.01 is 1 %, all of which may be spent; auto: 0 with effort fast; with effort best at least 0.1, or 60 % of
      what integers save by costs of a processor; else as the target says (0.01 to 0.2), or by costs of a processor up to a
      quarter of what integers save, at most 0.15, where each 0.15 gains 1 dB; for detectors at least 0.15, and more where
      results have less than 20 dB otherwise, as long as the network is a tenth faster than in float (default auto)
    equalization: cross-layer equalization and SmoothQuant; auto: where they help and the schedule is sequential (default
      auto)
    bias_correction: bias correction: compensate for the mean error of rounded weights (default true)
    rounding: how weights are rounded; auto: by GPTQ, for the least error of their layer's results, where the schedule is
      sequential, else to nearest (default auto)
    rotation: turn the residual stream of a decoder by a Hadamard matrix, folded into weights, so that channels have equal
      ranges (default none)
    reconstruction: learn weights, biases and ranges from samples by gradients, layer by layer or block by block, which takes
      minutes; auto: block with the effort best where something has fewer than 8 bits, else none (default auto)
    """

    effort: Optional[str] = None
    slowdown: Optional[Union[float, str]] = None
    equalization: Optional[str] = None
    bias_correction: Optional[bool] = None
    rounding: Optional[str] = None
    rotation: Optional[str] = None
    reconstruction: Optional[str] = None


@dataclasses.dataclass
class Calibration:
    """How the data is used.

    schedule: layer by layer, each with the quantization error of those before it, or all from one pass of the float network;
      auto: sequential unless the effort is fast (default auto)
    memory: memory of the activation cache, whose rest is in a temporary file; networks may take as much; 0: what 64 samples
      need, 16 MiB at least (default 0)
    samples: how many samples to use (default all)
    """

    schedule: Optional[str] = None
    memory: Optional[Union[int, str]] = None
    samples: Optional[Union[int, str]] = None


@dataclasses.dataclass
class Weights:
    """How constants of convolutions and products are quantized.

    storage: integer type; by default as the target says (default auto)
    symmetric: symmetric quantization: the zero point is the middle of the storage range; auto: true, but for up to 4 bits
      that lie in bytes of their own, and not in blocks (default auto)
    narrow: narrow range: leave out the lowest storage value, [-127,127]; auto: where weights are symmetric (default auto)
    bits: number of bits; auto: those of the storage type (default auto)
    block: block-wise quantization: so many neighbours along the input channels of a matrix product share a scale, and the
      product runs in float; 0: off (default 0)
    power_of_two: scales are powers of two (default false)
    granularity: one scale for each output channel, or one in all (default per_axis)
    calibrator: what chooses the range; or {name: NAME, OPTION: NUMBER}; auto: mse with up to 4 bits that are not in blocks,
      else max (default auto)
    packed: store two weights of up to 4 bits in each byte, in the form qdq; auto: weights in blocks, and others as the
      target says (default auto)
    accuracy_level: of products with weights in blocks, in the form qoperator: what MatMulNBits may round its operand to, 1
      to 3 float32, float16 and bfloat16, 4 int8, which is fast; 0: the engine decides; auto: as the target says (default
      auto)
    """

    storage: Optional[str] = None
    symmetric: Optional[Union[bool, str]] = None
    narrow: Optional[Union[bool, str]] = None
    bits: Optional[Union[int, str]] = None
    block: Optional[int] = None
    power_of_two: Optional[bool] = None
    granularity: Optional[str] = None
    calibrator: Optional[Union[str, Mapping[str, Any], Any]] = None
    packed: Optional[Union[bool, str]] = None
    accuracy_level: Optional[Union[int, str]] = None


@dataclasses.dataclass
class Activations:
    """How values are quantized that are computed from the inputs.

    storage: integer type; by default as the target says. Not every target has 16-bit types (default auto)
    symmetric: symmetric quantization: the zero point is the middle of the storage range (default false)
    narrow: narrow range: leave out the lowest storage value, [-127,127] or [1,255] (default false)
    bits: number of bits; fewer than the storage type has are cut off by a Clip in the file, more than 8 need a target with
      types of 16 bits; auto: all (default auto)
    power_of_two: scales are powers of two (default false)
    granularity: how many scales a tensor has (default per_tensor)
    calibrator: what chooses the range; or {name: NAME, OPTION: NUMBER} (default mse)
    dynamic: dynamic quantization: operands of products with constant weights get their range while the network runs; the
      rest stays in float (default false)
    """

    storage: Optional[str] = None
    symmetric: Optional[bool] = None
    narrow: Optional[bool] = None
    bits: Optional[Union[int, str]] = None
    power_of_two: Optional[bool] = None
    granularity: Optional[str] = None
    calibrator: Optional[Union[str, Mapping[str, Any], Any]] = None
    dynamic: Optional[bool] = None


@dataclasses.dataclass
class Config:
    """Everything that can be decided about quantizing a network. What is None is as the default says, or as the file.

    version: version of this format (default 1)
    target: target engine, which is going to run the result; a path is relative to this file (default ort-cpu)
    recipe: settings for a kind of networks, which all other keys override; decoder: weights of products have 4 bits in
      blocks of 32, and nothing else is quantized; auto: for networks whose scores of next tokens do not depend on later
      ones, unless the objective, activations or the fallback are configured (default auto)
    processor: what the result is going to run on, for costs that depend on it; auto: this machine; any: none of these
      (default auto)
    objective: quantize where that saves the target time, or everything that can be, or every layer with weights and what is
      looked up in tables; auto: as the target says (default auto)
    fuse_silu: let ONNX Runtime fuse x * Sigmoid(x) in float, which version 1.21 is slow at in convolutional networks, and
      later ones are fast at; auto: as the target says, or as --engine measures it (default auto)
    fallback: whether operators that cannot be quantized stay in float or are an error (default allow)
    activations: values computed from the inputs
    weights: constants of convolutions and products
    embeddings: tables in which a language model looks tokens up
    cache: keys and values that a decoder hands on from step to step
    calibration: how the data is used
    accuracy: methods that reduce the error
    requantize: how the integer graph rescales sums of products
    accumulator: the accumulator of sums of products
    dims: extent of each symbolic dimension of the model
    inputs: how samples that are no arrays become values of the input of that name; * is about all others
    state: inputs that are state: the output that each of them is one step later
    steps: how many samples follow each other before state begins anew; by default all (default all)
    plugins: shared objects with calibrators, metrics, patterns or rules of your own; they run code, so that those of a file
      need '--allow-plugins' (default [])
    layers: rules for single layers; all that match a node are merged key by key, and later ones win

    >>> import tare
    >>> tare.Config(weights=tare.Weights(bits=4)).weights.bits
    4
    """

    version: Optional[int] = None
    target: Optional[str] = None
    recipe: Optional[str] = None
    processor: Optional[str] = None
    objective: Optional[str] = None
    fuse_silu: Optional[Union[bool, str]] = None
    fallback: Optional[str] = None
    activations: Optional[Union[Activations, str]] = None
    weights: Optional[Weights] = None
    embeddings: Optional[Embeddings] = None
    cache: Optional[Cache] = None
    calibration: Optional[Calibration] = None
    accuracy: Optional[Accuracy] = None
    requantize: Optional[Requantize] = None
    accumulator: Optional[Accumulator] = None
    dims: Optional[Mapping[str, int]] = None
    inputs: Optional[Mapping[str, Input]] = None
    state: Optional[Mapping[str, str]] = None
    steps: Optional[Union[int, str]] = None
    plugins: Optional[List[str]] = None
    layers: Optional[List[Layer]] = None
