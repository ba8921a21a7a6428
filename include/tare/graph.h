#pragma once

#include "tare/node.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// The end of a model that its graph cannot hold, since nothing static is known of its values:
/// results of operators that Tare does not know, tensors whose shape depends on data,
/// sequences, strings. It goes as it is from the file that was read into the file that is
/// written.
struct Tail {
  struct Operator {
    std::string node;
    std::string op;      ///< "NonMaxSuppression", or "domain.Name" if it is not one of ONNX
    std::string reason;  ///< why it is here; empty where it only reads what others compute
    bool depends_on_data =
        false;  ///< it can be computed, but what it gives has no static shape
  };
  std::vector<Operator> operators;  ///< producers first
  /// What it reads of the graph, whose inputs and outputs these are.
  std::vector<std::string> inputs;
  /// All outputs of the model, in its order: of the graph, or of the tail.
  std::vector<std::string> outputs;
  /// Operators as files store them, with their opsets and those of other domains.
  std::string nodes;
  std::vector<int> opsets;
  std::map<std::string, std::int64_t> domains;
};

/// A data flow graph; a value type (copying it copies the graph). Handles stay valid until
/// their node or value is erased; indices are never reused.
class Graph {
 public:
  // Defined in one file, not in each of the many that copy graphs.
  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // ---- building ---------------------------------------------------------------------------
  /// Names of values are unique; `unique_name` helps to find one.
  ValueId add_input(std::string name, TensorType);
  ValueId add_constant(std::string name, Tensor);
  /// A constant of storage values.
  ValueId add_constant(std::string name, Tensor, TensorType);
  /// Appends a node; its outputs are new values. An empty node name becomes the first output's.
  NodeId add_node(std::string name, std::string op, std::vector<ValueId> inputs,
                  std::vector<NamedType> outputs, Attributes = {});
  void set_outputs(std::vector<ValueId>);
  void set_type(ValueId, TensorType);
  void set_input(NodeId, std::size_t operand, ValueId);
  void set_attributes(NodeId, Attributes);
  void set_origins(NodeId, std::vector<Origin>);
  /// Every reader of `before`, graph outputs included, reads `after` instead. When `before` was
  /// a graph output, `after` takes over its name, so the interface of the model stays as it is.
  void replace_uses(ValueId before, ValueId after);
  /// When another value has that name, it gets a unique one derived from it.
  void rename(ValueId, const std::string& name);
  /// Keeps the node's name when another node has that one already.
  void rename(NodeId, const std::string& name);
  /// The node must have no readers left. Its output values vanish with it.
  void erase(NodeId);
  /// A constant or input that nothing reads and that is no graph output.
  void erase(ValueId);
  /// Erases nodes and constants that no graph output depends on; inputs stay.
  void erase_unused();
  void erase_unused_constants();  ///< those that no node and no graph output reads
  /// `wanted`, or "wanted_1", "wanted_2", ... whichever is still free among values and nodes.
  std::string unique_name(std::string_view wanted) const;

  // ---- reading ----------------------------------------------------------------------------
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  /// Producers first; among the nodes that are ready, the one added first. The same graph
  /// always gives the same order. Throws Error(kInvalidModel) on a cycle, naming one node of
  /// it.
  std::vector<NodeId> topological_order() const;
  bool alive(NodeId) const;
  const Node& node(NodeId) const;
  const std::string& name(ValueId) const;
  const TensorType& type(ValueId) const;
  /// Null when the value is computed, an input, or absent.
  const Tensor* constant(ValueId) const;
  bool is_input(ValueId) const;
  bool is_output(ValueId) const;
  std::optional<NodeId> producer(ValueId) const;
  /// One entry per reading operand, in the order in which the readers were added.
  const std::vector<NodeId>& users(ValueId) const;
  /// Exactly one reading operand, and not a graph output.
  bool single_use(ValueId) const;
  std::optional<ValueId> find_value(std::string_view name) const;
  std::optional<NodeId> find_node(std::string_view name) const;
  /// Handles of all living nodes and values, in the order in which they were added.
  std::vector<NodeId> nodes() const;
  std::vector<ValueId> values() const;

  // ---- facts about the file it came from ----------------------------------------------------
  std::string graph_name;
  int opset = 17;  ///< opset of the model as imported; exporters write it, raised where needed
  /// Input or output name -> one entry per dimension; a symbolic dimension's name, or empty.
  std::map<std::string, std::vector<std::string>> dimension_names;
  /// Dimensions that its file leaves open but that had to be bound, as the network would be
  /// another one for other extents: by name, with what they are bound to. Not part of what
  /// makes graphs equal.
  std::map<std::string, std::int64_t> fixed_dimensions;
  /// Real value -> its element type in the file, where that is not float32 for all:
  /// in_float32() notes it and in_file_types() goes by it. Values that are not in it are
  /// float32.
  std::map<std::string, DType> file_types;

