#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"

#include "onnx/layer_names.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// "'a', 'b' and 3 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more"
                              : text;
}

}  // namespace

std::vector<Warning> audit_tail(const Graph& graph) {
  if (!graph.tail) {
    return {};
  }
  const Tail& tail = *graph.tail;
  std::vector<std::string> own;
  for (const std::string& name : tail.outputs) {
    const auto value = graph.find_value(name);
    if (!value || !graph.is_output(*value)) {
      own.push_back(name);
    }
  }
  std::vector<std::string> instead;
  for (const ValueId output : graph.outputs()) {
    const std::string& name = graph.name(output);
    if (std::find(tail.outputs.begin(), tail.outputs.end(), name) == tail.outputs.end()) {
      instead.push_back(name);
    }
  }
  const auto first = std::find_if(tail.operators.begin(), tail.operators.end(),
                                  [](const auto& each) { return !each.reason.empty(); });
  const std::size_t count = tail.operators.size();
  std::string what =
      std::string(own.size() == 1 ? "comes from " : "come from ") + std::to_string(count) +
      (count == 1 ? " operator that stays as it is" : " operators that stay as they are");
  const auto layers =
      std::count_if(tail.operators.begin(), tail.operators.end(),
                    [](const Tail::Operator& each) { return may_be_layer(each.op); });
  if (layers > 0) {
    what +=
        ", " + std::to_string(layers) + (layers == 1 ? " layer" : " layers") + " among them";
  }
  if (first != tail.operators.end()) {
    what += ", as of node '" + first->node + "' (" + first->op + "): " + first->reason;
  }
  std::vector<std::string> unknown;
  for (const Tail::Operator& each : tail.operators) {
    if (first != tail.operators.end() && &each != &*first && !each.reason.empty() &&
        !each.depends_on_data &&
        std::find(unknown.begin(), unknown.end(), each.op) == unknown.end()) {
      unknown.push_back(each.op);
    }
  }
  if (!unknown.empty()) {
    what += "; not supported: " + listed(unknown);
  }
  if (!instead.empty()) {
    what += "; calibrated and compared is what they read: " + listed(instead);
  }
  return {{"unquantized_tail",
           std::string(own.size() == 1 ? "output " : "outputs ") + listed(own),
           std::move(what)}};
}

}  // namespace tare
