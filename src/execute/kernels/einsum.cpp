// Einsum of ONNX: sums of products over labelled axes, in the notation of numpy. One loop for
// each label, so the cost is the product of all extents times the operands. Sums are in double,
// or wrap around.
#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/elements/wider_types.h"
#include "execute/operands.h"
#include "graph/operators/einsum_equation.h"

#include <algorithm>
#include <iterator>

namespace tare {
namespace {

/// Loops over labels, those of the result first.
struct Loops {
  Shape extents;
  std::vector<Strides> strides;  ///< by operand, then by label
  std::size_t of_result = 0;     ///< labels that the result has
};

Loops loops_of(const KernelRequest& request) {
  std::vector<Shape> shapes;
  for (const Operand& operand : request.inputs) {
    shapes.push_back(operand.shape());
  }
  const EinsumEquation equation = parse_einsum(request.attributes().text("equation"), shapes);
  expect_shape(request.outputs[0], equation.extents(equation.result, shapes));
  std::vector<int> order = equation.result;
  const auto position = [&](int label) {
    return static_cast<std::size_t>(std::find(order.begin(), order.end(), label) -
                                    order.begin());
  };
  for (const auto& labels : equation.operands) {
    std::copy_if(labels.begin(), labels.end(), std::back_inserter(order),
                 [&](int label) { return position(label) == order.size(); });
  }
  Loops loops{.extents = equation.extents(order, shapes),
              .strides = {},
              .of_result = equation.result.size()};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Strides of_operand = request.inputs[i].strides();
    Strides& strides = loops.strides.emplace_back(Strides(order.size(), 0));
    for (std::size_t axis = 0; axis < of_operand.size(); ++axis) {
      // An axis of extent 1 is repeated along the others of its label.
      if (shapes[i][axis] > 1) {
        strides[position(equation.operands[i][axis])] += of_operand[axis];
      }
    }
  }
  return loops;
}

/// The next place of loops first..last, the last one fastest; false after all of them.
bool advance(const Loops& loops, std::size_t first, std::size_t last,
             std::vector<std::int64_t>& place, std::vector<std::int64_t>& offsets) {
  for (std::size_t label = last; label-- > first;) {
    const bool is_end = ++place[label] == loops.extents[label];
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] += is_end ? -loops.strides[i][label] * (loops.extents[label] - 1)
                           : loops.strides[i][label];
    }
    if (!is_end) {
      return true;
    }
    place[label] = 0;
  }
  return false;
}

template <class T>
void run(const Loops& loops, const Buffers& buffers) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  const std::size_t labels = loops.extents.size();
  std::vector<std::int64_t> place(labels, 0);
  std::vector<std::int64_t> offsets(loops.strides.size(), 0);
  T* y = output<T>(buffers, 0);
  do {
    Sum sum = 0;
    do {
      Sum product = 1;
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        product *= static_cast<Sum>(input<T>(buffers, i)[offsets[i]]);
      }
      sum += product;
    } while (advance(loops, loops.of_result, labels, place, offsets));
    *y++ = static_cast<T>(sum);
  } while (advance(loops, 0, loops.of_result, place, offsets));
}

std::unique_ptr<Kernel> make_einsum(const KernelRequest& request) {
  if (!uniform(request)) {
    return nullptr;
  }
  const Loops loops = loops_of(request);
  const bool sums_nothing = std::any_of(loops.extents.begin(), loops.extents.end(),
                                        [](std::int64_t extent) { return extent == 0; });
  const std::size_t results = count_of(request.outputs[0]);
  return dispatch(WideNumbers{}, request.outputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& buffers) {
      if (sums_nothing) {
        std::fill_n(output<T>(buffers, 0), results, T(0));
      } else {
        run<T>(loops, buffers);
      }
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(einsum) {
  using namespace tare;
  return {.ops = {"Einsum"},
          .make = [](const KernelRequest& request) { return make_wide(request, make_einsum); }};
}
