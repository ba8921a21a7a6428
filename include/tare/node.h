#pragma once

#include "tare/arithmetic.h"
#include "tare/process.h"
#include "tare/tensor.h"

#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tare {

class Graph;

// What graphs are made of. Kernels and reports need no more than this of them.

struct NodeId {
  std::uint32_t index = std::numeric_limits<std::uint32_t>::max();
  auto operator<=>(const NodeId&) const = default;
};

/// A default-constructed handle stands for an optional operand that is absent.
struct ValueId {
  std::uint32_t index = std::numeric_limits<std::uint32_t>::max();
  auto operator<=>(const ValueId&) const = default;
  explicit operator bool() const { return index != std::numeric_limits<std::uint32_t>::max(); }
};

/// What is known of a value without running the graph. Shapes are fully static.
struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  /// Present when the value holds storage values (integers of `quant->storage`).
  std::optional<QuantParams> quant;
  /// Name of the quantization point whose parameters describe this value; empty when none does.
  /// In a simulated graph the value then holds storage values in float32.
  std::string point;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// A value that is to be made.
struct NamedType {
  std::string name;
  TensorType type;
};

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>, Tensor>;

/// Named settings of a node. The typed reads throw Error(kInvalidModel) when an attribute of
/// that name has another type, or is missing and no fallback was given.
class Attributes {
 public:
  // Defined in one file, as those of Graph are.
  Attributes();
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items);
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();

  bool has(std::string_view name) const;
  void set(std::string name, Attribute value);
  void erase(std::string_view name);

  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  float real(std::string_view name) const;
  float real(std::string_view name, float fallback) const;
  std::string text(std::string_view name) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name,
                                     std::vector<std::int64_t> fallback) const;
  std::vector<float> reals(std::string_view name, std::vector<float> fallback) const;
  const Tensor& tensor(std::string_view name) const;

  const std::map<std::string, Attribute, std::less<>>& items() const { return items_; }
  friend bool operator==(const Attributes&, const Attributes&);

 private:
  std::map<std::string, Attribute, std::less<>> items_;
};

/// An operator as it was before a graph was rewritten.
struct Origin {
  std::string name;
  std::string op;

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// One operator application. Operators are those of ONNX opset 17 in that opset's form
/// (importers normalize older and newer ones), plus the toolkit's own, listed in
/// docs/textual_ir.md: Quantize Dequantize Requantize SimulatedQuantize SimulatedDequantize
/// FakeQuantize Gelu Rsqrt.
struct Node {
  std::string name;  ///< unique in the graph, stable from import to report
  std::string op;    ///< "Conv"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  /// Operators that rewriting made part of this one, in the order in which it did. They say
  /// where the node came from, not what it computes, so they are no part of equality and of the
  /// textual form.
  std::vector<Origin> origins{};
};

/// How an operator f behaves on storage values, bit for bit.
enum class AffineRule : std::uint8_t {
  kMoves,      ///< moves or picks elements: commutes with quantize and with dequantize, and its
               ///< result has the range of its operand, so one quantization point serves both
  kRectifies,  ///< commutes with both as well, but narrows the range
  kClamps,  ///< commutes with quantize (constants are rounded like any value); with dequantize
            ///< only where the constants lie on the grid
  kRounds,  ///< runs on storage values with parameters of its own on each side; rounds once
  kTabulates,  ///< as kRounds, and each result depends on one value: a table gives it
  kCompares,   ///< its results are positions or extents, which storage values give as well
};

/// A row of the affine allow-list: an operator that conversions may move through, so that it
/// runs on storage values.
struct AffineOp {
  std::string_view op;
  AffineRule rule = AffineRule::kRounds;
  bool all_operands = false;  ///< every operand is data (Concat), or only the first one is
  std::string_view reason;
  /// Empty: for every node of that operator. Else the row is for nodes for which this holds.
  std::function<bool(const Graph&, const Node&)> applies{};
};

/// The rows that Tare brings, sorted by name; of several rows of one name the first that
/// applies counts.
std::span<const AffineOp> affine_ops();

}  // namespace tare

/// Entry point of a file with one row. A shared object of such a file, compiled with
/// TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_AFFINE_OP(stem) TARE_PART(AffineOp, tare_affine_op_##stem)
