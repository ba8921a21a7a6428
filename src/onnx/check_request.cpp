#include "onnx/check_request.h"

#include "tare/error.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

/// As in is_addressable(): far more than any tensor has, and far from overflowing what the
/// inference functions compute from it.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;

void check_within(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(name) + "' is " + std::to_string(value))
        .expected("a value from " + std::to_string(low) + " to " + std::to_string(high));
  }
}

Error odd(const char* name, const std::vector<std::int64_t>& values) {
  return {ErrorCode::kInvalidModel, "",
          "attribute '" + std::string(name) + "' is " + to_string(values)};
}

/// Only transposed convolutions, and Pad of old, may be padded by less than nothing.
bool pads_outward(const std::string& op) {
  constexpr std::array kWindows{"Conv",    "ConvInteger", "QLinearConv",
                                "MaxPool", "AveragePool", "LpPool"};
  return std::find(kWindows.begin(), kWindows.end(), op) != kWindows.end();
}

void check_windows(const InferenceRequest& request) {
  const Attributes& attributes = request.attributes;
  for (const auto* name : {"strides", "dilations", "kernel_shape"}) {
    const auto values = attributes.integers(name, {});
    if (std::any_of(values.begin(), values.end(), [](auto v) { return v <= 0; })) {
      throw odd(name, values).expected("values above 0");
    }
  }
  const auto pads = attributes.integers("pads", {});
  const std::int64_t least = pads_outward(request.op) ? 0 : -kMostExtent;
  if (std::any_of(pads.begin(), pads.end(),
                  [&](auto v) { return v < least || v > kMostExtent; })) {
    throw odd("pads", pads)
        .expected("values from " + std::to_string(least) + " to " +
                  std::to_string(kMostExtent));
  }
}

/// Elements from the first that a window reads along each axis to the last.
void check_reach(const Attributes& attributes, const Shape& kernel) {
  const auto dilations = attributes.integers("dilations", {});
  for (std::size_t axis = 0; axis < std::min(kernel.size(), dilations.size()); ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(kernel[axis] - 1, 0), dilations[axis],
                               &reach) ||
        reach > kMostExtent) {
      throw odd("dilations", dilations)
          .expected("windows of at most " + std::to_string(kMostExtent) + " elements");
    }
  }
}

void check_attributes(const InferenceRequest& request) {
  const Attributes& attributes = request.attributes;
  check_windows(request);
  check_reach(attributes, attributes.integers("kernel_shape", {}));
  for (const auto* name : {"group", "blocksize"}) {
    if (attributes.integer(name, 1) <= 0) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "attribute '" + std::string(name) + "' is " +
                      std::to_string(attributes.integer(name)))
          .expected("a value above 0");
    }
  }
}

/// The shape of operand `i`, or null where it is absent.
const Shape* shape_of(const InferenceRequest& request, std::size_t i) {
  const bool is_there = i < request.operands.size() && request.operands[i].type != nullptr;
  return is_there ? &request.operands[i].type->shape : nullptr;
}

std::int64_t rank_of(const InferenceRequest& request, std::size_t i) {
  const Shape* shape = shape_of(request, i);
  return shape != nullptr ? static_cast<std::int64_t>(shape->size()) : 0;
}

void check_indices(const InferenceRequest& request) {
  if (request.op == "LayerNormalization" && !request.operands.empty()) {
    const std::int64_t rank = rank_of(request, 0);
    check_within("axis", request.attributes.integer("axis", -1), -rank, rank - 1);
  }
  if (request.op == "GatherND" && request.operands.size() == 2) {
    check_within("batch_dims", request.attributes.integer("batch_dims", 0), 0,
                 std::min(rank_of(request, 0), rank_of(request, 1)) - 1);
  }
}

/// Groups share out channels of the weight, along its first axis, evenly.
void check_groups(const InferenceRequest& request, const Shape& data, const Shape& weight) {
  const std::int64_t group = request.attributes.integer("group", 1);
  if (weight[0] % group != 0) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute 'group' is " + std::to_string(group) + " for a weight of shape " +
                    to_string(weight))
        .expected("a divisor of " + std::to_string(weight[0]));
  }
  const bool is_transposed = request.op == "ConvTranspose";
  std::int64_t channels = weight[0];
  if (!is_transposed && __builtin_mul_overflow(weight[1], group, &channels)) {
    channels = -1;
  }
  if (data[1] != channels) {
    throw Error(ErrorCode::kInvalidModel, "",
                "the data has " + std::to_string(data[1]) + " channels, and 'group' is " +
                    std::to_string(group) + " for a weight of shape " + to_string(weight))
        .expected(std::to_string(channels) + " channels");
  }
}

