#include "reconstruct/gradient_rule.h"

namespace tare {
namespace {

std::vector<std::int64_t> softmax_axis(GradientContext& c) {
  return {static_cast<std::int64_t>(
      normalized_axis(c.attributes().integer("axis", -1), c.shape(c.output()).size()))};
}

/// y (dy - sum of y dy)
void softmax(GradientContext& c) {
  const ValueId weighted = c.map("Mul", {c.gradient(), c.output()});
  const ValueId part = c.map("Mul", {c.output(), c.sum(weighted, softmax_axis(c))});
  c.give(0, c.map("Sub", {weighted, part}));
}

/// dy - e^y sum of dy
void log_softmax(GradientContext& c) {
  const ValueId total = c.sum(c.gradient(), softmax_axis(c));
  const ValueId part = c.map("Mul", {c.map("Exp", {c.output()}), total});
  c.give(0, c.map("Sub", {c.gradient(), part}));
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(softmax) {
  using namespace tare;
  return {{{"Softmax"}, softmax}, {{"LogSoftmax"}, log_softmax}};
}
