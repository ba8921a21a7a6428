// Pools. What a window computes goes back to its elements by operators of the executor, which
// have the attributes of the pool.
#include "reconstruct/gradient_rule.h"

namespace tare {
namespace {

using C = GradientContext;

void average_pool(C& c) {
  c.give(0, c.add("AveragePoolGradient", {c.gradient()}, c.shape(c.input(0)), c.attributes()));
}

void max_pool(C& c) {
  c.give(0, c.add("MaxPoolGradient", {c.gradient(), c.input(0)}, c.shape(c.input(0)),
                  c.attributes()));
}

void global_average_pool(C& c) {
  const Shape& shape = c.shape(c.input(0));
  const auto each =
      static_cast<float>(element_count(shape)) / static_cast<float>(shape[0] * shape[1]);
  c.give(0, c.expand(c.map("Div", {c.gradient(), c.number(each)}), shape));
}

void global_max_pool(C& c) {
  c.give(0, c.where(c.test("Equal", {c.input(0), c.output()}), c.gradient()));
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(pooling) {
  using namespace tare;
  return {{{"AveragePool"}, average_pool},
          {{"MaxPool"}, max_pool},
          {{"GlobalAveragePool"}, global_average_pool},
          {{"GlobalMaxPool"}, global_max_pool}};
}
