// Rotates the residual stream of a decoder. The root mean square of a row does not change when
// the row is turned, and every other reader of the stream is a matrix, so turning all rows and
// turning back in these matrices leaves results as they are. Where the width is not a power of
// two, the matrix is the Kronecker product of a Hadamard matrix and an orthogonal one of the
// odd factor.
//
// Cost for width D: D multiplications for each weight that the stream meets, in double.
#include "equalize/rotation.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "base/split_mix.h"
#include "graph/ir/replace_constant.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// A constant whose axis of the stream's width is turned.
struct Turned {
  NodeId node;
  std::size_t operand = 0;
  std::size_t axis = 0;
};

/// A normalization: its gain, if it has one, and the matrices behind it.
struct Reader {
  std::optional<Turned> gain;
  std::vector<Turned> matrices;
};

class StreamFinder {
 public:
  explicit StreamFinder(const Graph& graph) : graph_(graph) {}

  void find() {
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      const Tensor* table = node.op == "Gather" ? graph_.constant(node.inputs[0]) : nullptr;
      if (table != nullptr && table->dtype() == DType::kFloat32 && table->shape().size() == 2 &&
          graph_.type(node.outputs[0]).shape.size() == 3 && graph_.is_input(node.inputs[1])) {
        width_ = table->shape()[1];
        writers_.push_back({id, 0, 1});
        add(node.outputs[0]);
        break;
      }
    }
    if (stream_.empty()) {
      throw Error(ErrorCode::kUnsupported, "'accuracy.rotation'",
                  "the model looks up no embeddings, so it has no residual stream");
    }
    while (!open_.empty()) {
      const ValueId value = open_.front();
      open_.pop_front();
      if (graph_.is_output(value)) {
        refuse(value, "is a result of the model");
      }
      for (const NodeId user : graph_.users(value)) {
        read(value, user);
      }
    }
    faults_.raise(ErrorCode::kUnsupported);
    if (readers_.empty()) {
      throw Error(ErrorCode::kUnsupported, "'accuracy.rotation'",
                  "no normalization reads the embeddings");
    }
  }

  std::int64_t width() const { return width_; }
  const std::vector<Turned>& writers() const { return writers_; }
  const std::vector<Reader>& readers() const { return readers_; }

 private:
  void refuse(ValueId value, const std::string& why) {
    faults_.add("value '" + graph_.name(value) + "'", why,
                "sums, root mean square normalizations and matrices on the residual stream");
  }

  void add(ValueId value) {
    if (stream_.insert(value).second) {
      open_.push_back(value);
    }
  }

  void read(ValueId value, NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == "Add") {
      const ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
      if (stream_.contains(other) || find_writer(other, id, node.inputs[0] == other ? 0 : 1)) {
        add(node.outputs[0]);
      } else {
        refuse(node.outputs[0], "adds what no matrix gives to the residual stream");
      }
    } else if (!is_square(value, node) && !find_normal(value, node)) {
      refuse(value, "is read by node '" + node.name + "' (" + node.op + ")");
    }
  }

  /// Whether all of the value can be turned where it is made.
  bool find_writer(ValueId value, NodeId reader, std::size_t operand) {
    if (graph_.constant(value) != nullptr) {
      if (!is_own(value) || graph_.type(value).shape.empty() ||
          graph_.type(value).shape.back() != width_) {
        return false;
      }
      writers_.push_back({reader, operand, graph_.type(value).shape.size() - 1});
      return true;
    }
    const auto producer = graph_.producer(value);
    if (!producer || !graph_.single_use(value)) {
      return false;
    }
    const Node& node = graph_.node(*producer);
    if (has_matrix(node)) {
      const std::size_t axis = weight_layout(node, 2).output;
      if (graph_.type(node.inputs[1]).shape[axis] != width_) {
        return false;
      }
      writers_.push_back({*producer, 1, axis});
      return node.inputs.size() < 3 || !node.inputs[2] ||
             find_writer(node.inputs[2], *producer, 2);
    }
    return node.op == "Add" && find_writer(node.inputs[0], *producer, 0) &&
           find_writer(node.inputs[1], *producer, 1);
  }

  /// Of which nothing but the mean over a row is used.
  bool is_square(ValueId value, const Node& node) const {
    const Tensor* exponent = node.op == "Pow" ? graph_.constant(node.inputs[1]) : nullptr;
    const bool squares =
        (exponent != nullptr && node.inputs[0] == value && exponent->size() == 1 &&
         exponent->to_float()[0] == 2) ||
        (node.op == "Mul" && node.inputs[0] == value && node.inputs[1] == value);
    const auto& users = graph_.users(node.outputs[0]);
    return squares && !graph_.is_output(node.outputs[0]) &&
           std::all_of(users.begin(), users.end(), [&](NodeId id) {
             const Node& mean = graph_.node(id);
             const auto rank =
                 static_cast<std::int64_t>(graph_.type(mean.inputs[0]).shape.size());
             const auto axes = mean.attributes.integers("axes", {});
             return mean.op == "ReduceMean" && axes.size() == 1 &&
                    (axes[0] == -1 || axes[0] == rank - 1);
           });
  }

  /// The value over one number for each row, and what reads that.
  bool find_normal(ValueId value, const Node& node) {
    const bool divides = node.op == "Div" && node.inputs[0] == value;
    if (!divides && node.op != "Mul") {
      return false;
    }
    const ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
    const Shape& shape = graph_.type(other).shape;
    if (other == value || shape.empty() || shape.back() != 1) {
      return false;
    }
    Reader plain;
    for (const NodeId id : graph_.users(node.outputs[0])) {
      const Node& user = graph_.node(id);
      const std::size_t gain = user.op == "Mul" && user.inputs[0] == node.outputs[0] ? 1 : 0;
      if (user.op == "Mul" && is_own_row(user.inputs[gain])) {
        Reader with_gain{Turned{id, gain, graph_.type(user.inputs[gain]).shape.size() - 1}, {}};
        if (!find_matrices(user.outputs[0], with_gain)) {
          return false;
        }
        readers_.push_back(std::move(with_gain));
      } else if (!find_matrix(node.outputs[0], id, plain)) {
        return false;
      }
    }
    if (!plain.matrices.empty()) {
      readers_.push_back(std::move(plain));
    }
    return !graph_.is_output(node.outputs[0]);
  }

  bool find_matrices(ValueId value, Reader& reader) {
    const auto& users = graph_.users(value);
    return !graph_.is_output(value) && std::all_of(users.begin(), users.end(), [&](NodeId id) {
      return find_matrix(value, id, reader);
    });
  }

  bool find_matrix(ValueId value, NodeId id, Reader& reader) {
    const Node& node = graph_.node(id);
    const auto rank = static_cast<std::int64_t>(graph_.type(value).shape.size());
    if (node.op == "Gather" && node.inputs[0] == value) {  // of the last token, for one
      const std::int64_t axis = node.attributes.integer("axis", 0);
      return axis != -1 && axis != rank - 1 && find_matrices(node.outputs[0], reader);
    }
    if (!has_matrix(node) || node.inputs[0] != value ||
        node.attributes.integer("transA", 0) != 0) {
      return false;
    }
    reader.matrices.push_back({id, 1, weight_layout(node, 2).input});
    return true;
  }

  bool has_matrix(const Node& node) const {
    return (node.op == "MatMul" || node.op == "Gemm") && is_own(node.inputs[1]) &&
           graph_.type(node.inputs[1]).shape.size() == 2;
  }

  bool is_own_row(ValueId value) const {
    const Shape& shape = graph_.type(value).shape;
    return is_own(value) && !shape.empty() && shape.back() == width_ &&
           element_count(shape) == width_;
  }

  bool is_own(ValueId value) const {
    return graph_.constant(value) != nullptr && graph_.single_use(value) &&
           graph_.type(value).dtype == DType::kFloat32;
  }

  const Graph& graph_;
  std::int64_t width_ = 0;
  std::set<ValueId> stream_;
  std::deque<ValueId> open_;
  std::vector<Turned> writers_;
  std::vector<Reader> readers_;
  Faults faults_;
};

