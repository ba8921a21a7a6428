#pragma once

#include "tare/calibrator.h"
#include "tare/dataset.h"
#include "tare/integer_graph.h"
#include "tare/node.h"
#include "tare/quant_table.h"
#include "tare/report.h"
#include "tare/tensor.h"

#include <map>
#include <span>
#include <string>

namespace tare {

/// What a float graph became before it was quantized: the same nodes and values, but for other
/// constants.
struct EqualizedGraph {
  const Graph* graph = nullptr;  ///< null: the float graph itself
  /// By name: what values were divided by, in a shape that broadcasts against them.
  std::map<std::string, Tensor> divisors{};
};

/// What is known of an integer graph before it runs.
struct CompareFacts {
  std::span<const Verdict> verdicts;       ///< of the same graph in any form of export_form()
  std::span<const AccumulatorRange> sums;  ///< observed_accumulators(); may be empty
  const QuantTable* table = nullptr;       ///< what it was made from; may be null
  /// Asked what they would have chosen; those that need more than statistics are not.
  std::span<const CalibratorInfo> calibrators;
  std::span<const MetricInfo> metrics{};  ///< of the results
  EqualizedGraph equalized{};             ///< which the integer graph was made of
  std::span<const Warning> warnings{};    ///< about samples, see audit_inputs()
};

/// Runs a prepared float graph and an integer graph of it, whoever quantized it, on samples and
/// says layer by layer how far they are apart, in values of the float graph; points are ranges
/// of what these were divided by. One pass; memory does not depend on the number
/// of samples, nor the result on that of threads. Files, target, diagnoses and verdict of the
/// report are left to others. Throws Error(kInvalidModel) when inputs or outputs of the graphs
/// differ, Error(kInvalidData) when the data does not fit them.
Report compare(const Graph& prepared, const Graph& integer, const Dataset&, const CompareFacts&,
               const CompareOptions& = {});

}  // namespace tare
