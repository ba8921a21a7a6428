#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits network and writes digits.onnx, digits_calibration.h5 and digits_evaluation.h5 beside this script.

Needs the Debian packages python3-torch, python3-sklearn, python3-h5py and python3-onnx; takes a few minutes on two
cores. Nothing is downloaded: the images come with scikit-learn. See README.md for what the files hold.
"""

import hashlib
import io
from pathlib import Path

import h5py
import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

FOLDER = Path(__file__).resolve().parent
SEED = 20240917
TRAINING_SAMPLES = 1200  # of 1797; all the others are held out for evaluation
CALIBRATION_SAMPLES = 200  # the first of the training samples
EPOCHS = 60
BATCH = 50


# ---------------------------------------------------------------- the images


def upsample(images):
    """[N, 8, 8] of 0..16 to uint8 [N, 1, 16, 16]: bilinear, half-pixel centres, edges repeated, exact in integers.

    Each output pixel is a sum of four input pixels with weights in sixteenths, hence 0..256, clipped to 255.
    """

    def double(x):  # along the last axis; result is four times the interpolated value
        left = np.concatenate([x[..., :1], x[..., :-1]], axis=-1)
        right = np.concatenate([x[..., 1:], x[..., -1:]], axis=-1)
        return np.stack([left + 3 * x, 3 * x + right], axis=-1).reshape(*x.shape[:-1], -1)

    x = double(images.astype(np.int64))
    x = double(x.swapaxes(1, 2)).swapaxes(1, 2)
    return np.minimum(x, 255).astype(np.uint8)[:, None]


def load():
    """Images, labels and the two disjoint index sets, in a fixed random order."""
    digits = load_digits()
    order = np.random.RandomState(SEED).permutation(len(digits.target))
    return upsample(digits.images), digits.target.astype(np.int64), order[:TRAINING_SAMPLES], order[TRAINING_SAMPLES:]


def write_samples(name, images, mean, std, labels=None):
    with h5py.File(FOLDER / name, "w") as file:
        dataset = file.create_dataset("image", data=images, chunks=(32, *images.shape[1:]), compression="gzip",
                                      compression_opts=9)
        dataset.attrs["mean"] = mean
        dataset.attrs["std"] = std
        if labels is not None:
            file.create_dataset("labels", data=labels)


def read_samples(name):
    """The normalised images of a file as a tensor, and its labels if it has any."""
    with h5py.File(FOLDER / name, "r") as file:
        dataset = file["image"]
        mean, std = (dataset.attrs[key].reshape(1, -1, 1, 1) for key in ("mean", "std"))
        images = (dataset[:].astype(np.float32) - mean) / std
        return torch.from_numpy(images), file["labels"][:] if "labels" in file else None


# --------------------------------------------------------------- the network


class ConvBatchNorm(nn.Sequential):
    """Convolution, batch normalisation and, if given, an activation; padding keeps the size at stride 1."""

    def __init__(self, inputs, outputs, kernel, stride=1, groups=1, activation=None):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(outputs)
        if activation is not None:
            self.act = activation()


class Residual(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is a strided 1x1 projection where the shape changes."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = ConvBatchNorm(inputs, outputs, 3, stride, activation=nn.ReLU)
        self.conv2 = ConvBatchNorm(outputs, outputs, 3)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else ConvBatchNorm(inputs, outputs, 1, stride)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.conv2(self.conv1(x)) + self.shortcut(x))


class InvertedResidual(nn.Module):
    """1x1 expansion, 3x3 depthwise, 1x1 linear projection, and an addition where the shape stays."""

    def __init__(self, inputs, outputs, expansion, stride=1):
        super().__init__()
        hidden = inputs * expansion
        self.add = stride == 1 and inputs == outputs
        self.expand = ConvBatchNorm(inputs, hidden, 1, activation=nn.ReLU6)
        self.depthwise = ConvBatchNorm(hidden, hidden, 3, stride, groups=hidden, activation=nn.ReLU6)
        self.project = ConvBatchNorm(hidden, outputs, 1)

    def forward(self, x):
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.add else y


class Reduction(nn.Module):
    """Halves the size: a strided convolution beside a max pool, concatenated; channels grow by `added`."""

    def __init__(self, inputs, added):
        super().__init__()
        self.conv = ConvBatchNorm(inputs, added, 3, 2, activation=nn.ReLU)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return torch.cat([self.conv(x), self.pool(x)], dim=1)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvBatchNorm(1, 16, 3, activation=nn.ReLU)  # 16 x 16 x 16
        self.residual1 = Residual(16, 16)
        self.residual2 = Residual(16, 32, stride=2)  # 32 x 8 x 8
        self.inverted1 = InvertedResidual(32, 32, expansion=3)
        self.reduction = Reduction(32, 16)  # 48 x 4 x 4
        self.inverted2 = InvertedResidual(48, 64, expansion=3)
        self.inverted3 = InvertedResidual(64, 64, expansion=2)
        self.features = nn.Conv2d(64, 96, 1)  # has a bias and no batch normalisation
        self.act = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classifier = nn.Linear(96, 10)

    def forward(self, x):
        x = self.residual2(self.residual1(self.stem(x)))
        x = self.inverted3(self.inverted2(self.reduction(self.inverted1(x))))
        return self.classifier(self.flatten(self.pool(self.act(self.features(x)))))


# -------------------------------------------------------------- the training


def augment(images):
    """Each image turned, scaled and moved a little."""
    count = len(images)
    angle, zoom = (torch.rand(count) - 0.5) * 0.4, 1 + (torch.rand(count) - 0.5) * 0.3
    shift = (torch.rand(count, 2, 1) - 0.5) * 0.3
    cos, sin = zoom * torch.cos(angle), zoom * torch.sin(angle)
    turn = torch.stack([cos, -sin, sin, cos], dim=1).reshape(count, 2, 2)
    grid = functional.affine_grid(torch.cat([turn, shift], dim=2), images.shape, align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def train(images, labels):
    """A fixed number of epochs; nothing is chosen by looking at the held-out samples."""
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    steps = EPOCHS * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.004, total_steps=steps)
    model.train()
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = functional.cross_entropy(model(augment(images[batch])), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: training loss {total / len(images):.4f}", flush=True)
    return model.eval()


def export(model):
    """Writes the model as it stands: in evaluation mode, but with every batch normalisation as a node of its own."""
    buffer = io.BytesIO()
    torch.onnx.export(model, torch.zeros(1, 1, 16, 16), buffer, opset_version=13, input_names=["image"],
                      output_names=["logits"], dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    graph = onnx.load_from_string(buffer.getvalue())
    graph.graph.name = "digits"
    onnx.checker.check_model(graph, full_check=True)
    onnx.save(graph, str(FOLDER / "digits.onnx"))


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)

    images, labels, training, evaluation = load()
    calibration = training[:CALIBRATION_SAMPLES]
    mean, std = (np.array([value], dtype=np.float32).round(1) for value in (images[training].mean(),
                                                                          images[training].std()))
    write_samples("digits_calibration.h5", images[calibration], mean, std)
    write_samples("digits_evaluation.h5", images[evaluation], mean, std, labels[evaluation])

    normalised = torch.from_numpy((images[training].astype(np.float32) - mean) / std)
    model = train(normalised, torch.from_numpy(labels[training]))
    export(model)

    held_out, expected = read_samples("digits_evaluation.h5")
    with torch.no_grad():
        right = (model(held_out).argmax(dim=1).numpy() == expected).sum()
    print(f"mean {mean[0]:.1f}, std {std[0]:.1f}")
    print(f"held-out accuracy: {right} of {len(expected)} = {100 * right / len(expected):.2f} %")
    for name in ("digits.onnx", "digits_calibration.h5", "digits_evaluation.h5"):
        content = (FOLDER / name).read_bytes()
        print(f"{hashlib.sha256(content).hexdigest()}  {name}  {len(content)} bytes")


if __name__ == "__main__":
    main()
