// What Tare has to know of the Lark beside lark.yaml.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <tare/calibrator.h>
#include <tare/integer_graph.h>
#include <tare/simulate.h>

namespace {

using namespace tare;

std::int64_t groups_of(const Node& conv) {
  return conv.attributes.integer("group", 1);
}

/// There is no kernel for groups, so the kernels of all groups become one with zeros between.
RewriteRule dense_kernels() {
  return {
      .name = "lark_dense_kernels",
      .summary = "spells grouped convolutions as ordinary ones",
      .pattern = [] { return op("Conv").with(any(), constant().as("w"), optional(any())); },
      .rewrite = [](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
        const Node& conv = graph.node(match.root());
        const std::int64_t groups = groups_of(conv);
        if (groups == 1) {
          return Refusal{"it has one group"};
        }
        const Tensor& kernels = *graph.constant(match.value("w"));
        Shape shape = kernels.shape();
        const std::int64_t own_inputs = shape[1];
        const std::int64_t own_outputs = shape[0] / groups;
        const std::int64_t window = kernels.size() / (shape[0] * own_inputs);
        shape[1] *= groups;
        Tensor dense(DType::kFloat32, shape);
        const auto from = kernels.view<float>();
        const auto to = dense.mutable_view<float>();
        for (std::int64_t output = 0; output < shape[0]; ++output) {
          const std::int64_t first = output / own_outputs * own_inputs;
          for (std::int64_t i = 0; i < own_inputs * window; ++i) {
            to[static_cast<std::size_t>((output * shape[1] + first) * window + i)] =
                from[static_cast<std::size_t>(output * own_inputs * window + i)];
          }
        }
        Patch patch(graph);
        std::vector<ValueId> operands = conv.inputs;
        operands[1] = patch.add_constant(graph.name(match.value("w")) + "_dense", dense);
        Attributes attributes = conv.attributes;
        attributes.erase("group");
        patch.replace_node(conv, "Conv", operands, attributes);
        return patch;
      }};
}

/// Sums take no bias: what is left of one when it is added behind the shift is an Add.
ValueId affine_conv(AffineBuilder& builder, const Match& match) {
  const Node& conv = builder.graph().node(match.root());
  const ValueId x = builder.activation(match.value("x"));
  const ValueId w = builder.weight(conv, match.value("w"), 0);
  return builder.accumulate(conv, {x, w});
}

QuantPattern conv() {
  return {.name = "lark_conv",
          .summary = "convolution without groups and bias, in a window of at most 11",
          .pattern =
              [] {
                return op("Conv")
                    .with(any().as("x"), constant().as("w"))
                    .where([](const Graph& graph, const Node& node) {
                      const Shape& window = graph.type(node.inputs[1]).shape;
                      return groups_of(node) == 1 &&
                             std::all_of(window.begin() + 2, window.end(),
                                         [](std::int64_t extent) { return extent <= 11; });
                    });
              },
          .simulate = affine_conv,
          .quantize = affine_conv};
}

/// The power of two that lets all but one value in a thousand in.
class NearlyAll final : public Calibrator {
 public:
  explicit NearlyAll(double share) : share_(share) {}
  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    std::vector<HistogramSegment> segments = histogram_segments(observed);
    std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
      return std::abs(a.middle()) > std::abs(b.middle());
    });
    auto outside = static_cast<std::uint64_t>(static_cast<double>(observed.count()) * share_);
    double reach = std::max(-observed.low(), observed.high());
    for (const HistogramSegment& segment : segments) {
      if (segment.count > outside) {
        break;
      }
      outside -= segment.count;
      reach = std::min(std::abs(segment.from), std::abs(segment.to));
    }
    return {std::max(-reach, std::min(observed.low(), 0.0)),
            std::min(reach, std::max(observed.high(), 0.0))};
  }
  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    const Range range = choose(observed, spec);
    const double reach = std::max(-range.low, range.high);
    if (point.is_weight || reach == 0) {
      return range;
    }
    const double most =
        static_cast<double>(storage_range(spec.storage, spec.narrow_range, spec.bits).high);
    return ScaleAndZeroPoint{static_cast<float>(std::exp2(std::ceil(std::log2(reach / most)))),
                             0};
  }

 private:
  double share_;
};

/// Files for the device have its own operator in the place of a unit.
ExportOperator conv_unit() {
  return {.name = "lark_conv_add_relu",
          .summary = "a convolution, its shift, its bias, a residual and a Relu",
          .domain = "com.example.lark",
          .op = "ConvAddRelu",
          .pattern = [] { return parse_pattern("Relu?(Add?(Add?(Requantize(Conv))))"); },
          .attributes =
              [](const Graph& integer, const OffloadRegion& region) {
                std::vector<std::int64_t> shifts;
                for (const NodeId id : region.nodes) {
                  const Node& node = integer.node(id);
                  if (node.op == "Requantize") {
                    // A significand of 2^30 stands for a half.
                    shifts.push_back(1 - rescaling_factors(integer, node)[0].exponent);
                  }
                }
                return Attributes{{"shifts", shifts}};
              },
          .targets = {"lark"}};
}

LintRule what_the_device_has() {
  return {.name = "lark_kernels",
          .summary = "no groups, and sums in 14 bits",
          .check =
              [](const Graph& integer, const Target&) {
                std::vector<LintFinding> found;
                for (const NodeId id : integer.topological_order()) {
                  const Node& node = integer.node(id);
                  if (node.op != "Conv" || !integer.type(node.outputs[0]).quant) {
                    continue;
                  }
                  if (groups_of(node) != 1) {
                    found.push_back({node.name, "convolutions have one group",
                                     "it has " + std::to_string(groups_of(node))});
                  }
                  if (node.attributes.integer("accumulator_bits", 32) != 14) {
                    found.push_back({node.name, "accumulators have 14 bits", "its has others"});
                  }
                }
                return found;
              },
          .targets = {"lark"}};
}

}  // namespace

TARE_PLUGIN_ENTRY(parts) {
  parts.add(dense_kernels());
  parts.add(conv());
  parts.add(CalibratorInfo{.name = "lark_nearly_all",
                           .summary = "the power of two that leaves few values outside",
                           .options = {"share"},
                           .make =
                               [](const CalibratorOptions& options) {
                                 return std::make_unique<NearlyAll>(
                                     options.number("share", 0.001));
                               },
                           .clips = true});
  parts.add(conv_unit());
  parts.add(what_the_device_has());
}
