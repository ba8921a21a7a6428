#pragma once

#include "execute/kernel.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace tare {

// What LSTM, GRU and RNN have in common, after their definitions in ONNX opset 14: cells that
// take one step after another through sequences, in one direction or both.

using Rows = Eigen::Map<Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstRows =
    Eigen::Map<const Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// Applied elementwise to sums.
struct Activation {
  float (*function)(float x, float alpha, float beta) = nullptr;
  float alpha = 0;
  float beta = 0;

  float operator()(float x) const { return function(x, alpha, beta); }
};

/// The same in each direction.
struct CellOptions {
  float clip = 0;  ///< sums are kept within [-clip, clip] before they are activated; 0: free
  bool couples_gates = false;        ///< LSTM: input_forget
  bool linear_before_reset = false;  ///< GRU

  float clipped(float sum) const {
    return clip > 0 ? std::min(std::max(sum, -clip), clip) : sum;
  }
};

/// Of one direction.
struct CellWeights {
  ConstRows of_state;      ///< R: [gates * hidden, hidden]
  const float* bias;       ///< Rb: [gates * hidden]; null: zeros
  const float* peepholes;  ///< of LSTM: [3 * hidden]; null: zeros
  std::span<const Activation> activations;
  bool quantizes_state = false;  ///< see Cell::quantizes_operands
};

/// One step through some sequences, each of which has a row.
struct CellStep {
  /// X W^T + Wb: [gates * hidden] for each row. Null: that sequence has ended, and its states
  /// stay as they are.
  std::span<const float* const> from_input;
  Rows hidden;     ///< H: [rows, hidden], before and after
  Rows cell;       ///< C of LSTM, the same
  Rows gates;      ///< [rows, gates * hidden], to compute in
  Rows candidate;  ///< [rows, hidden], to compute in
  Rows rounded;    ///< [rows, hidden], to compute in; empty where states are not quantized
  /// from_input of the step before, which is of use where states are quantized.
  std::span<const float* const> from_input_before{};
};

struct Cell {
  Eigen::Index gates = 1;
  std::vector<std::string> activations;  ///< what they are when a node says nothing
  void (*step)(const CellWeights&, const CellOptions&, CellStep&) = nullptr;
  /// Factors of weights are rounded to 8 bits first, each time with the scale that suits them:
  /// X up to the end of the longest sequence, and H of all sequences in each step, in which
  /// those that ended before the last step count as zeros. So does ONNX Runtime.
  bool quantizes_operands = false;
};

/// gates = H R^T + Rb, of the first `count` columns, where H may have to be rounded.
void add_state(const CellWeights&, Eigen::Index count, CellStep&);

/// Null when something is not in float. Throws Error(kUnsupported) for activations that ONNX
/// does not name.
std::unique_ptr<Kernel> make_recurrent(const Cell&, const KernelRequest&);

}  // namespace tare