/// One number for each channel of the result, which inference does not look at.
void check_bias(const InferenceRequest& request, const Shape& weight) {
  const Shape* bias = request.op == "ConvInteger" ? nullptr : shape_of(request, 2);
  const std::int64_t channels = request.op == "ConvTranspose"
                                    ? weight[1] * request.attributes.integer("group", 1)
                                    : weight[0];
  if (bias != nullptr && (bias->size() != 1 || (*bias)[0] != channels)) {
    throw Error(ErrorCode::kInvalidModel, "", "the bias has shape " + to_string(*bias))
        .expected(to_string(Shape{channels}));
  }
}

void check_convolution(const InferenceRequest& request) {
  constexpr std::array kConvolutions{"Conv", "ConvInteger", "ConvTranspose"};
  const Shape* data = shape_of(request, 0);
  const Shape* weight = shape_of(request, 1);
  if (std::find(kConvolutions.begin(), kConvolutions.end(), request.op) ==
          kConvolutions.end() ||
      request.operands.size() < 2) {
    return;
  }
  if (rank_of(request, 0) < 3 || rank_of(request, 0) != rank_of(request, 1)) {
    throw Error(ErrorCode::kInvalidModel, "",
                "data of rank " + std::to_string(rank_of(request, 0)) + " and weight of rank " +
                    std::to_string(rank_of(request, 1)))
        .expected("the same rank of 3 or more");
  }
  check_groups(request, *data, *weight);
  check_bias(request, *weight);
  check_reach(request.attributes, {weight->begin() + 2, weight->end()});
}

void require_multiple(const Shape& shape, std::size_t axis, std::int64_t block,
                      std::int64_t factor) {
  if (factor > kMostExtent || shape[axis] % factor != 0) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute 'blocksize' is " + std::to_string(block) + " for data of shape " +
                    to_string(shape))
        .expected("blocks that fill axis " + std::to_string(axis));
  }
}

void check_block_size(const InferenceRequest& request) {
  const Shape* data = shape_of(request, 0);
  const bool to_space = request.op == "DepthToSpace";
  if ((!to_space && request.op != "SpaceToDepth") || data == nullptr) {
    return;
  }
  if (data->size() != 4) {
    throw Error(ErrorCode::kInvalidModel, "", "data of rank " + std::to_string(data->size()))
        .expected("rank 4");
  }
  const std::int64_t block = request.attributes.integer("blocksize", 1);
  if (to_space) {
    std::int64_t area = 0;
    require_multiple(*data, 1, block,
                     __builtin_mul_overflow(block, block, &area) ? kMostExtent + 1 : area);
  } else {
    require_multiple(*data, 2, block, block);
    require_multiple(*data, 3, block, block);
  }
}

}  // namespace

void check_request(const InferenceRequest& request) {
  check_attributes(request);
  check_indices(request);
  check_convolution(request);
  check_block_size(request);
}

void check_blocks(const InferenceRequest& request) {
  const std::int64_t block = request.attributes.integer("block_size", 0);
  if (block <= 0) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute 'block_size' is " + std::to_string(block))
        .expected("a value above 0");
  }
  if (request.operands.size() < 2 || request.operands[0].type == nullptr ||
      request.operands[1].type == nullptr) {
    throw Error(ErrorCode::kInvalidModel, "", "an operand is missing");
  }
  Shape wanted = request.operands[0].type->shape;
  const auto rank = static_cast<std::int64_t>(wanted.size());
  const std::int64_t axis = request.attributes.integer("axis", 1);
  check_within("axis", axis, -rank, rank - 1);
  std::int64_t& extent = wanted[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  extent = extent / block + (extent % block == 0 ? 0 : 1);
  for (std::size_t i = 1; i < request.operands.size(); ++i) {
    const TensorType* type = request.operands[i].type;
    if (type != nullptr && type->shape != wanted) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "operand " + std::to_string(i) + " has shape " + to_string(type->shape))
          .expected(to_string(wanted));
    }
  }
}

}  // namespace tare
