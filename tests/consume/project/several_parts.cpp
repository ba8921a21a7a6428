// A plug-in of several parts: a quantization pattern for Max, a clean-up rule and a calibrator.
#include <algorithm>

#include <tare/calibrator.h>
#include <tare/simulate.h>

namespace {

using namespace tare;

ValueId affine_maximum(AffineBuilder& builder, const Match& match) {
  const Node& node = builder.graph().node(match.root());
  return builder.apply(
      node, {builder.activation(match.value("a")), builder.activation(match.value("b"))});
}

QuantPattern maximum() {
  return {.name = "maximum",
          .summary = "the larger of two activations",
          .follows_neighbours = true,
          .pattern = [] { return op("Max").with(any().as("a"), any().as("b")); },
          .simulate = affine_maximum,
          .quantize = affine_maximum};
}

RewriteRule negated_twice() {
  return {
      .name = "negated_twice",
      .summary = "removes two negations in a row",
      .pattern = [] { return op("Neg").with(op("Neg").with(any().as("x"))); },
      .rewrite = [](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
        Patch patch(graph);
        patch.replace(graph.node(match.root()).outputs[0], match.value("x"));
        return patch;
      }};
}

class Symmetric final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    const double end = std::max(-observed.low(), observed.high());
    return {-end, end};
  }
  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    // What this device's table of sigmoids gives.
    if (point.op == "Sigmoid" && spec.storage == DType::kUint8) {
      return ScaleAndZeroPoint{1.0F / 256, 0};
    }
    return choose(observed, spec);
  }
};

}  // namespace

TARE_PLUGIN_ENTRY(parts) {
  parts.add(maximum());
  parts.add(negated_twice());
  parts.add(CalibratorInfo{
      .name = "symmetric_max",
      .summary = "as far below zero as above, but for sigmoids",
      .options = {},
      .make = [](const CalibratorOptions&) { return std::make_unique<Symmetric>(); }});
}