/// An orthogonal matrix.
class Rotation {
 public:
  explicit Rotation(std::size_t width) : width_(width), values_(width * width) {
    const std::size_t even = width & (~width + 1);  // the power of two in it
    const std::size_t odd = width / even;
    const std::vector<double> small = orthogonal(odd);
    const double norm = 1 / std::sqrt(static_cast<double>(even));
    for (std::size_t r = 0; r < width; ++r) {
      const double sign = (bits_.next() & 1U) == 0 ? norm : -norm;
      for (std::size_t c = 0; c < width; ++c) {
        const double hadamard = std::popcount((r / odd) & (c / odd)) % 2 == 0 ? 1 : -1;
        values_[r * width + c] = sign * hadamard * small[r % odd * odd + c % odd];
      }
    }
  }

  double at(std::size_t row, std::size_t column) const {
    return values_[row * width_ + column];
  }

 private:
  /// By Gram and Schmidt, twice for the sake of rounding.
  std::vector<double> orthogonal(std::size_t size) {
    std::vector<double> result(size * size);
    for (std::size_t r = 0; r < size; ++r) {
      double* row = result.data() + r * size;
      for (std::size_t c = 0; c < size; ++c) {
        row[c] = static_cast<double>(bits_.next() >> 11U) * 0x1p-52 - 1;
      }
      for (std::size_t pass = 0; pass < 2; ++pass) {
        for (std::size_t other = 0; other < r; ++other) {
          const double* before = result.data() + other * size;
          double dot = 0;
          for (std::size_t c = 0; c < size; ++c) {
            dot += row[c] * before[c];
          }
          for (std::size_t c = 0; c < size; ++c) {
            row[c] -= dot * before[c];
          }
        }
        double square = 0;
        for (std::size_t c = 0; c < size; ++c) {
          square += row[c] * row[c];
        }
        for (std::size_t c = 0; c < size; ++c) {
          row[c] /= std::sqrt(square);
        }
      }
    }
    return result;
  }

