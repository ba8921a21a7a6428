#pragma once

#include "tare/execute.h"
#include "tare/node.h"

#include "base/large_memory.h"
#include "calibrate/rounding/byte_steps.h"
#include "execute/elements/window.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tare {

/// The constant weights of a layer as one matrix per group: an output is the product of a row
/// of the input (for a convolution, the window around one position) with its weights.
struct LayerMatrix {
  std::size_t groups = 1;
  std::size_t outputs = 0;  ///< of one group
  std::size_t columns = 0;  ///< weights of one output
  std::size_t output_stride = 0;
  std::size_t column_stride = 1;

  /// Where a weight is in the constant.
  std::size_t at(std::size_t group, std::size_t output, std::size_t column) const {
    return (group * outputs + output) * output_stride + column * column_stride;
  }
};
/// Of a Conv, Gemm or MatMul whose second operand is a constant that serves every sample;
/// nothing for other nodes.
std::optional<LayerMatrix> layer_matrix(const Graph&, const Node&);

/// Rows that a layer multiplies its weights with: a few for each weight of an output, spread
/// evenly over the runs and over the positions in each.
class LayerRows {
 public:
  /// The node has a layer_matrix().
  LayerRows(const Graph&, const Node&, std::size_t runs);

  /// The layer's input in one run, f32; from any threads, once for each run.
  void observe(std::size_t run, const TensorView& input);

  /// Bytes of the rows of the runs [first, end) for another process: in steps where there are
  /// some, one byte for each number in place of four.
  std::size_t bytes_of(std::size_t first, std::size_t end,
                       const std::optional<ByteSteps>&) const;
  /// All of these runs were observed.
  void write_rows_of(std::size_t first, std::size_t end, const std::optional<ByteSteps>&,
                     std::span<std::byte> to) const;
  /// Takes what was written. Numbers that went in steps have as many as they had before.
  void read_rows_of(std::size_t first, std::size_t end, const std::optional<ByteSteps>&,
                    std::span<const std::byte> from);

  const LayerMatrix& matrix() const { return matrix_; }
  std::size_t runs() const { return runs_; }
  std::size_t rows() const { return rows_; }
  std::size_t run_of(std::size_t row) const { return ((row + 1) * runs_ - 1) / rows_; }
  /// [rows, columns]
  std::span<const float> values(std::size_t group) const;

 private:
  std::size_t first_row(std::size_t run) const { return run * rows_ / runs_; }
  float* row(std::size_t group, std::size_t index);
  void copy_line(const TensorView&, std::size_t position, std::size_t to);
  void copy_window(const TensorView&, const Window&, std::size_t position, std::size_t to);
  /// That of the convolution over an input of that shape.
  Window window_over(const Shape& input) const;

  LayerMatrix matrix_;
  std::optional<Window> window_;  ///< of a convolution, over the graph's own shapes
  std::size_t runs_;
  std::size_t rows_;
  LargeArray<float> values_;  ///< [groups, rows, columns]
};

}  // namespace tare
