#pragma once

#include "tare/node.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "tflite/model_file.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tare::tflite {

/// Axes of what has channels in the file's order last, and elsewhere first.
constexpr std::size_t kImageRank = 4;

/// Where the channels of a value of that rank are. Other ranks know the file's order only.
enum class Order : std::uint8_t {
  kFile,           ///< as in the file: N H W C
  kChannelsFirst,  ///< N C H W
};

/// Where `axis` of the file's order is in that order.
std::int64_t axis_in(Order, std::int64_t axis);
/// The extents in that order.
Shape shape_in(Order, const Shape&);

/// A graph in the making, with the tensors of a file as values. A tensor has storage values,
/// real ones, or both, in either order; what is missing is made when somebody asks for it.
class GraphImport {
 public:
  GraphImport(const ModelFile&, Numerics);
  ~GraphImport();

  /// Those that the graph is made for.
  Numerics numerics() const { return numerics_; }

  const FileTensor& tensor(int index) const {
    const auto known = computed_constants_.find(index);
    return known != computed_constants_.end() ? known->second
                                              : file_.tensors[static_cast<std::size_t>(index)];
  }
  /// Whether the tensor is an input, or the operator that writes it has been imported.
  bool is_defined(int index) const;
  /// Whether the tensor is there in that order without moving elements.
  bool has(int index, Order) const;
  /// What the tensor stands for: real values, or its own where it has no parameters.
  ValueId expressed(int index, Order);
  /// The integers of a tensor with parameters.
  ValueId storage(int index, Order);
  /// The tensor as it becomes after its axes have been reordered, and before that, seen under
  /// `shape`. For constants, whose elements are moved once and for all.
  ValueId expressed_constant(int index, const Shape& shape,
                             const std::vector<std::int64_t>& order);
  /// These elements, which stand for what elements of the constant tensor would.
  ValueId expressed_elements(int index, const Tensor& elements);
  /// Real values as storage with the tensor's parameters leaves them, whatever their shape; the
  /// same values where it has none.
  ValueId rounded(int index, ValueId expressed);
  /// The operator that writes the tensor computed this. Throws Error(kInvalidModel) when the
  /// file says that it has another shape or type of elements.
  void define(int index, Order, ValueId expressed);
  /// As define(), of a tensor without parameters, in the file's order; a file that says the
  /// tensor has no axes leaves its shape open.
  void define_unshaped(int index, ValueId computed);
  /// The operator that writes the tensor, which is float32 and of that shape, computed this of
  /// constants: those who read it find a constant of the file.
  void define_constant(int index, Tensor);
  /// As define(), of a tensor with parameters; it computed integers.
  void define_storage(int index, Order, ValueId storage);

  /// A node with one result, both named after `name`.
  ValueId add(const std::string& op, std::vector<ValueId> inputs, const TensorType&,
              const std::string& name, Attributes = {});
  ValueId add_constant(const std::string& name, Tensor);
  /// A value of rank 4 in the other order.
  ValueId reordered(ValueId value, Order from, const std::string& name);
  /// Real values behind a DequantizeLinear.
  ValueId dequantized(ValueId storage, const QuantParams&, const std::string& name);
  const TensorType& type(ValueId) const;
  const Graph& graph() const { return *graph_; }
  Graph& graph() { return *graph_; }

  /// The graph, with the file's inputs and outputs.
  Graph finish();

 private:
  struct Values {
    std::array<ValueId, 2> storage;    // by Order
    std::array<ValueId, 2> expressed;  // by Order
  };

  ValueId quantized(int index, Order, ValueId expressed);
  void require_type(int index, Order, ValueId computed, DType) const;
  void set(int index, ValueId& place, ValueId value);
  ValueId output(int index);

  const ModelFile& file_;
  Numerics numerics_;
  std::unique_ptr<Graph> graph_;  // so that operators need not read graph.h
  std::vector<Values> values_;
  std::map<int, FileTensor> computed_constants_;  // by index
  std::vector<ValueId> outputs_;
};

}  // namespace tare::tflite
