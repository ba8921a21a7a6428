#pragma once

#include "tare/graph.h"

#include "support/float_sum.h"
#include "support/random/random.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tare::test {

/// Tries a property, which answers with what is wrong or with nothing, on 300 random shapes, or
/// as many as TARE_SHAPES says. TARE_SHAPE is the number of the only one to try. Nothing is
/// tried where ONEDNN_MAX_CPU_ISA names instructions that this processor lacks.
void hold_for_random_shapes(const std::function<std::string(Random&)>& property);

/// Counts of channels at which kernels change what they do: multiples of the vectors of every
/// instruction set and their neighbours, and small ones.
std::int64_t random_channels(Random&);

/// Whether something that comes up once in so many times does.
inline bool one_in(std::int64_t times, Random& random) {
  return random.integer(1, times) == 1;
}

/// What a result should be, and how far off it may be.
struct Expected {
  std::vector<double> values;
  std::vector<double> bounds;

  explicit Expected(std::size_t count) : values(count), bounds(count) {}
  /// No rounding at all where every partial sum is a small integer.
  Expected(const std::vector<Sum>& sums, bool exact);
};

/// A graph of few nodes on random operands, float ones unless they are given.
class Trial {
 public:
  explicit Trial(Random& random) : random(random), whole(random.coin()) {}

  struct Operand {
    ValueId id;
    Tensor values;
  };
  Operand operand(Shape, bool constant);
  Operand operand(const Tensor&, const TensorType&, bool constant);
  Operand constant(const Tensor&);
  /// The node's first result.
  ValueId add(const std::string& op, std::vector<ValueId> operands, TensorType result,
              Attributes attributes = {});
  /// Random values as an operand of that shape has.
  Tensor numbers(Shape);

  /// Runs the graph, precise or not and inputs in any layout; what is wrong with that result.
  std::string wrong(ValueId result, const Expected&);

  Random& random;
  /// All float operands are integers of at most 8, so that float sums and products are exact.
  bool whole;

 private:
  Graph graph_;
  std::vector<Tensor> inputs_;
};

/// Storage values as a simulated graph holds them, in float32.
Trial::Operand simulated_operand(Trial&, const Tensor& storage, const TensorType&,
                                 bool constant);
/// Those of an operand less their zero point, as its products get them.
ValueId without_zero_point(Trial&, const Trial::Operand&, const TensorType&);

/// Values of a storage type: anywhere in its range, or only at its ends, where sums are
/// largest.
Tensor random_storage(DType, Shape, Random&);

}  // namespace tare::test
