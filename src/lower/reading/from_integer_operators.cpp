// Rules that know conversions and arithmetic on storage values in what core operators say.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "lower/forms/spelled_parameters.h"
#include "lower/forms/spelled_product.h"
#include "lower/lower.h"

#include <array>
#include <optional>

namespace tare {
namespace {

const TensorType& result_of(const Graph& graph, const Match& match) {
  return graph.type(graph.node(match.root()).outputs[0]);
}

/// x - zero, by the names of the captures.
Pattern centred(const char* x, const char* zero) {
  return op("Sub").with(op("Cast").with(any().as(x)), constant().as(zero));
}

/// The last steps to storage values; rounded steps, or steps that are to be rounded with the
/// zero point in them.
Pattern stored(const Pattern& steps) {
  return op("Cast").with(op("Clip").with(steps, constant().as("low"), constant().as("high")));
}
Pattern rounded_then_shifted(const Pattern& steps) {
  return stored(op("Add").with(op("Round").with(steps), constant().as("zero")));
}

/// Whether stored() matched what saturates at the ends of the storage type.
bool saturates(const Graph& graph, const Match& match) {
  const DType storage = result_of(graph, match).dtype;
  if (!is_storage_type(storage) || storage == DType::kInt32) {
    return false;
  }
  const StorageRange range = storage_range(storage, false);
  const auto is_bound = [&](const char* name, std::int64_t bound) {
    return graph.constant(match.value(name))->to_double() ==
           std::vector<double>{static_cast<double>(bound)};
  };
  return is_bound("low", range.low) && is_bound("high", range.high);
}

using Rewritten = std::variant<Patch, Refusal>;

/// Puts QuantizeLinear of `real` in the place of the match; a refusal without `real`, or where
/// constants broadcast it to another shape.
Rewritten quantized(Patch patch, const Graph& graph, const Match& match, ValueId real) {
  const ValueId root = graph.node(match.root()).outputs[0];
  const TensorType& type = graph.type(root);
  const auto parameters =
      real && patch.type(real).shape == type.shape && saturates(graph, match)
          ? parameters_of(graph, match, "scale", "zero", type.shape.size(), type.dtype)
          : std::nullopt;
  if (!parameters) {
    return Refusal{"the constants are none of a storage type"};
  }
  patch.replace(root, add_linear(patch, "QuantizeLinear", real, *parameters, type.dtype,
                                 graph.name(root)));
  return patch;
}

/// DequantizeLinear of a captured value; absent where the constants are no parameters.
ValueId dequantized(Patch& patch, const Graph& graph, const Match& match, const char* x,
                    const char* scale, const char* zero) {
  const TensorType& type = graph.type(match.value(x));
  if (!is_storage_type(type.dtype)) {
    return {};
  }
  const auto parameters =
      parameters_of(graph, match, scale, zero, type.shape.size(), type.dtype);
  return parameters ? add_linear(patch, "DequantizeLinear", match.value(x), *parameters,
                                 DType::kFloat32, graph.name(match.value(x)) + "_dequantized")
                    : ValueId{};
}

RewriteRule quantize_linear() {
  return {
      .name = "quantize_linear",
      .summary = "Div, Round, Add, Clip and Cast to a storage type",
      .pattern =
          [] {
            return rounded_then_shifted(op("Div").with(any().as("x"), constant().as("scale")));
          },
      .rewrite = [](const Graph& graph, const Match& match) -> Rewritten {
        const ValueId x = match.value("x");
        const bool is_real = graph.type(x).dtype == DType::kFloat32;
        return quantized(Patch(graph), graph, match, is_real ? x : ValueId{});
      }};
}

RewriteRule dequantize_linear() {
  return {
      .name = "dequantize_linear",
      .summary = "Cast from a storage type, Sub and Mul",
      .pattern = [] { return op("Mul").with(centred("x", "zero"), constant().as("scale")); },
      .rewrite = [](const Graph& graph, const Match& match) -> Rewritten {
        Patch patch(graph);
        const ValueId real = dequantized(patch, graph, match, "x", "scale", "zero");
        if (!real || patch.type(real) != result_of(graph, match)) {
          return Refusal{"the constants are none of a storage type"};
        }
        patch.replace(graph.node(match.root()).outputs[0], real);
        return patch;
      }};
}

RewriteRule real_product() {
  return {
      .name = "real_product",
      .summary = "ConvInteger or MatMulInteger, times both scales",
      .pattern = [] { return op("Mul").with(integer_sum_pattern(), product_scale_pattern()); },
      .rewrite = [](const Graph& graph, const Match& match) -> Rewritten {
        Patch patch(graph);
        const ValueId real = add_real_product(patch, graph, match);
        if (!real || patch.type(real) != result_of(graph, match)) {
          return Refusal{"the constants are none of both factors"};
        }
        patch.replace(graph.node(match.root()).outputs[0], real);
        return patch;
      }};
}

RewriteRule requantized_product() {
  return {.name = "requantized_product",
          .summary = "ConvInteger or MatMulInteger, rescaled to a storage type",
          .pattern =
              [] {
                const Pattern factor =
                    op("Div").with(product_scale_pattern(), constant().as("scale"));
                return rounded_then_shifted(op("Mul").with(integer_sum_pattern(), factor));
              },
          .rewrite = [](const Graph& graph, const Match& match) -> Rewritten {
            Patch patch(graph);
            const ValueId real = add_real_product(patch, graph, match);
            return quantized(std::move(patch), graph, match, real);
          }};
}

/// Arithmetic of two dequantized operands, a and b, on real numbers.
Rewritten between_conversions(const Graph& graph, const Match& match, const char* op) {
  Patch patch(graph);
  const ValueId a = dequantized(patch, graph, match, "a", "a_scale", "a_zero");
  const ValueId b = dequantized(patch, graph, match, "b", "b_scale", "b_zero");
  TensorType type = result_of(graph, match);
  type.dtype = DType::kFloat32;
  const bool fit = a && b && patch.type(a) == type && patch.type(b) == type;
  const ValueId real =
      fit ? patch.add(op, {a, b}, type,
                      original_name(graph.name(graph.node(match.root()).outputs[0])))
          : ValueId{};
  return quantized(std::move(patch), graph, match, real);
}

RewriteRule multiplied_values() {
  return {
      .name = "multiplied_values",
      .summary = "the product of centred storage values, rescaled to a storage type",
      .pattern =
          [] {
            const Pattern product =
                op("Mul").with(centred("a", "a_zero"), centred("b", "b_zero"));
            const Pattern factor = op("Div").with(
                op("Mul").with(constant().as("a_scale"), constant().as("b_scale")),
                constant().as("scale"));
            return stored(op("Round").with(
                op("Add").with(op("Mul").with(product, factor), constant().as("zero"))));
          },
      .rewrite = [](const Graph& graph,
                    const Match& match) { return between_conversions(graph, match, "Mul"); }};
}

RewriteRule added_values() {
  return {
      .name = "added_values",
      .summary = "the sum of rescaled storage values, in f64",
      .pattern =
          [] {
            const auto ratio = [](const char* scale) {
              return op("Div").with(constant().as(scale), constant().as("scale"));
            };
            const auto offset = [&](const char* scale, const char* zero) {
              return op("Mul").with(ratio(scale), constant().as(zero));
            };
            const auto to = [](DType type, const Pattern& value) {
              return op("Cast").with(value).where([type](const Graph& graph, const Node& node) {
                return graph.type(node.outputs[0]).dtype == type;
              });
            };
            const auto wide = [&](const Pattern& value) { return to(DType::kFloat64, value); };
            const auto fused = [&](const char* x, const char* scale, const Pattern& rest) {
              return to(DType::kFloat32,
                        op("Add").with(op("Mul").with(wide(any().as(x)), wide(ratio(scale))),
                                       wide(rest)));
            };
            const Pattern fixed = op("Sub").with(
                constant().as("zero"),
                op("Add").with(offset("a_scale", "a_zero"), offset("b_scale", "b_zero")));
            return stored(
                op("Round").with(fused("a", "a_scale", fused("b", "b_scale", fixed))));
          },
      .rewrite = [](const Graph& graph,
                    const Match& match) { return between_conversions(graph, match, "Add"); }};
}

}  // namespace

Graph from_integer_operators(Graph graph) {
  const std::array rules{quantize_linear(),     dequantize_linear(), real_product(),
                         requantized_product(), multiplied_values(), added_values()};
  Graph result = rewrite(std::move(graph), rules);
  unite_products(result);
  return result;
}

}  // namespace tare
