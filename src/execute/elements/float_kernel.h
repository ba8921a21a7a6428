#pragma once

#include "execute/kernel.h"

#include <deque>

namespace tare {

/// The float form of a request on storage values: the same node with every storage operand and
/// result typed f32, in sums of any size. Owns what the request points to.
class FloatRequest {
 public:
  explicit FloatRequest(const KernelRequest& storage);
  FloatRequest(const FloatRequest&) = delete;
  FloatRequest& operator=(const FloatRequest&) = delete;

  /// Operand i becomes this float constant.
  void set_constant(std::size_t i, const Tensor&);
  /// Operands from `count` on are left out.
  void truncate(std::size_t count);
  const KernelRequest& request() const { return request_; }

  /// The kernel that the registry has for it; null when there is none.
  std::unique_ptr<Kernel> make() const;
  /// What that kernel says about layouts.
  LayoutRule layout() const;

 private:
  KernelRequest request_;
  Node node_;
  std::deque<TensorType> types_;
  std::deque<Tensor> constants_;
};

}  // namespace tare
