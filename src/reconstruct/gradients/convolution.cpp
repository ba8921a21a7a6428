// Convolutions, whose gradients are operators of the executor: ConvInputGradient(dY, W) and
// ConvWeightGradient(X, dY), with the attributes of the convolution. A ConvTranspose is the
// former, so its own gradients are a convolution and the latter with exchanged operands.
#include "reconstruct/gradient_rule.h"

#include <numeric>

namespace tare {
namespace {

using C = GradientContext;

/// Sums over all axes but the channels.
ValueId bias_gradient(C& c) {
  std::vector<std::int64_t> axes(c.shape(c.gradient()).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + 1);
  return c.reshape(c.sum(c.gradient(), axes), c.shape(c.input(2)));
}

void convolution(C& c) {
  if (c.wants(0)) {
    c.give(0, c.add("ConvInputGradient", {c.gradient(), c.input(1)}, c.shape(c.input(0)),
                    c.attributes()));
  }
  if (c.wants(1)) {
    c.give(1, c.add("ConvWeightGradient", {c.input(0), c.gradient()}, c.shape(c.input(1)),
                    c.attributes()));
  }
  if (c.wants(2)) {
    c.give(2, bias_gradient(c));
  }
}

/// The convolution that a ConvTranspose is the transpose of: what it cuts off is padding.
Attributes forward_attributes(C& c) {
  Attributes attributes = c.attributes();
  const Shape& x = c.shape(c.input(0));
  const Shape& w = c.shape(c.input(1));
  const Shape& y = c.shape(c.output());
  const std::size_t axes = x.size() - 2;
  const std::vector<std::int64_t> ones(axes, 1);
  const auto strides = attributes.integers("strides", ones);
  const auto dilations = attributes.integers("dilations", ones);
  auto pads = attributes.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  const bool derived = auto_pad.starts_with("SAME") || attributes.has("output_shape");
  const auto more = attributes.integers("output_padding", std::vector<std::int64_t>(axes, 0));
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t whole =
        (x[i + 2] - 1) * strides[i] + (w[i + 2] - 1) * dilations[i] + 1 + more[i];
    if (derived) {
      const std::int64_t cut = std::max<std::int64_t>(0, whole - y[i + 2]);
      pads[i] = auto_pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    }
    // Just as much as the last window reaches, less where the result was made longer.
    pads[i + axes] = whole - more[i] - pads[i] - y[i + 2];
  }
  for (const char* name : {"auto_pad", "output_shape", "output_padding"}) {
    attributes.erase(name);
  }
  attributes.set("pads", pads);
  return attributes;
}

void transposed_convolution(C& c) {
  Attributes attributes = forward_attributes(c);
  // A Conv cannot have negative padding; what is beyond its reach is cut off.
  ValueId gradient = c.gradient();
  auto pads = attributes.integers("pads");
  const std::size_t axes = pads.size() / 2;
  std::vector<std::int64_t> cut(2 * (axes + 2), 0);
  Shape shape = c.shape(gradient);
  bool cuts = false;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0) {
      cut[i < axes ? i + 2 : i + 4] = pads[i];
      shape[i % axes + 2] += pads[i];
      pads[i] = 0;
      cuts = true;
    }
  }
  if (cuts) {
    gradient = c.add("Pad", {gradient, c.list(cut)}, shape);
    attributes.set("pads", pads);
  }
  if (c.wants(0)) {
    c.give(0, c.add("Conv", {gradient, c.input(1)}, c.shape(c.input(0)), attributes));
  }
  if (c.wants(1)) {
    c.give(1, c.add("ConvWeightGradient", {gradient, c.input(0)}, c.shape(c.input(1)),
                    attributes));
  }
  if (c.wants(2)) {
    c.give(2, bias_gradient(c));
  }
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(convolution) {
  using namespace tare;
  return {{{"Conv"}, convolution}, {{"ConvTranspose"}, transposed_convolution}};
}
