// Recipes: configurations for kinds of networks that need another one than the usual. There is
// one, for decoders. They generate token by token, which takes the time of reading the weights,
// so that these get few bits, and what is computed stays real. A decoder is recognised by what
// it does and not by names of operators, of which each exporter has its own.
#include "pipeline/recipe.h"

#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

constexpr int kBits = 4;
constexpr int kBitsOfHead = 8;
constexpr int kBlock = 32;

/// Made-up inputs: tokens that count up, all of which count, and nothing in caches.
std::vector<Tensor> made_up_inputs(const Graph& graph, const TokenInterface& tokens,
                                   std::int64_t vocabulary) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(element_count(type.shape)), 0);
    if (i == tokens.ids) {
      for (std::size_t place = 0; place < numbers.size(); ++place) {
        numbers[place] = static_cast<std::int64_t>(place) % vocabulary;
      }
    } else if (i == tokens.mask) {
      std::fill(numbers.begin(), numbers.end(), 1);
    }
    if (type.dtype == DType::kInt64) {
      inputs.push_back(Tensor::of<std::int64_t>(type.shape, numbers));
    } else if (type.dtype == DType::kInt32) {
      inputs.push_back(Tensor::of<std::int32_t>(
          type.shape, std::vector<std::int32_t>(numbers.begin(), numbers.end())));
    } else {
      inputs.emplace_back(type.dtype, type.shape);
    }
  }
  return inputs;
}

/// Another last token of each row.
Tensor with_other_end(const Tensor& ids, std::int64_t vocabulary) {
  std::vector<std::int64_t> numbers = ids.to_int64();
  const auto length = static_cast<std::size_t>(ids.shape()[1]);
  for (std::size_t last = length - 1; last < numbers.size(); last += length) {
    numbers[last] = (numbers[last] + 1) % vocabulary;
  }
  return ids.dtype() == DType::kInt64
             ? Tensor::of<std::int64_t>(ids.shape(), numbers)
             : Tensor::of<std::int32_t>(
                   ids.shape(), std::vector<std::int32_t>(numbers.begin(), numbers.end()));
}

/// Whether scores behind the last token change with it, and no others do.
bool is_causal(const Graph& graph, const TokenInterface& tokens) {
  const Shape& shape = graph.type(graph.outputs()[tokens.logits]).shape;
  std::vector<Tensor> inputs = made_up_inputs(graph, tokens, shape[2]);
  const Executable executable(graph);
  const Tensor before = executable.run(inputs)[tokens.logits];
  inputs[tokens.ids] = with_other_end(inputs[tokens.ids], shape[2]);
  const Tensor after = executable.run(inputs)[tokens.logits];
  const auto x = before.view<float>();
  const auto y = after.view<float>();
  const auto length = static_cast<std::size_t>(shape[1]);
  const auto width = static_cast<std::size_t>(shape[2]);
  float largest = 0;
  float earlier = 0;
  float last = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    float& own = i / width % length + 1 == length ? last : earlier;
    own = std::max(own, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(x[i]));
  }
  constexpr float kRounding = 1e-4F;  // of sums in another order
  return earlier <= kRounding * largest && last > kRounding * largest;
}

/// Whether some input comes back with something behind it.
bool has_cache(const Graph& graph) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(), [&](ValueId output) {
    const auto producer = graph.producer(output);
    return producer && graph.node(*producer).op == "Concat" &&
           graph.is_input(graph.node(*producer).inputs[0]);
  });
}

/// Says something of all layers that only a network of integers needs, or forbids the recipe.
bool leaves_recipe_open(const Config& config) {
  const Config usual;
  return !config.objective && config.activations == usual.activations && config.may_fall_back;
}

/// Of a configuration that says nothing of how weights are spread over their integers.
bool leaves_weights_open(const Config& config) {
  ValueConfig own = config.weights;
  const ValueConfig usual = Config().weights;
  own.bits = usual.bits;
  own.block = usual.block;
  return own == usual;
}

