#pragma once

#include "tare/config.h"

#include "io/config_rules.h"
#include "io/input_schema.h"

#include <algorithm>
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
//   values(name, list, rule, summary)          one value, or a list of them
//   maps(name, map, summary, describe)         a map of free names, each with a map of keys
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

inline Rule<std::optional<int>> number_of_bits(const ValueConfig&, int most) {
  return integer_or_auto(2, most);
}
inline Rule<std::optional<bool>> truth_or_auto(const ValueConfig&) {
  return one_of<std::optional<bool>>({{"auto", {}}, {"true", true}, {"false", false}});
}
inline Rule<bool> truth_or_auto(const ValueOverride&) {
  return truth();
}
inline Rule<std::int64_t> number_of_bits(const ValueOverride&, int most) {
  Rule<std::int64_t> rule = integer(2, most);
  rule.example = "4";
  return rule;
}

template <class Visitor, class Values>
void describe_values(Visitor& visit, Values& values, const KnownNames& known) {
  visit.key("storage", values.storage, one_of(activation_types(values)),
            "integer type; by default as the target says. Not every target has 16-bit types");
  visit.key("symmetric", values.symmetric, truth(),
            "symmetric quantization: the zero point is the middle of the storage range");
  visit.key("narrow", values.narrow, truth(),
            "narrow range: leave out the lowest storage value, [-127,127] or [1,255]");
  visit.key(
      "bits", values.bits, number_of_bits(values, 16),
      "number of bits; fewer than the storage type has are cut off by a Clip in the file, "
      "more than 8 need a target with types of 16 bits; auto: all");
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

/// Of weights: `auto` is what their bits say, and not the calibrator of that name.
inline std::vector<std::string> with_auto(std::vector<std::string> names) {
  const auto place = std::lower_bound(names.begin(), names.end(), "auto");
  if (place == names.end() || *place != "auto") {
    names.insert(place, "auto");
  }
  return names;
}

template <class Visitor, class Values>
void describe_weights(Visitor& visit, Values& values, const KnownNames& known) {
  visit.key("storage", values.storage, one_of(storage_types(values)),
            "integer type; by default as the target says");
  visit.key("symmetric", values.symmetric, truth_or_auto(values),
            "symmetric quantization: the zero point is the middle of the storage range; auto: "
            "true, but for up to 4 bits that lie in bytes of their own, and not in blocks");
  visit.key("narrow", values.narrow, truth_or_auto(values),
            "narrow range: leave out the lowest storage value, [-127,127]; auto: where weights "
            "are symmetric");
  visit.key("bits", values.bits, number_of_bits(values, 8),
            "number of bits; auto: those of the storage type");
  visit.key("block", values.block, integer(0, 65536),
            "block-wise quantization: so many neighbours along the input channels of a matrix "
            "product share a scale, and the product runs in float; 0: off");
  visit.key("power_of_two", values.power_of_two, truth(), "scales are powers of two");
  visit.key("granularity", values.granularity,
            one_of<Granularity>(
                {{"per_axis", Granularity::kPerAxis}, {"per_tensor", Granularity::kPerTensor}}),
            "one scale for each output channel, or one in all");
  visit.calibrator(
      "calibrator", values.calibrator, with_auto(known.calibrators),
      "what chooses the range; or {name: NAME, OPTION: NUMBER}; auto: mse with up to "
      "4 bits that are not in blocks, else max");
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

/// `auto` goes back to what holds in general; what is said of one layer has no such word.
template <class T>
Rule<std::optional<T>> one_of_or_auto(
    bool is_general, std::vector<std::pair<std::string, std::optional<T>>> choices) {
  if (is_general) {
    choices.insert(choices.begin(), {"auto", {}});
  }
  return one_of<std::optional<T>>(std::move(choices));
}

template <class Visitor>
void describe_requantize(Visitor& visit, RequantizeConfig& requantize, bool is_general) {
  using enum RequantizeRounding;
  visit.key("rounding", requantize.rounding,
            one_of_or_auto<RequantizeRounding>(is_general, {{"half_even", kHalfEven},
                                                            {"upward", kUpward},
                                                            {"to_nearest", kToNearest},
                                                            {"tflite_double", kTfliteDouble},
                                                            {"tflite_single", kTfliteSingle},
                                                            {"shift", kShift}}),
            "how ties are rounded: as in ONNX, in TVM (two kinds), in TensorFlow Lite (two "
            "kinds), or by shifts alone; auto: as the target says, else half_even");
  visit.key("arithmetic", requantize.arithmetic,
            one_of_or_auto<RequantizeArithmetic>(
                is_general, {{"float", RequantizeArithmetic::kFloat},
                             {"fixed_point", RequantizeArithmetic::kFixedPoint}}),
            "float32, or int32 products in int64; auto: fixed point unless ties are rounded "
            "to even");
  visit.key("bias_after", requantize.bias_after,
            one_of_or_auto<bool>(is_general, {{"true", true}, {"false", false}}),
            "add the bias to the rescaled result, in its storage type, and not to the "
            "accumulator in int32; auto: as the target says, else false");
}

template <class Visitor>
void describe_accumulator(Visitor& visit, AccumulatorConfig& accumulator, bool is_general) {
  const char* const width =
      "its width; ONNX files cannot express it, engines take 32; auto: as the target says, "
      "else 32";
  if (is_general) {
    visit.key("bits", accumulator.bits, integer_or_auto(8, 32), width);
  } else {
    Rule<std::int64_t> bits = integer(8, 32);
    bits.example = "16";
    visit.key("bits", accumulator.bits, bits, width);
  }
  visit.key("overflow", accumulator.overflow,
            one_of_or_auto<Overflow>(
                is_general, {{"saturate", Overflow::kSaturate}, {"wrap", Overflow::kWrap}}),
            "what happens to a sum that does not fit; auto: as the target says, else saturate");
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
  visit.section("requantize", "as above, for the sums of products of these nodes",
                [&](auto& inner) { describe_requantize(inner, rule.requantize, false); });
  visit.section("accumulator", "as above, for these nodes",
                [&](auto& inner) { describe_accumulator(inner, rule.accumulator, false); });
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
  visit.key("depth", shape.depth, place_range(),
            "place among the layers with weights, in the order in which they run, from 0, or "
            "from the last, -1, back; -1..0: the last and the first");
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

inline Rule<std::string> processor_choice() {
  std::vector<std::pair<std::string, std::string>> choices{{"auto", ""}};
  for (const std::string& name : processor_names()) {
    choices.emplace_back(name, name);
  }
  choices.emplace_back("any", "any");
  return one_of<std::string>(std::move(choices));
}

template <class Visitor>
void describe(Visitor& visit, Config& config, const KnownNames& known) {
  visit.key("version", config.version, integer(1, 1), "version of this format");
  visit.key("target", config.target, target_name(known.targets),
            "target engine, which is going to run the result; a path is relative to this file");
  visit.key("recipe", config.recipe,
            one_of<std::optional<Recipe>>(
                {{"auto", {}}, {"none", Recipe::kNone}, {"decoder", Recipe::kDecoder}}),
            "settings for a kind of networks, which all other keys override; decoder: weights "
            "of products have 4 bits in blocks of 32, and nothing else is quantized; auto: for "
            "networks whose scores of next tokens do not depend on later ones, unless the "
            "objective, activations or the fallback are configured");
  visit.key("processor", config.processor, processor_choice(),
            "what the result is going to run on, for costs that depend on it; auto: this "
            "machine; any: none of these");
  visit.key("objective", config.objective,
            one_of<std::optional<Objective>>({{"auto", {}},
                                              {"latency", Objective::kLatency},
                                              {"coverage", Objective::kCoverage},
                                              {"size", Objective::kSize}}),
            "quantize where that saves the target time, or everything that can be, or every "
            "layer with weights and what is looked up in tables; auto: as the target says");
  visit.key(
      "fuse_silu", config.fuse_silu,
      one_of<std::optional<bool>>({{"auto", {}}, {"true", true}, {"false", false}}),
      "let ONNX Runtime fuse x * Sigmoid(x) in float, which version 1.21 is slow at in "
      "convolutional networks, and later ones are fast at; auto: as the target says, or as "
      "--engine measures it");
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
    inner.key("accuracy_level", config.block_accuracy_level, integer_or_auto(0, 4),
              "of products with weights in blocks, in the form qoperator: what MatMulNBits may "
              "round its operand to, 1 to 3 float32, float16 and bfloat16, 4 int8, which is "
              "fast; 0: the engine decides; auto: as the target says");
  });
  visit.section("embeddings", "tables in which a language model looks tokens up",
                [&](auto& inner) {
                  inner.key("storage", config.stores_embeddings,
                            one_of<bool>({{"float", false}, {"int8", true}}),
                            "type of their elements; int8 has a scale for each row");
                });
  visit.section("cache", "keys and values that a decoder hands on from step to step",
                [&](auto& inner) {
                  inner.key("storage", config.cache.is_stored,
                            one_of<bool>({{"float", false}, {"int8", true}}),
                            "type of inputs of [batch,heads,length,size] that come back as "
                            "outputs with more rows");
                  inner.key("granularity", config.cache.per_head,
                            one_of<bool>({{"per_channel", false}, {"per_head", true}}),
                            "one scale for each channel of a head, which all heads share, or "
                            "for each head");
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
              "take as much; 0: what 64 samples need, 16 MiB at least");
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
        "float, or in 16 bits where nothing is float: 0.01 is 1 %, all of which may be "
        "spent; auto: 0 with effort fast; with effort best at least 0.1, or 60 % of what "
        "integers save by costs of a processor; else as the target says (0.01 to 0.2), or by "
        "costs of a processor up to a quarter of what integers save, at most 0.15, where each "
        "0.15 gains 1 dB; for detectors at least 0.15, and more where results "
        "have less than 20 dB otherwise, as long as the network is a tenth faster than in "
        "float");
    describe_methods(inner, config);
    inner.key(
        "rotation", config.rotation, one_of<bool>({{"none", false}, {"hadamard", true}}),
        "turn the residual stream of a decoder by a Hadamard matrix, folded into weights, "
        "so that channels have equal ranges");
    inner.key("reconstruction", config.reconstruction,
              one_of<std::optional<Reconstruction>>({{"auto", {}},
                                                     {"none", Reconstruction::kNone},
                                                     {"layer", Reconstruction::kLayer},
                                                     {"block", Reconstruction::kBlock}}),
              "learn weights, biases and ranges from samples by gradients, layer by layer or "
              "block by block, which takes minutes; auto: block with the effort best where "
              "something has fewer than 8 bits, else none");
  });
  visit.section("requantize", "how the integer graph rescales sums of products",
                [&](auto& inner) { describe_requantize(inner, config.requantize, true); });
  visit.section("accumulator", "the accumulator of sums of products", [&](auto& inner) {
    describe_accumulator(inner, config.accumulator, true);
    inner.key("avoid_overflow", config.avoid_overflow, truth(),
              "widen weight scales until no input can make a sum overflow");
  });
  visit.numbers("dims", config.dims, integer(1),
                "extent of each symbolic dimension of the model");
  visit.maps("inputs", config.inputs,
             "how samples that are no arrays become values of the input of that name; * is "
             "about all others",
             [](auto& inner, InputPreparation& input) { describe(inner, input); });
  visit.numbers("state", config.state, any_text(),
                "inputs that are state: the output that each of them is one step later");
  visit.key("steps", config.steps, count_or_all(),
            "how many samples follow each other before state begins anew; by default all");
  visit.texts(
      "plugins", config.plugins,
      "shared objects with calibrators, metrics, patterns or rules of your own; they run "
      "code, so that those of a file need '--allow-plugins'");
  visit.list("layers", config.layers,
             "rules for single layers; all that match a node are merged key by key, and later "
             "ones win",
             [&](auto& entry, LayerRule& rule) { describe(entry, rule, known); });
}

}  // namespace tare