  // ---- what is known of its operators -------------------------------------------------------
  /// The allow-list that holds for this graph; null: affine_ops(). prepare() takes it from the
  /// toolkit. Not part of what makes graphs equal.
  std::shared_ptr<const std::vector<AffineOp>> affine_rows;
  /// Makes the same graph for inputs of other shapes, given in their order; null where it only
  /// runs with those that it has. read_onnx() sets it where a model leaves extents open; then
  /// it throws Error where the model is another network for these shapes. Not part of what
  /// makes graphs equal.
  std::shared_ptr<const std::function<Graph(const Graph&, std::span<const Shape>)>> reshape;
  /// What comes behind it in its file; null: nothing does. Its outputs are then those of the
  /// model that it computes, and after them what else the tail reads. Not part of what makes
  /// graphs equal, and not in the textual form.
  std::shared_ptr<const Tail> tail;

  friend bool operator==(const Graph&, const Graph&);

 private:
  struct Value {
    std::string name;
    TensorType type;
    std::optional<Tensor> constant;
    std::optional<NodeId> producer;
    std::vector<NodeId> users;
    bool is_input = false;
    bool alive = true;
  };
  struct NodeSlot {
    Node node;
    bool alive = true;
  };
  /// By name, of nodes or of values that are alive; `name_of` gives the name of an index.
  class NameIndex {
   public:
    template <class NameOf>
    std::optional<std::uint32_t> find(std::string_view name, const NameOf& name_of) const;
    /// Of a name that is not there.
    template <class NameOf>
    void insert(std::uint32_t index, const NameOf& name_of);
    template <class NameOf>
    void erase(std::string_view name, const NameOf& name_of);

   private:
    static constexpr std::uint32_t kFree = 0xFFFFFFFF;
    static constexpr std::uint32_t kErased = 0xFFFFFFFE;
    template <class NameOf>
    std::size_t slot_of(std::string_view name, const NameOf& name_of) const;

    std::vector<std::uint32_t> slots_;  ///< none, or a power of two of them
    std::size_t taken_ = 0;             ///< those that are not free
  };

  auto name_of_value() const;
  auto name_of_node() const;
  ValueId add_value(Value);
  Value& value(ValueId);
  const Value& value(ValueId) const;
  void drop_use(ValueId, NodeId);

  std::vector<Value> values_;
  std::vector<NodeSlot> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  NameIndex value_names_;
  NameIndex node_names_;
};

/// The values of a constant operand as int64 (axes, pads, target shapes), or nothing when the
/// operand is absent or not constant.
std::optional<std::vector<std::int64_t>> constant_integers(const Graph&, const Node&,
                                                           std::size_t operand);

/// Whether the model leaves extents of its inputs open, so that the shapes in the graph are
/// only an example of those that it runs with.
bool leaves_extents_open(const Graph&);

/// Outputs of the model that a graph is of, by name: those of the graph, or, where it has a
/// tail, those that this lists.
std::vector<std::string> model_outputs(const Graph&);

/// Checks every invariant of graph, types and parameters: operand counts, dangling or cyclic
/// values, element counts of constants, quantization parameters. Throws Error(kInvalidModel)
/// with all violations.
void verify(const Graph&);

/// The same network with all real values in float32, which is what calibration, quantization
/// and reports know; `file_types` remembers what they were. A graph that has nothing else is
/// returned as it is.
Graph in_float32(Graph);
/// The way back, of a float graph or a canonical integer one: what computes on real values does
/// so in the types of `file_types`, as far as ONNX has the operator for them, with Casts where
/// types meet; inputs and outputs have their types, and `file_types` is empty. Conversions from
/// and to storage values stay in float32, which their scales need.
Graph in_file_types(Graph);

/// Textual form; grammar in docs/textual_ir.md. `parse(print(g)) == g`.
/// Constants and per-axis parameters of more than `elide_above` elements are written as `...`;
/// such text is for people and parse refuses it.
std::string print(const Graph&,
                  std::int64_t elide_above = std::numeric_limits<std::int64_t>::max());
/// Throws Error(kInvalidModel) with line:column.
Graph parse(std::string_view textual_ir);

}  // namespace tare
