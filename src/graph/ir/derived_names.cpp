#include "graph/ir/derived_names.h"

#include "tare/graph.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

constexpr std::string_view kQuantized = "_quantized";
constexpr std::string_view kAccumulated = "_accumulated";
constexpr std::string_view kDequantized = "_dequantized";

constexpr std::array kEndings{
    kQuantized,
    kAccumulated,
    kDequantized,
    std::string_view("_QuantizeLinear_Output"),
};

}  // namespace

std::string quantized_name(std::string_view original) {
  return std::string(original).append(kQuantized);
}

std::string accumulated_name(std::string_view original) {
  return std::string(original).append(kAccumulated);
}

std::string dequantized_name(std::string_view original) {
  return std::string(original).append(kDequantized);
}

std::string original_name(std::string_view derived) {
  const auto* ending =
      std::find_if(kEndings.begin(), kEndings.end(), [&](std::string_view each) {
        return derived.size() > each.size() && derived.ends_with(each);
      });
  const std::size_t length = ending == kEndings.end() ? 0 : ending->size();
  return std::string(derived.substr(0, derived.size() - length));
}

std::string original_name(const Graph& graph, ValueId value) {
  const std::string& name = graph.name(value);
  return graph.is_input(value) || graph.is_output(value) ? name : original_name(name);
}

void take_name(Graph& graph, ValueId value, std::string name) {
  const auto holder = graph.find_value(name);
  const bool is_fixed = holder && (graph.is_output(*holder) || graph.is_input(*holder));
  if (!is_fixed && !graph.is_output(value) && !graph.is_input(value)) {
    graph.rename(value, name);
  }
}

void take_place(Graph& graph, NodeId before, NodeId after) {
  const std::string name = graph.node(before).name;
  graph.erase(before);
  graph.rename(after, name);
}

}  // namespace tare
