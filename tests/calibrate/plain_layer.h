#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <vector>

namespace tare::test {

/// A Conv of one group on images, or a MatMul with a matrix of weights, as one product: each
/// row of its input with the weights of each output.
class PlainLayer {
 public:
  PlainLayer(const Graph&, const Node&);

  std::size_t outputs() const { return outputs_; }
  std::size_t columns() const { return columns_; }
  /// Where a weight is in the constant.
  std::size_t at(std::size_t output, std::size_t column) const;
  /// What a convolution multiplies at each of its positions, or what a matrix does: [rows,
  /// columns].
  std::vector<float> rows(const Tensor& input) const;
  /// For each column the one next to it in the order in which integer kernels add products: by
  /// input channel in each position of a convolution's window, else as weights are stored. The
  /// last of an odd number has none but itself.
  std::vector<std::size_t> neighbours() const;

 private:
  std::vector<float> windows(const Tensor& image) const;

  bool is_convolution_;
  Shape weights_;
  Shape result_;
  std::vector<std::int64_t> strides_, dilations_, pads_;
  std::size_t outputs_ = 0;
  std::size_t columns_ = 0;
};

}  // namespace tare::test
