#pragma once

#include "execute/products/convolution.h"
#include "execute/products/onednn.h"
#include "execute/products/onednn_faults.h"

#include <vector>

#include <dnnl.hpp>

namespace tare::onednn {

/// A number for each channel of the result, which all positions share.
dnnl::memory::desc one_per_channel(const Convolution&);

/// Adds those of a float result: all but kRequantize.
void append_post_ops(const Convolution&, const std::vector<PostOp>&, dnnl::post_ops&);

/// What they read, the first of them being the n-th post-op of all. `result` is what a tensor
/// that is added is like.
std::vector<Argument> post_op_arguments(const Convolution&, const std::vector<PostOp>&,
                                        const dnnl::memory::desc& result, int n);

/// What decides whether an implementation can be trusted with them.
SumEnding sum_ending(const Convolution&, const std::vector<PostOp>&);

}  // namespace tare::onednn