  std::size_t width_;
  std::vector<double> values_;
  SplitMix64 bits_{20240404};
};

/// Rows along the axis times the matrix: y[j] = sum of gain[i] x[i] R[i][j].
void turn(Graph& graph, const Turned& constant, const std::vector<float>& gain,
          const Rotation& rotation) {
  Tensor tensor = *graph.constant(graph.node(constant.node).inputs[constant.operand]);
  const Shape& shape = tensor.shape();
  const auto width = static_cast<std::size_t>(shape[constant.axis]);
  std::size_t stride = 1;
  for (std::size_t axis = constant.axis + 1; axis < shape.size(); ++axis) {
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  const auto values = tensor.mutable_view<float>();
  std::vector<double> row(width);
  for (std::size_t start = 0; start < values.size(); ++start) {
    if (start / stride % width != 0) {
      continue;
    }
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t i = 0; i < width; ++i) {
      const double x = static_cast<double>(values[start + i * stride]) *
                       (gain.empty() ? 1 : static_cast<double>(gain[i]));
      for (std::size_t j = 0; j < width; ++j) {
        row[j] += x * rotation.at(i, j);
      }
    }
    for (std::size_t j = 0; j < width; ++j) {
      values[start + j * stride] = static_cast<float>(row[j]);
    }
  }
  replace_constant(graph, graph.node(constant.node).inputs[constant.operand],
                   std::move(tensor));
}

}  // namespace

Graph with_rotation(Graph graph) {
  StreamFinder stream(graph);
  stream.find();
  const Rotation rotation(static_cast<std::size_t>(stream.width()));
  for (const Turned& writer : stream.writers()) {
    turn(graph, writer, {}, rotation);
  }
  for (const Reader& reader : stream.readers()) {
    std::vector<float> gain;
    if (reader.gain) {
      Tensor ones = *graph.constant(graph.node(reader.gain->node).inputs[reader.gain->operand]);
      gain = ones.to_float();
      const auto values = ones.mutable_view<float>();
      std::fill(values.begin(), values.end(), 1.0F);
      replace_constant(graph, graph.node(reader.gain->node).inputs[reader.gain->operand],
                       std::move(ones));
    }
    // Matrices have rows that are turned back: R' W, whose columns are those of W times R.
    for (const Turned& matrix : reader.matrices) {
      turn(graph, matrix, gain, rotation);
    }
  }
  return graph;
}

}  // namespace tare
