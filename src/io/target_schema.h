#pragma once

#include "tare/config.h"

#include "io/config_schema.h"

#include <vector>

namespace tare {

// Every key of a target file, once, for the same visitors as those of a configuration.

/// `Row` is TargetOperator or OperatorAccumulator.
template <class Visitor, class Row>
void describe_kind(Visitor& visit, Row& row) {
  visit.key("only", row.only,
            one_of<NodeKind>({{"any", NodeKind::kAny},
                              {"depthwise", NodeKind::kDepthwise},
                              {"odd_depthwise", NodeKind::kOddDepthwise},
                              {"ragged_depthwise", NodeKind::kRaggedDepthwise},
                              {"sequence", NodeKind::kSequence},
                              {"volume", NodeKind::kVolume},
                              {"grouped", NodeKind::kGrouped},
                              {"few_channels", NodeKind::kFewChannels},
                              {"activations", NodeKind::kActivations}}),
            "which nodes of it");
}

template <class Visitor>
void describe_costs(Visitor& visit, TargetOperator& row) {
  visit.key("float", row.floats.work, cost(), "nanoseconds per multiplication or element");
  visit.key("float_result", row.floats.result, cost(),
            "more per result of a sum of products or a pool");
  visit.key("float_weight", row.floats.weight, cost(), "more per weight of a sum of products");
  visit.key(
      "float_gathered", row.floats.gathered, cost(),
      "more for each element that a convolution reads for the results of a position, or a "
      "pool for its results");
  visit.key("float_call", row.floats.call, cost(), "more, however small it is");
  visit.key("integer", row.integers.work, cost(), "the same on integers");
  visit.key("integer_result", row.integers.result, cost(), "the same on integers");
  visit.key("integer_weight", row.integers.weight, cost(), "the same on integers");
  visit.key("integer_call", row.integers.call, cost(), "the same on integers");
  visit.key("window", row.integers.window, cost(),
            "on integers, more for each result position and position of the window");
  visit.key("gathered", row.integers.gathered, cost(),
            "the same as float_gathered, on integers");
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
void describe_operator_costs(Visitor& visit, std::vector<TargetOperator>& costs,
                             const char* summary) {
  visit.list("costs", costs, summary, [](auto& entry, TargetOperator& row) {
    entry.key("op", row.op, any_text(), "operator type");
    describe_kind(entry, row);
    describe_costs(entry, row);
    entry.require(!row.op.empty(), "an entry of 'costs' names none", "'op'");
  });
}

/// `Costs` is Target or ProcessorCosts, here and below.
template <class Visitor, class Costs>
void describe_conversion(Visitor& visit, Costs& costs) {
  visit.section("conversion", "of a Quantize or Dequantize", [&](auto& inner) {
    inner.key("call", costs.conversion.call, cost(), "nanoseconds, however small");
    inner.key("element", costs.conversion.element, cost(), "nanoseconds per element");
    inner.key("dequantized", costs.conversion.dequantized, cost(),
              "nanoseconds per element of a Dequantize; 0: as of a Quantize");
    inner.key("layout", costs.conversion.layout, cost(),
              "more per element and reader of values of rank 4, which change layout too");
  });
  visit.key("least_gain", costs.least_gain, cost(),
            "nanoseconds that a layer must save to stay in float");
}

template <class Visitor, class Costs>
void describe_slowdown(Visitor& visit, Costs& costs) {
  visit.key(
      "slowdown", costs.slowdown, cost(),
      "how much slower a network may be for keeping its most sensitive layers in float, or in "
      "16 bits, with `accuracy.slowdown: auto`, which allows more by costs of a processor");
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
  visit.key("activation_narrow", target.activation_narrow, truth(),
            "without the lowest storage value");
  visit.key("activation_bits", target.activation_bits, integer_or_auto(2, 16),
            "how many bits activations have where nobody says; auto: all of the type");
  visit.key("power_of_two", target.power_of_two, truth(),
            "scales of activations and weights are powers of two");
  visit.key("wide_activations", target.wide_activations,
            one_of<std::vector<DType>>({{"none", {}},
                                        {"uint16", {DType::kUint16}},
                                        {"any", {DType::kInt16, DType::kUint16}}}),
            "types of 16 bits that activations may have where that is asked for");
  visit.key("weight_storage", target.weight_storage, storage, "integer type");
  visit.key("weight_bits", target.weight_bits, integer_or_auto(2, 8),
            "how many bits weights have where nobody says; auto: all of the type");
  visit.key("weight_granularity", target.weight_granularity,
            one_of<Granularity>(
                {{"per_axis", Granularity::kPerAxis}, {"per_tensor", Granularity::kPerTensor}}),
            "whether output channels may have scales of their own");
  visit.key("packs_weights", target.packs_weights, truth(),
            "files hold two weights of up to 4 bits in each byte");
  visit.key("packs_blocks", target.packs_blocks, truth(), "the same for weights in blocks");
  visit.key("block_accuracy_level", target.block_accuracy_level, integer(0, 4),
            "what MatMulNBits may round its operand to: 1 to 3 are float32, float16 and "
            "bfloat16, 4 is int8; 0: the engine decides");
  visit.key("weight_pair_limit", target.weight_pair_limit, integer(0),
            "largest sum of two neighbouring weights; 0: any");
  visit.key("objective", target.objective,
            one_of<Objective>({{"latency", Objective::kLatency},
                               {"coverage", Objective::kCoverage},
                               {"size", Objective::kSize}}),
            "what quantization is for");
  visit.list("operators", target.operators, "what runs on integers",
             [](auto& entry, TargetOperator& row) { describe(entry, row); });
  describe_operator_costs(
      visit, target.costs,
      "what layers of some shapes take, as `tare tune` writes it, before all else; and "
      "without `operators` what operators cost, in any unit");
  visit.key("merges_activations", target.merges_activations, truth(),
            "Relu and Clip are fused into what computes their operand");
  visit.key("float_bias", target.float_bias, truth(), "biases stay in float");
  visit.key("channels_last", target.channels_last, truth(),
            "images that float convolutions computed are quantized with channels last");
  visit.key("pads_storage", target.pads_storage, truth(),
            "Pad acts on integers, without conversions around it");
  visit.key("quick_spelling", target.quick_spelling, truth(),
            "activations and normalizations in float are spelled as ONNX Runtime is fast at "
            "them");
  visit.key("fuse_silu", target.fuse_silu, truth(),
            "ONNX Runtime may fuse x * Sigmoid(x) in float, unless the configuration says");
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
  describe_conversion(visit, target);
  visit.list("processors", target.processors, "other costs on some kinds of processors",
             [](auto& entry, ProcessorCosts& costs) {
               entry.key("name", costs.name, known_name("processor", processor_names()),
                         "which kind");
               entry.key("summary", costs.summary, any_text(), "where the numbers come from");
               describe_conversion(entry, costs);
               describe_slowdown(entry, costs);
               describe_operator_costs(entry, costs.costs, "what operators cost");
             });
  visit.section("requantize", "how sums of products are rescaled",
                [&](auto& inner) { describe_requantize(inner, target.requantize, true); });
  visit.section("accumulator", "what sums of products are added up in",
                [&](auto& inner) { describe_accumulator(inner, target.accumulator, true); });
  visit.list("accumulators", target.accumulators, "the same for single operators",
             [](auto& entry, OperatorAccumulator& row) {
               entry.key("op", row.op, any_text(), "operator type");
               describe_kind(entry, row);
               describe_accumulator(entry, row.accumulator, false);
               entry.require(!row.op.empty(), "an entry of 'accumulators' names none", "'op'");
             });
  describe_slowdown(visit, target);
}

}  // namespace tare
