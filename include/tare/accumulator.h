#pragma once

#include "tare/graph.h"

#include <cstdint>
#include <vector>

namespace tare {

/// What becomes of a sum that does not fit.
enum class Overflow : std::uint8_t {
  kSaturate,  ///< the end of the range that it would have left
  kWrap,      ///< what its lowest bits say: two's complement
};

/// The register of two's complement in which a sum of products is added up.
///
/// It starts at the bias, and takes the products (q_x - z_x) * (q_w - z_w) one by one, in
/// row-major order of the weights of one result: by input channel, then by kernel position.
/// Padding adds nothing. The bias and every sum after it are brought back into range. Where
/// sums wrap, the order makes no difference; where they saturate, it does.
///
/// Conv, ConvTranspose, Gemm and MatMul have it in their attributes `accumulator_bits` and
/// `accumulator_overflow` (saturate, wrap), in simulated and integer graphs alike. Without them
/// a sum has the bits of its type: i32 holds 33,000 products of 8-bit values; where a factor
/// has 16 bits it is i64.
struct Accumulator {
  int bits = 32;  ///< 8 to 32
  Overflow overflow = Overflow::kSaturate;

  std::int64_t low() const { return -(std::int64_t{1} << (bits - 1)); }
  std::int64_t high() const { return (std::int64_t{1} << (bits - 1)) - 1; }
  /// The sum, brought back into range.
  std::int64_t hold(std::int64_t sum) const;

  friend bool operator==(const Accumulator&, const Accumulator&) = default;
};

/// Whether the attributes say what accumulator a node has.
bool states_accumulator(const Attributes&);
/// Throws Error(kInvalidModel) for other numbers of bits and other words.
Accumulator accumulator(const Attributes&);
/// Writes it into the attributes; the usual one by taking out what is there.
void set_accumulator(Attributes&, const Accumulator&);

/// Bounds of partial sums.
struct SumRange {
  std::int64_t low = 0;  ///< at most 0, since nothing may have been added yet
  std::int64_t high = 0;

  /// A term that may be anything from `least` to `most`.
  void add(std::int64_t least, std::int64_t most);
  /// The fewest that a two's complement register of these sums can have.
  int bits() const;
  bool fits(const Accumulator& held) const { return low >= held.low() && high <= held.high(); }

  friend bool operator==(const SumRange&, const SumRange&) = default;
};

/// The accumulator range of one node.
struct AccumulatorRange {
  NodeId node;
  SumRange range;  ///< of all its results
};

/// The worst-case accumulator range of every sum of products of an integer graph, in
/// topological order: what its partial sums can be for any storage values, in whatever order
/// its products and its bias are added. For Conv, Gemm and MatMul there are storage values and
/// orders that go to both ends; for ConvTranspose the whole kernel counts, though strides may
/// keep parts of it apart. (The l1 bound of Colbert, Pappalardo and Petri-Koenig, A2Q:
/// Accumulator-Aware Quantization with Guaranteed Overflow Avoidance, 2023, with the signs of
/// weights.)
std::vector<AccumulatorRange> worst_case_accumulators(const Graph& integer);

}  // namespace tare
