"""Writes networks of well-known architectures with random weights, and samples, to measure how fast their files are.

usage: write_architectures.py FOLDER [NAME ...]

For each: NAME.onnx, of fixed shapes as exporters write them, batch norms folded, and NAME.h5 with 24 smooth images, or
sequences of normal values. Accuracy says nothing of such networks, speed does: it depends on shapes. Needs numpy, onnx and h5py.
"""
import os
import sys

import h5py
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 24


class Network:
    """A graph in the making. Values are names; `channels` knows the extent of their channels."""

    def __init__(self, *shape):
        self.shape = [1, *shape]
        self.axes = len(shape) - 1  # that windows extend along
        self.nodes, self.constants = [], []
        self.channels = {"x": self.shape[1]}
        self.random = numpy.random.default_rng(1)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def number(self, value):
        return self.constant(numpy.float32(value))

    def weights(self, *shape, scale=0.1):
        return self.constant((self.random.standard_normal(shape) * scale).astype(numpy.float32))

    def op(self, op, inputs, channels=None, results=1, **attributes):
        """The result, or several. They have the channels of the first operand unless told."""
        at = len(self.nodes)
        names = [f"{op.lower()}_{at}"] if results == 1 else [f"{op.lower()}_{at}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{at}", **attributes))
        for name in names:
            self.channels[name] = channels or self.channels.get(inputs[0])
        return names[0] if results == 1 else names

    def activation(self, x, kind):
        if kind is None:
            return x
        if kind == "silu":
            return self.op("Mul", [x, self.op("Sigmoid", [x])])
        if kind == "mish":
            return self.op("Mul", [x, self.op("Tanh", [self.op("Softplus", [x])])])
        if kind == "relu6":
            return self.op("Clip", [x, self.number(0), self.number(6)])
        if kind == "prelu":
            return self.op("PRelu", [x, self.weights(self.channels[x], 1, 1, scale=0.3)])
        if kind == "gelu":
            erf = self.op("Erf", [self.op("Div", [x, self.number(2 ** 0.5)])])
            return self.op("Mul", [self.op("Mul", [x, self.op("Add", [erf, self.number(1)])]), self.number(0.5)])
        op = {"relu": "Relu", "leaky": "LeakyRelu", "hswish": "HardSwish", "sigmoid": "Sigmoid"}[kind]
        return self.op(op, [x], **({"alpha": 0.1} if kind == "leaky" else {}))

    def conv(self, x, channels, kernel=1, stride=1, act="relu", group=1, dilation=1, pad=None):
        inputs, window = self.channels[x] // group, [kernel] * self.axes
        weights = self.weights(channels, inputs, *window, scale=(2 / (inputs * kernel ** self.axes)) ** 0.5)
        pad = dilation * (kernel - 1) // 2 if pad is None else pad
        y = self.op("Conv", [x, weights, self.weights(channels)], channels, kernel_shape=window, strides=[stride] * self.axes,
                    pads=[pad] * 2 * self.axes, dilations=[dilation] * self.axes, group=group)
        return self.activation(y, act)

    def depthwise(self, x, kernel=3, stride=1, act="relu"):
        return self.conv(x, self.channels[x], kernel, stride, act, self.channels[x])

    def dense(self, x, channels, act=None):
        inputs = self.channels[x]
        return self.activation(self.op("Gemm", [x, self.weights(inputs, channels, scale=inputs ** -0.5), self.weights(channels)],
                                       channels), act)

    def linear(self, x, inputs, outputs):
        """A product of matrices and a bias, as transformers have them."""
        product = self.op("MatMul", [x, self.weights(inputs, outputs, scale=inputs ** -0.5)], outputs)
        return self.op("Add", [product, self.weights(outputs)])

    def normalized(self, x, size):
        return self.op("LayerNormalization", [x, self.constant(numpy.ones(size, numpy.float32)), self.weights(size)], axis=-1)

    def pool(self, x, kernel=3, stride=2, pad=1, op="MaxPool"):
        return self.op(op, [x], kernel_shape=[kernel] * self.axes, strides=[stride] * self.axes, pads=[pad] * 2 * self.axes)

    def concat(self, values):
        return self.op("Concat", values, sum(self.channels[x] for x in values), axis=1)

    def halves(self, x):
        return self.op("Split", [x], self.channels[x] // 2, results=2, axis=1)

    def upsampled(self, x, mode="nearest"):
        how = {"nearest": {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}}.get(mode, {})
        return self.op("Resize", [x, "", self.constant(numpy.array([1, 1, 2, 2], numpy.float32))], mode=mode, **how)

    def reshaped(self, x, *shape, channels=None):
        return self.op("Reshape", [x, self.constant(numpy.array(shape))], channels)

    def squeezed(self, x, act, gate):
        """Squeeze and excitation."""
        y = self.conv(self.op("GlobalAveragePool", [x]), max(8, self.channels[x] // 4), act=act)
        y = self.conv(y, self.channels[x], act=None)
        y = self.op("HardSigmoid", [y], alpha=1 / 6) if gate == "hard" else self.op("Sigmoid", [y])
        return self.op("Mul", [x, y])

    def classified(self, x, classes=100):
        return [self.dense(self.op("Flatten", [self.op("GlobalAveragePool", [x])]), classes)]

    def write(self, path, results):
        graph = helper.make_graph(self.nodes, "architecture", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in results], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path + ".onnx")
        values = self.random.standard_normal([SAMPLES, *self.shape[1:]]).astype(numpy.float32)
        for axis in range(2, values.ndim) if values.ndim > 3 else ():
            for _ in range(3):
                values = values + numpy.roll(values, 1, axis) + numpy.roll(values, -1, axis)
        with h5py.File(path + ".h5", "w") as file:
            file["x"] = values / values.std()


def residual(net, x, y, channels, stride):
    shortcut = x if stride == 1 and net.channels[x] == channels else net.conv(x, channels, 1, stride, None)
    return net.activation(net.op("Add", [y, shortcut]), "relu")


def resnet18(net):
    x = net.pool(net.conv("x", 64, 7, 2))
    for channels, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        x = residual(net, x, net.conv(net.conv(x, channels, 3, stride), channels, 3, 1, None), channels, stride)
    return net.classified(x)


def resnet26(net):
    x = net.pool(net.conv("x", 64, 7, 2))
    for channels, stride in ((256, 1), (256, 1), (512, 2), (512, 1), (1024, 2), (1024, 1)):
        y = net.conv(net.conv(net.conv(x, channels // 4), channels // 4, 3, stride), channels, act=None)
        x = residual(net, x, y, channels, stride)
    return net.classified(x)


def regnet(net):
    x = net.conv("x", 32, 3, 2)
    for channels, stride in ((64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        y = net.conv(net.conv(net.conv(x, channels), channels, 3, stride, group=channels // 16), channels, act=None)
        x = residual(net, x, y, channels, stride)
    return net.classified(x)


def video(net):
    x = net.pool(net.conv(net.pool(net.conv("x", 32, 3), 2, 2, 0), 64, 3), 2, 2, 0)
    return net.classified(net.conv(net.conv(x, 96, 3), 96, 3))


def pointnet(net):
    x = net.conv(net.conv(net.conv("x", 64), 128), 512)
    x = net.op("ReduceMax", [x], 512, axes=[2], keepdims=0)
    return [net.dense(net.dense(net.dense(x, 256, "relu"), 128, "relu"), 40)]


def inverted(net, x, channels, stride, expansion, kernel=3, act="relu6", gate=None):
    y = net.conv(x, net.channels[x] * expansion, act=act) if expansion > 1 else x
    y = net.depthwise(y, kernel, stride, act)
    if gate:
        y = net.squeezed(y, "relu" if gate == "hard" else act, gate)
    y = net.conv(y, channels, act=None)
    return net.op("Add", [x, y]) if stride == 1 and net.channels[x] == channels else y


def mobilenet_v2(net):
    x = inverted(net, net.conv("x", 32, 3, 2, "relu6"), 16, 1, 1)
    for channels, count, stride in ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        for i in range(count):
            x = inverted(net, x, channels, stride if i == 0 else 1, 6)
    return net.classified(net.conv(x, 1280, act="relu6"))


def mobilenet_v3(net):
    x = inverted(net, net.conv("x", 16, 3, 2, "hswish"), 16, 2, 1, act="relu", gate="hard")
    for channels, kernel, expansion, stride, act, gate in (
            (24, 3, 4, 2, "relu", None), (24, 3, 4, 1, "relu", None), (40, 5, 4, 2, "hswish", "hard"),
            (40, 5, 6, 1, "hswish", "hard"), (48, 5, 3, 1, "hswish", "hard"), (96, 5, 6, 2, "hswish", "hard")):
        x = inverted(net, x, channels, stride, expansion, kernel, act, gate)
    return net.classified(net.conv(x, 576, act="hswish"))


def efficientnet(net):
    x = inverted(net, net.conv("x", 32, 3, 2, "silu"), 16, 1, 1, act="silu", gate="sigmoid")
    for channels, kernel, stride in ((24, 3, 2), (40, 5, 2), (80, 3, 2), (112, 5, 1), (192, 5, 2)):
        for i in range(2):
            x = inverted(net, x, channels, stride if i == 0 else 1, 6, kernel, "silu", "sigmoid")
    return net.classified(net.conv(x, 640, act="silu"))


def shufflenet(net):
    x, side = net.pool(net.conv("x", 24, 3, 2)), 40
    for channels, count in ((116, 3), (232, 4), (464, 3)):
        for i in range(count):
            half = channels // 2
            if i == 0:
                side //= 2
                left = net.conv(net.depthwise(x, 3, 2, None), half)
                right = net.conv(net.depthwise(net.conv(x, half), 3, 2, None), half)
            else:
                left, right = net.halves(x)
                right = net.conv(net.depthwise(net.conv(right, half), 3, 1, None), half)
            x = net.reshaped(net.concat([left, right]), 1, 2, half, side, side)
            x = net.reshaped(net.op("Transpose", [x], perm=[0, 2, 1, 3, 4]), 1, channels, side, side, channels=channels)
    return net.classified(net.conv(x, 512))


def squeezenet(net):
    x = net.pool(net.conv("x", 64, 3, 2))
    for i, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (64, 256))):
        y = net.conv(x, squeeze)
        x = net.concat([net.conv(y, expand), net.conv(y, expand, 3)])
        x = net.pool(x) if i in (1, 3) else x
    return net.classified(x)


def inception(net):
    x = net.pool(net.conv(net.conv("x", 32, 3, 2), 64, 3))
    for channels in (64, 96, 128):
        half = channels // 2
        x = net.pool(net.concat([net.conv(x, channels), net.conv(net.conv(x, half), channels, 3),
                                 net.conv(net.conv(net.conv(x, half // 2), half, 3), half, 3),
                                 net.conv(net.pool(x, 3, 1, 1, "AveragePool"), half)]))
    return net.classified(x)


def vgg(net):
    x = "x"
    for channels in (32, 64, 128, 256):
        x = net.pool(net.conv(net.conv(x, channels, 3), channels, 3), 2, 2, 0)
    x = net.op("Flatten", [x], 256 * 36)
    return [net.dense(net.dense(x, 256, "relu"), 100)]


def unet(net, act="relu"):
    skips, x = [], "x"
    for channels in (16, 32, 64, 128):
        x = net.conv(net.conv(x, channels, 3, act=act), channels, 3, act=act)
        skips.append(x)
        x = net.pool(x, 2, 2, 0)
    x = net.conv(x, 256, 3, act=act)
    for skip in reversed(skips):
        channels = net.channels[skip]
        x = net.op("ConvTranspose", [x, net.weights(net.channels[x], channels, 2, 2), net.weights(channels)], channels,
                   kernel_shape=[2, 2], strides=[2, 2])
        x = net.conv(net.conv(net.concat([x, skip]), channels, 3, act=act), channels, 3, act=act)
    return [net.conv(x, 1, act="sigmoid")]


def deeplab(net):
    x = inverted(net, net.conv("x", 32, 3, 2, "relu6"), 16, 1, 1)
    for channels, stride in ((24, 2), (24, 1), (32, 2), (32, 1), (64, 1), (96, 1)):
        x = inverted(net, x, channels, stride, 6)
    pyramid = [net.conv(x, 64)] + [net.conv(x, 64, 3, dilation=dilation) for dilation in (2, 4, 6)]
    x = net.conv(net.conv(net.concat(pyramid), 64), 21, act=None)
    return [net.upsampled(net.upsampled(x, "linear"), "linear")]


def yolo(net, act="silu"):
    def conv(x, *how):
        return net.conv(x, *how, act=act)

    def split_block(x, channels, count, adds=True):
        parts = net.halves(conv(x, channels))
        for _ in range(count):
            y = conv(conv(parts[-1], channels // 2, 3), channels // 2, 3)
            parts.append(net.op("Add", [parts[-1], y]) if adds else y)
        return conv(net.concat(parts), channels)

    x = split_block(conv(conv("x", 16, 3, 2), 32, 3, 2), 32, 1)
    p3 = split_block(conv(x, 64, 3, 2), 64, 2)
    p4 = split_block(conv(p3, 128, 3, 2), 128, 2)
    pools = [conv(split_block(conv(p4, 256, 3, 2), 256, 1), 128)]
    for _ in range(3):
        pools.append(net.pool(pools[-1], 5, 1, 2))
    p5 = conv(net.concat(pools), 256)
    n4 = split_block(net.concat([net.upsampled(p5), p4]), 128, 1, False)
    n3 = split_block(net.concat([net.upsampled(n4), p3]), 64, 1, False)
    m4 = split_block(net.concat([conv(n3, 64, 3, 2), n4]), 128, 1, False)
    m5 = split_block(net.concat([conv(m4, 128, 3, 2), p5]), 256, 1, False)
    heads = []
    for x, places in ((n3, 1024), (m4, 256), (m5, 64)):
        boxes = net.conv(conv(conv(x, 64, 3), 64, 3), 64, act=None)
        scores = net.conv(conv(conv(x, 80, 3), 80, 3), 80, act=None)
        heads.append(net.reshaped(net.concat([boxes, scores]), 1, 144, places))
    boxes, scores = net.op("Split", [net.op("Concat", heads, axis=2), net.constant(numpy.array([64, 80]))], results=2, axis=1)
    boxes = net.op("Softmax", [net.reshaped(boxes, 1, 4, 16, 1344)], axis=2)
    bins = net.constant(numpy.arange(16, dtype=numpy.float32).reshape(1, 1, 16, 1))
    boxes = net.op("ReduceSum", [net.op("Mul", [boxes, bins]), net.constant(numpy.array([2]))], keepdims=0)
    return [net.op("Concat", [boxes, net.op("Sigmoid", [scores])], axis=1)]


def faces(net):
    """The R-Net of MTCNN."""
    x = net.pool(net.conv("x", 32, 3, act="prelu", pad=0), 3, 2, 0)
    x = net.pool(net.conv(x, 64, 3, act="prelu", pad=0), 3, 2, 0)
    x = net.pool(net.conv(x, 64, 3, act="prelu", pad=0), 2, 2, 0)
    return net.classified(net.conv(x, 128, 2, act="prelu", pad=0), 10)


def super_resolution(net):
    first = x = net.conv("x", 32, 3, act=None)
    for _ in range(4):
        x = net.op("Add", [x, net.conv(net.conv(x, 32, 3), 32, 3, act=None)])
    x = net.conv(net.op("Add", [first, x]), 128, 3, act=None)
    return [net.conv(net.op("DepthToSpace", [x], 32, blocksize=2, mode="CRD"), 3, 3, act=None)]


def transformer(net, layers=4, heads=4, act="gelu"):
    tokens, width = net.shape[1:]

    def by_head(x, order):
        return net.op("Transpose", [net.reshaped(x, 1, tokens, heads, width // heads)], perm=order)

    x = "x"
    for _ in range(layers):
        y = net.normalized(x, width)
        query, key, value = (net.linear(y, width, width) for _ in range(3))
        scores = net.op("MatMul", [by_head(query, [0, 2, 1, 3]), by_head(key, [0, 2, 3, 1])])
        scores = net.op("Softmax", [net.op("Mul", [scores, net.number((width // heads) ** -0.5)])], axis=-1)
        y = net.op("Transpose", [net.op("MatMul", [scores, by_head(value, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
        x = net.op("Add", [x, net.linear(net.reshaped(y, 1, tokens, width), width, width)])
        y = net.activation(net.linear(net.normalized(x, width), width, 4 * width), act)
        x = net.op("Add", [x, net.linear(y, 4 * width, width)])
    return [net.dense(net.op("ReduceMean", [net.normalized(x, width)], width, axes=[1], keepdims=0), 100)]


ARCHITECTURES = {
    "deeplab": ((3, 160, 160), deeplab),
    "efficientnet": ((3, 160, 160), efficientnet),
    "faces": ((3, 48, 48), faces),
    "inception": ((3, 128, 128), inception),
    "mobilenet_v2": ((3, 160, 160), mobilenet_v2),
    "mobilenet_v3": ((3, 160, 160), mobilenet_v3),
    "pointnet": ((3, 1024), pointnet),
    "regnet": ((3, 128, 128), regnet),
    "resnet18": ((3, 160, 160), resnet18),
    "resnet26": ((3, 128, 128), resnet26),
    "shufflenet": ((3, 160, 160), shufflenet),
    "squeezenet": ((3, 160, 160), squeezenet),
    "super_resolution": ((3, 64, 64), super_resolution),
    "transformer": ((128, 256), transformer),
    "transformer_relu": ((50, 128), lambda net: transformer(net, 3, act="relu")),
    "unet": ((3, 128, 128), unet),
    "unet_leaky": ((3, 128, 128), lambda net: unet(net, "leaky")),
    "vgg": ((3, 96, 96), vgg),
    "video": ((3, 8, 56, 56), video),
    "yolo": ((3, 256, 256), yolo),
    "yolo_leaky": ((3, 256, 256), lambda net: yolo(net, "leaky")),
    "yolo_mish": ((3, 256, 256), lambda net: yolo(net, "mish")),
}


def main(folder, *names):
    for name in names or ARCHITECTURES:
        shape, build = ARCHITECTURES[name]
        net = Network(*shape)
        net.write(os.path.join(folder, name), build(net))


main(*sys.argv[1:])