LayerRule rule_for_products(const Config& config, const char* op) {
  LayerRule rule;
  rule.op = op;
  rule.shape.input_channels = IntegerRange{.low = 1};  // those with constant weights
  rule.if_present = true;
  rule.keep_float = false;
  rule.weights.bits = config.weights.bits.value_or(kBits);
  rule.weights.block = config.weights.block != 0 ? config.weights.block : kBlock;
  if (leaves_weights_open(config)) {
    // Of so few integers each counts: a zero point for each block makes use of all.
    rule.weights.storage = DType::kUint8;
    rule.weights.symmetric = false;
    rule.weights.narrow = false;
  }
  return rule;
}

/// The product that gives the scores of tokens; empty where something else does.
std::string head_of(const Graph& graph) {
  const auto tokens = token_interface(graph);
  const auto producer =
      tokens ? graph.producer(graph.outputs()[tokens->logits]) : std::optional<NodeId>();
  const bool is_product =
      producer && (graph.node(*producer).op == "MatMul" || graph.node(*producer).op == "Gemm");
  return is_product ? graph.node(*producer).name : std::string();
}

/// Each of its results is one score, with nothing behind that would average errors out.
LayerRule rule_for_head(const Config& config, const std::string& head) {
  LayerRule rule;
  rule.name = head;
  rule.if_present = true;
  rule.weights.bits = config.weights.bits.value_or(kBitsOfHead);
  return rule;
}

Config for_decoders(const Graph& graph, Config config) {
  LayerRule all;
  all.name = "*";
  all.if_present = true;
  all.keep_float = true;
  std::vector<LayerRule> rules{all, rule_for_products(config, "MatMul"),
                               rule_for_products(config, "Gemm")};
  if (const std::string head = head_of(graph); !head.empty()) {
    rules.push_back(rule_for_head(config, head));
  }
  rules.insert(rules.end(), config.layers.begin(), config.layers.end());
  config.layers = std::move(rules);
  config.slowdown = config.slowdown.value_or(0);  // nothing is left to be kept in float
  return config;
}

}  // namespace

bool is_decoder(const Graph& graph) {
  const auto tokens = token_interface(graph);
  if (!tokens) {
    return false;
  }
  const Shape& ids = graph.type(graph.inputs()[tokens->ids]).shape;
  if (ids[1] == 1) {
    return has_cache(graph);
  }
  try {
    return is_causal(graph, *tokens);
  } catch (const Error&) {
    return false;  // made-up inputs are not all that networks may want
  }
}

std::set<std::string> lookups_of_tokens(const Graph& graph) {
  std::set<std::string> names;
  if (const auto tokens = token_interface(graph)) {
    for (const NodeId id : graph.users(graph.inputs()[tokens->ids])) {
      names.insert(graph.node(id).name);
    }
  }
  return names;
}

AppliedRecipe with_recipe(const Graph& prepared, const Config& config) {
  if (config.recipe == Recipe::kNone) {
    return {config, {}};
  }
  const bool is_asked_for = config.recipe == Recipe::kDecoder;
  if (!is_asked_for && (!leaves_recipe_open(config) || !is_decoder(prepared))) {
    return {config, {}};
  }
  const LayerRule products = rule_for_products(config, "MatMul");
  const bool has_own_head = !config.weights.bits && !head_of(prepared).empty();
  const std::string head =
      has_own_head ? ", those of the scores " + std::to_string(kBitsOfHead) : "";
  const std::string why =
      is_asked_for ? "as configured" : "scores do not depend on later tokens";
  return {for_decoders(prepared, config),
          "decoder (" + why + "): weights of products get " +
              std::to_string(*products.weights.bits) + " bits in blocks of " +
              std::to_string(*products.weights.block) + head +
              ", and all else stays in float; --set recipe=none goes without"};
}

}  // namespace tare
