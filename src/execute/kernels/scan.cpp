#include "tare/error.h"

#include "execute/operands.h"
#include "execute/run/inner_program.h"

#include <cstring>

namespace tare {
namespace {

/// An operand or result of which each iteration takes or makes one slice.
struct Sliced {
  AxisView view;
  std::size_t element = 0;  ///< bytes
  bool backward = false;

  template <class Copy>
  void for_each_block(std::size_t iteration, const Copy& copy) const {
    const std::size_t index = backward ? view.extent - 1 - iteration : iteration;
    const std::size_t bytes = view.inner * element;
    for (std::size_t outer = 0; outer < view.outer; ++outer) {
      copy((outer * view.extent + index) * bytes, outer * bytes, bytes);
    }
  }
};

/// Runs its body once for each index along an axis of some operands.
class Scan : public Kernel {
 public:
  explicit Scan(const KernelRequest& request) : body_(request, "body") {
    const std::vector<TensorType>& inputs = body_.own_inputs();
    const std::int64_t scanned = request.attributes().integer("num_scan_inputs");
    if (scanned < 1 || scanned > static_cast<std::int64_t>(inputs.size()) ||
        body_.outputs().size() != request.outputs.size()) {
      throw Error(ErrorCode::kInvalidModel, "", "its body has other inputs or results than it");
    }
    states_ = inputs.size() - static_cast<std::size_t>(scanned);
    if (body_.outputs().size() < states_) {
      throw Error(ErrorCode::kInvalidModel, "", "its body has fewer results than states");
    }
    for (std::size_t i = 0; i < states_; ++i) {
      expect_shape(required(request, i), inputs[i].shape);
      expect_shape(request.outputs[i], body_.outputs()[i].shape);
      if (body_.outputs()[i].shape != inputs[i].shape) {
        throw Error(ErrorCode::kInvalidModel, "", "a state changes its shape");
      }
    }
    for (std::size_t i = states_; i < inputs.size(); ++i) {
      scanned_.push_back(sliced(request, required(request, i), inputs[i].shape, i - states_,
                                "scan_input_axes", "scan_input_directions"));
    }
    for (std::size_t i = states_; i < request.outputs.size(); ++i) {
      collected_.push_back(sliced(request, request.outputs[i], body_.outputs()[i].shape,
                                  i - states_, "scan_output_axes", "scan_output_directions"));
    }
  }

  bool packs(std::size_t operand) const override { return body_.packs(operand); }
  std::size_t packed_bytes() const override { return body_.packed_bytes(); }
  std::unique_ptr<KernelState> make_state() const override {
    return std::make_unique<InnerProgram::State>(body_);
  }

  void run(const Buffers& buffers) const override {
    auto& body = static_cast<InnerProgram::State&>(*buffers.state);
    body.capture(buffers);
    const std::vector<TensorType>& types = body_.own_inputs();
    std::vector<Tensor> states;
    for (std::size_t i = 0; i < states_; ++i) {
      states.push_back(tensor_at(types[i], buffers.inputs[i]));
    }
    for (std::size_t iteration = 0; iteration < scanned_[0].view.extent; ++iteration) {
      std::vector<Tensor> own = states;
      for (std::size_t i = 0; i < scanned_.size(); ++i) {
        Tensor slice(types[states_ + i].dtype, types[states_ + i].shape);
        const std::byte* whole = buffers.inputs[states_ + i];
        scanned_[i].for_each_block(
            iteration, [&](std::size_t at, std::size_t in_slice, std::size_t bytes) {
              std::memcpy(slice.mutable_data() + in_slice, whole + at, bytes);
            });
        own.push_back(std::move(slice));
      }
      std::vector<Tensor> results = body.run(std::move(own));
      for (std::size_t i = 0; i < collected_.size(); ++i) {
        const std::byte* slice = results[states_ + i].data();
        std::byte* whole = buffers.outputs[states_ + i];
        collected_[i].for_each_block(
            iteration, [&](std::size_t at, std::size_t in_slice, std::size_t bytes) {
              std::memcpy(whole + at, slice + in_slice, bytes);
            });
      }
      std::move(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(states_),
                states.begin());
    }
    for (std::size_t i = 0; i < states_; ++i) {
      std::memcpy(buffers.outputs[i], states[i].data(), states[i].byte_size());
    }
  }

 private:
  Sliced sliced(const KernelRequest& request, const Operand& whole, const Shape& slice,
                std::size_t place, const char* axes_name, const char* directions_name) const {
    const auto axes = request.attributes().integers(axes_name, {});
    const auto directions = request.attributes().integers(directions_name, {});
    const auto rank = static_cast<std::int64_t>(whole.shape().size());
    const std::int64_t stated = place < axes.size() ? axes[place] : 0;
    const std::int64_t axis = stated < 0 ? stated + rank : stated;
    if (axis < 0 || axis >= rank) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "'" + std::string(axes_name) + "' has axis " + std::to_string(stated) +
                      " of a tensor of rank " + std::to_string(rank));
    }
    Shape expected = slice;
    expected.insert(expected.begin() + axis, whole.shape()[static_cast<std::size_t>(axis)]);
    expect_shape(whole, expected);
    const Sliced result{view_axis(whole, static_cast<std::size_t>(axis)),
                        size_of(whole.dtype()),
                        place < directions.size() && directions[place] != 0};
    if (!scanned_.empty() && result.view.extent != scanned_[0].view.extent) {
      throw Error(ErrorCode::kInvalidModel, "", "scans or collects other lengths");
    }
    return result;
  }

  InnerProgram body_;
  std::size_t states_ = 0;
  std::vector<Sliced> scanned_;
  std::vector<Sliced> collected_;
};

}  // namespace
}  // namespace tare

TARE_KERNEL(scan) {
  using namespace tare;
  return {.ops = {"Scan"}, .make = [](const KernelRequest& request) -> std::unique_ptr<Kernel> {
            return std::make_unique<Scan>(request);
          }};
}
