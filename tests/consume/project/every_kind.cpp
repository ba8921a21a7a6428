// A plug-in for a device with a table of arc tangents, a unit for convolutions and rectifiers,
// and a bus that moves eight channels at a time: a row of the allow-list, an operator for
// exported files, a lint rule and a finding of reports.
#include <algorithm>
#include <string>
#include <vector>

#include <tare/graph.h>
#include <tare/integer_graph.h>
#include <tare/report.h>

namespace {

using namespace tare;

AffineOp arc_tangent() {
  return {
      .op = "Atan", .rule = AffineRule::kTabulates, .reason = "the device has a table of it"};
}

ExportOperator conv_unit() {
  return {.name = "conv_unit",
          .summary = "a convolution and the rescaling of its sums",
          .domain = "com.example",
          .op = "ConvUnit",
          .pattern = [] { return parse_pattern("Requantize(Conv)"); },
          .attributes =
              [](const Graph& integer, const OffloadRegion& region) {
                std::vector<std::int64_t> shifts;
                const Node& requantize = integer.node(region.match.root());
                for (const FixedPointFactor& factor : rescaling_factors(integer, requantize)) {
                  shifts.push_back(factor.exponent);
                }
                return Attributes{{"shifts", shifts}};
              },
          .targets = {"qnn"}};
}

LintRule whole_words() {
  return {.name = "whole_words",
          .summary = "convolutions compute multiples of eight channels",
          .check = [](const Graph& integer, const Target&) {
            std::vector<LintFinding> found;
            for (const NodeId id : integer.topological_order()) {
              const Node& node = integer.node(id);
              const auto channels =
                  node.op == "Conv" ? integer.type(node.outputs[0]).shape[1] : 0;
              if (channels % 8 != 0) {
                found.push_back({node.name, "channels come in eights",
                                 "it has " + std::to_string(channels)});
              }
            }
            return found;
          }};
}

FindingInfo lossy_start() {
  return {.name = "lossy_start",
          .summary = "The first layer loses most",
          .find = [](const Report& report) {
            std::vector<Diagnosis> found;
            if (!report.layers.empty()) {
              found.push_back({.kind = {},
                               .severity = 0.5,
                               .layer = report.layers.front().name,
                               .point = {},
                               .text = "is the first layer of this device",
                               .advice = "give it more bits",
                               .yaml = {}});
            }
            return found;
          }};
}

}  // namespace

TARE_PLUGIN_ENTRY(parts) {
  parts.add(arc_tangent());
  parts.add(conv_unit());
  parts.add(whole_words());
  parts.add(lossy_start());
}
