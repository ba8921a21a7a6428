// Simulated quantization: straight through for what is rounded, and the learned step size for
// its parameters (Esser, McKinstry, Bablani, Appuswamy and Modha, "Learned Step Size
// Quantization", 2020, section 2.1; the zero point by Bhalgat et al., "LSQ+", 2020).
#include "reconstruct/gradient_rule.h"

namespace tare {
namespace {

void fake_quantize(GradientContext& c) {
  const std::vector<ValueId> operands{c.gradient(), c.input(0), c.input(1)};
  if (c.wants(0)) {
    c.give(0, c.add("FakeQuantizeGradient", operands, c.shape(c.input(0))));
  }
  if (c.wants(1)) {
    c.give(1, c.add("FakeQuantizeParameterGradient", operands, Shape{4}));
  }
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(quantization) {
  using namespace tare;
  return {{{"FakeQuantize"}, fake_quantize}};
}
