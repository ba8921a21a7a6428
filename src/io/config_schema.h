#pragma once

#include "tare/config.h"

#include "io/config_rules.h"

#include <string>
#include <vector>

namespace tare {

/// The names that a configuration may mention.
struct KnownNames {
  std::vector<std::string> calibrators;
  std::vector<std::string> targets;
};

// Every key of a configuration file, once. A visitor offers
//   key(name, member, rule, summary)           one value
//   calibrator(name, member, names, summary)   a name, or a map of name and options
//   numbers(name, map, rule, summary)          a map of free names
//   texts(name, list, summary)                 a list of names
//   section(name, summary, describe, word)     a map of keys; the word alone sets that key
//   list(name, members, summary, describe)     a list of such maps
//   require(holds, what, expected)             a rule over several keys
//   place(member)                              where the map stands in its file
// `Values` is ValueConfig or ValueOverride: both have the same keys.

using Storage = std::optional<DType>;

inline std::vector<std::pair<std::string, Storage>> storage_types(const ValueConfig&) {
  return {{"auto", {}}, {"int8", DType::kInt8}, {"uint8", DType::kUint8}};
}
/// A layer without the key keeps the general setting, so there is no `auto` to go back to.
inline std::vector<std::pair<std::string, Storage>> storage_types(const ValueOverride&) {
  return {{"int8", DType::kInt8}, {"uint8", DType::kUint8}};
}
template <class Values>
std::vector<std::pair<std::string, Storage>> activation_types(const Values& values) {
  auto types = storage_types(values);
  types.insert(types.end(), {{"int16", DType::kInt16}, {"uint16", DType::kUint16}});
  return types;
}

template <class Visitor, class Values>
void describe_values(Visitor& visit, Values& values, const KnownNames& known) {
  visit.key("storage", values.storage, one_of(activation_types(values)),
            "integer type; by default as the target says. Not every target has 16-bit types");
  visit.key("symmetric", values.symmetric, truth(),
            "symmetric quantization: the zero point is the middle of the storage range");
  visit.key("power_of_two", values.power_of_two, truth(), "scales are powers of two");
  visit.key("granularity", values.granularity,
            one_of<Granularity>({{"per_tensor", Granularity::kPerTensor}}),
            "how many scales a tensor has");
  visit.calibrator("calibrator", values.calibrator, known.calibrators,
                   "what chooses the range; or {name: NAME, OPTION: NUMBER}");
}

template <class Visitor, class Values>
void describe_activations(Visitor& visit, Values& values, const KnownNames& known) {
  describe_values(visit, values, known);
  visit.key("dynamic", values.dynamic, truth(),
            "dynamic quantization: operands of products with constant weights get their range "
            "while the network runs; the rest stays in float");
}

template <class Visitor, class Values>
void describe_weights(Visitor& visit, Values& values, const KnownNames& known) {
  visit.key("storage", values.storage, one_of(storage_types(values)),
            "integer type; by default as the target says");
  visit.key("symmetric", values.symmetric, truth(),
            "symmetric quantization: the zero point is the middle of the storage range");
  visit.key("narrow", values.narrow, truth(),
            "narrow range: leave out the lowest storage value, [-127,127]");
  visit.key("bits", values.bits, integer(2, 8), "number of bits");
  visit.key("block", values.block, integer(0, 65536),
            "block-wise quantization: so many neighbours along the input channels of a matrix "
            "product share a scale, and the product runs in float; 0: off");
  visit.key("power_of_two", values.power_of_two, truth(), "scales are powers of two");
  visit.key("granularity", values.granularity,
            one_of<Granularity>(
                {{"per_axis", Granularity::kPerAxis}, {"per_tensor", Granularity::kPerTensor}}),
            "one scale for each output channel, or one in all");
  visit.calibrator("calibrator", values.calibrator, known.calibrators,
                   "what chooses the range; or {name: NAME, OPTION: NUMBER}");
}

/// `Methods` is Config or LayerRule.
template <class Visitor, class Methods>
void describe_methods(Visitor& visit, Methods& methods) {
  visit.key("equalization", methods.equalization,
            one_of<bool>({{"auto", true}, {"none", false}}),
            "cross-layer equalization and SmoothQuant; auto: where they help and the schedule "
            "is sequential");
  visit.key("bias_correction", methods.bias_correction, truth(),
            "bias correction: compensate for the mean error of rounded weights");
  visit.key("rounding", methods.rounding,
            one_of<Rounding>({{"auto", Rounding::kAuto}, {"nearest", Rounding::kNearest}}),
            "how weights are rounded; auto: by GPTQ, for the least error of their layer's "
            "results, where the schedule is sequential, else to nearest");
}

/// What an entry of `layers:` says of the nodes that it matches.
template <class Visitor>
void describe_exception(Visitor& visit, LayerRule& rule, const KnownNames& known) {
  visit.key("keep_float", rule.keep_float, truth(),
            "keep these nodes in float; false, or a 'storage' or 'bits' in the entry, "
            "quantizes them whatever that costs");
  visit.section(
      "activations",
      "as above, for what these nodes compute, behind a Relu or Clip that is fused with them",
      [&](auto& inner) { describe_activations(inner, rule.activations, known); }, "dynamic");
  visit.section("inputs", "as above, for what these nodes read",
                [&](auto& inner) { describe_values(inner, rule.inputs, known); });
  visit.section("weights", "as above, for these nodes",
                [&](auto& inner) { describe_weights(inner, rule.weights, known); });
  visit.section("accuracy", "as above, for these nodes",
                [&](auto& inner) { describe_methods(inner, rule); });
}

/// Of convolutions and matrix products with constant weights.
template <class Visitor>
void describe_shape(Visitor& visit, LayerShape& shape) {
  visit.key("groups", shape.groups, integer_range(),
            "groups of a convolution; 1 of other layers with weights. A depthwise one has "
            "input_channels: 1, groups: 2..");
  visit.key("kernel", shape.kernel, integer_range(),
            "each extent of the window of a convolution: 1 for pointwise ones");
  visit.key("input_channels", shape.input_channels, integer_range(),
            "input channels of a group, or rows of a matrix");
  visit.key("output_channels", shape.output_channels, integer_range(),
            "output channels, or columns of a matrix");
  visit.key("depth", shape.depth, integer_range(),
            "place among the layers with weights, in the order in which they run, from 0");
}

template <class Visitor>
void describe(Visitor& visit, LayerRule& rule, const KnownNames& known) {
  visit.place(rule.where);
  visit.section(
      "match",
      "which nodes; all conditions must hold. An operator that was fused into another, such as "
      "a BatchNormalization, stands for that one",
      [&](auto& match) {
        match.key("op", rule.op, any_text("MatMul"), "operator type, such as Conv");
        match.key("name", rule.name, any_text("/encoder/*"),
                  "node name; * is any run of characters, ? any one");
        match.key(
            "pattern", rule.pattern, pattern_text(),
            "part of such a subgraph of the prepared model, for example MatMul(Softmax, any)");
        describe_shape(match, rule.shape);
      });
  visit.require(!rule.op.empty() || !rule.name.empty() || !rule.pattern.empty() ||
                    rule.shape != LayerShape{},
                "an entry of 'layers' matches nothing",
                "'match' with 'op', 'name', 'pattern' or a shape");
  visit.key("if_present", rule.if_present, truth(),
            "it is no error if nothing matches, as in configurations for several models");
  describe_exception(visit, rule, known);
}

template <class Visitor>
void describe(Visitor& visit, Config& config, const KnownNames& known) {
  visit.key("version", config.version, integer(1, 1), "version of this format");
  visit.key("target", config.target, target_name(known.targets),
            "target engine, which is going to run the result; a path is relative to this file");
  visit.key("objective", config.objective,
            one_of<std::optional<Objective>>({{"auto", {}},
                                              {"latency", Objective::kLatency},
                                              {"coverage", Objective::kCoverage},
                                              {"size", Objective::kSize}}),
            "quantize where that saves the target time, or everything that can be, or every "
            "layer with weights and what is looked up in tables; auto: as the target says");
  visit.key("fallback", config.may_fall_back,
            one_of<bool>({{"allow", true}, {"forbid", false}}),
            "whether operators that cannot be quantized stay in float or are an error");
  visit.section(
      "activations", "values computed from the inputs",
      [&](auto& inner) { describe_activations(inner, config.activations, known); }, "dynamic");
  visit.section("weights", "constants of convolutions and products", [&](auto& inner) {
    describe_weights(inner, config.weights, known);
    inner.key("packed", config.packs_weights,
              one_of<std::optional<bool>>({{"auto", {}}, {"true", true}, {"false", false}}),
              "store two weights of up to 4 bits in each byte, in the form qdq; auto: weights "
              "in blocks, and others as the target says");
  });
  visit.section("calibration", "how the data is used", [&](auto& inner) {
    inner.key("schedule", config.schedule,
              one_of<std::optional<Schedule>>({{"auto", {}},
                                               {"sequential", Schedule::kSequential},
                                               {"independent", Schedule::kIndependent}}),
              "layer by layer, each with the quantization error of those before it, or all "
              "from one pass of the float network; auto: sequential unless the effort is fast");
    inner.key("memory", config.memory, byte_size(),
              "memory of the activation cache, whose rest is in a temporary file; networks may "
              "take as much");
    inner.key("samples", config.samples, count_or_all(), "how many samples to use");
  });
  visit.section("accuracy", "methods that reduce the error", [&](auto& inner) {
    inner.key(
        "effort", config.effort,
        one_of<Effort>(
            {{"fast", Effort::kFast}, {"default", Effort::kDefault}, {"best", Effort::kBest}}),
        "how much time to spend on accuracy");
    inner.key(
        "slowdown", config.slowdown, share_or_auto(),
        "how much slower the network may be for keeping its most sensitive layers in "
        "float: 0.01 is 1 %; auto: by effort 0, as the target says (0.01 or 0.03), or 0.1");
    describe_methods(inner, config);
  });
  visit.section("requantize", "how the integer graph rescales", [&](auto& inner) {
    using enum RequantizeRounding;
    inner.key("rounding", config.requantize.rounding,
              one_of<RequantizeRounding>({{"half_even", kHalfEven},
                                          {"upward", kUpward},
                                          {"to_nearest", kToNearest},
                                          {"tflite_double", kTfliteDouble},
                                          {"tflite_single", kTfliteSingle},
                                          {"shift", kShift}}),
              "how ties are rounded: as in ONNX, in TVM (two kinds), in TensorFlow Lite (two "
              "kinds), or by shifts alone");
    inner.key("arithmetic", config.requantize.arithmetic,
              one_of<std::optional<RequantizeArithmetic>>(
                  {{"auto", {}},
                   {"float", RequantizeArithmetic::kFloat},
                   {"fixed_point", RequantizeArithmetic::kFixedPoint}}),
              "float32, or int32 products in int64; auto: fixed point unless ties are rounded "
              "to even");
  });
  visit.section("accumulator", "the accumulator of sums of products", [&](auto& inner) {
    inner.key("bits", config.accumulator.bits, integer(8, 32),
              "its width; ONNX files cannot express it, engines take 32");
    inner.key("overflow", config.accumulator.overflow,
              one_of<Overflow>({{"saturate", Overflow::kSaturate}, {"wrap", Overflow::kWrap}}),
              "what happens to a sum that does not fit");
    inner.key("avoid_overflow", config.avoid_overflow, truth(),
              "widen weight scales until no input can make a sum overflow");
  });
  visit.numbers("dims", config.dims, integer(1),
                "extent of each symbolic dimension of the model");
  visit.texts(
      "plugins", config.plugins,
      "shared objects with calibrators, metrics, patterns or rules of your own; they run "
      "code, so that those of a file need '--allow-plugins'");
  visit.list("layers", config.layers,
             "rules for single layers; all that match a node are merged key by key, and later "
             "ones win",
             [&](auto& entry, LayerRule& rule) { describe(entry, rule, known); });
}

template <class Visitor>
void describe_kind(Visitor& visit, TargetOperator& row) {
  visit.key("only", row.only,
            one_of<NodeKind>({{"any", NodeKind::kAny},
                              {"depthwise", NodeKind::kDepthwise},
                              {"few_channels", NodeKind::kFewChannels},
                              {"activations", NodeKind::kActivations}}),
            "which nodes of it");
}

template <class Visitor>
void describe_costs(Visitor& visit, TargetOperator& row) {
  visit.key("float", row.float_cost, cost(), "nanoseconds per multiplication or element");
  visit.key("integer", row.integer_cost, cost(), "the same on integers");
  visit.key("window", row.window_cost, cost(),
            "on integers, more for each result position and position of the window");
}

template <class Visitor>
void describe(Visitor& visit, TargetOperator& row) {
  visit.key("op", row.op, any_text(), "operator type");
  describe_kind(visit, row);
  visit.key("runs_as", row.runs_as, any_text(), "the engine's integer kernel");
  visit.key("wide", row.wide, truth(), "which takes storage of 16 bits as well");
  visit.key("quantized_result", row.quantized_result, truth(),
            "it runs on integers only when its result is quantized too");
  describe_costs(visit, row);
  visit.require(!row.op.empty(), "an entry of 'operators' names none", "'op'");
}

template <class Visitor>
void describe_units(Visitor& visit, std::vector<FusedUnit>& units) {
  visit.list("units", units, "what a device runs as one, for `tare partition`",
             [](auto& entry, FusedUnit& unit) {
               entry.key("name", unit.name, any_text(), "what it is called");
               entry.key("pattern", unit.pattern, pattern_text(), "what it looks like");
               entry.require(!unit.name.empty() && !unit.pattern.empty(),
                             "an entry of 'units' lacks a key", "'name' and 'pattern'");
             });
}

template <class Visitor>
void describe(Visitor& visit, Target& target, const KnownNames& known) {
  const auto storage = one_of<DType>({{"int8", DType::kInt8}, {"uint8", DType::kUint8}});
  visit.key("extends", target.extends, target_name(known.targets),
            "the target that this file changes; a path is relative to this file");
  visit.key("summary", target.summary, any_text(), "one line for people");
  visit.texts("patterns", target.patterns, "quantization patterns to use");
  visit.key("activation_storage", target.activation_storage, storage, "integer type");
  visit.key("activation_symmetric", target.activation_symmetric, truth(),
            "real 0 in the middle");
  visit.key("wide_activations", target.wide_activations,
            one_of<std::vector<DType>>({{"none", {}},
                                        {"uint16", {DType::kUint16}},
                                        {"any", {DType::kInt16, DType::kUint16}}}),
            "types of 16 bits that activations may have where that is asked for");
  visit.key("weight_storage", target.weight_storage, storage, "integer type");
  visit.key("packs_weights", target.packs_weights, truth(),
            "files hold two weights of up to 4 bits in each byte");
  visit.key("packs_blocks", target.packs_blocks, truth(), "the same for weights in blocks");
  visit.key("weight_pair_limit", target.weight_pair_limit, integer(0),
            "largest sum of two neighbouring weights; 0: any");
  visit.key("objective", target.objective,
            one_of<Objective>({{"latency", Objective::kLatency},
                               {"coverage", Objective::kCoverage},
                               {"size", Objective::kSize}}),
            "what quantization is for");
  visit.list("operators", target.operators, "what runs on integers",
             [](auto& entry, TargetOperator& row) { describe(entry, row); });
  visit.list("costs", target.costs,
             "what layers of some shapes take, as `tare tune` writes it, before all else; and "
             "without `operators` what operators cost, in any unit",
             [](auto& entry, TargetOperator& row) {
               entry.key("op", row.op, any_text(), "operator type");
               describe_kind(entry, row);
               describe_costs(entry, row);
               entry.require(!row.op.empty(), "an entry of 'costs' names none", "'op'");
             });
  visit.key("merges_activations", target.merges_activations, truth(),
            "Relu and Clip are fused into what computes their operand");
  visit.key("float_bias", target.float_bias, truth(), "biases stay in float");
  visit.key("channels_last", target.channels_last, truth(),
            "images that float convolutions computed are quantized with channels last");
  visit.key("pads_storage", target.pads_storage, truth(),
            "Pad acts on integers, without conversions around it");
  visit.key("rounds_float_weights", target.rounds_float_weights, truth(),
            "float weights become 8-bit ones behind a DequantizeLinear of one scale");
  visit.key("averages_in_float", target.averages_in_float, truth(),
            "averages of integers are rounded once, from float32");
  visit.texts("unified", target.unified,
              "operators whose operands and result share parameters");
  visit.list("fixed_ranges", target.fixed_ranges, "results whose range does not depend on data",
             [](auto& entry, FixedRange& fixed) {
               entry.key("op", fixed.op, any_text(), "operator type");
               entry.key("low", fixed.low, number(), "lowest value");
               entry.key("high", fixed.high, number(), "one step above the highest value");
               entry.require(!fixed.op.empty(), "an entry of 'fixed_ranges' names none",
                             "'op'");
               entry.require(fixed.low <= 0 && fixed.high >= 0 && fixed.low < fixed.high,
                             "a fixed range does not hold 0 or is empty",
                             "'low' of at most 0 and 'high' of at least 0");
             });
  visit.list("keep_float", target.keep_float, "what stays in float",
             [](auto& entry, FloatRule& rule) {
               entry.key("pattern", rule.pattern, pattern_text(), "what it looks like");
               entry.key("because", rule.because, any_text(), "why");
               entry.require(!rule.pattern.empty() && !rule.because.empty(),
                             "an entry of 'keep_float' lacks a key", "'pattern' and 'because'");
             });
  describe_units(visit, target.units);
  visit.section("conversion", "of a Quantize or Dequantize", [&](auto& inner) {
    inner.key("call", target.conversion.call, cost(), "nanoseconds, however small");
    inner.key("element", target.conversion.element, cost(), "nanoseconds per element");
    inner.key("layout", target.conversion.layout, cost(),
              "more per element and reader of values of rank 4, which change layout too");
  });
  visit.key("least_gain", target.least_gain, cost(),
            "nanoseconds that a layer must save to stay in float");
  visit.key(
      "slowdown", target.slowdown, cost(),
      "what `accuracy.slowdown: auto` is: how much slower a network may be for keeping its "
      "most sensitive layers in float");
}

}  // namespace tare
