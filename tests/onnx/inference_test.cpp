#include "tare/error.h"

#include "onnx/model_builder.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <onnx/shape_inference/implementation.h>

namespace tare::test {
namespace {

const std::filesystem::path kNodeTests = "/usr/share/libonnx-testdata/data/node";

std::vector<std::filesystem::path> node_tests() {
  std::vector<std::filesystem::path> result;
  if (std::filesystem::exists(kNodeTests)) {
    for (const auto& entry : std::filesystem::directory_iterator(kNodeTests)) {
      result.push_back(entry.path());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

onnx::TensorProto load_tensor(const std::filesystem::path& path) {
  onnx::TensorProto proto;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(proto.ParseFromIstream(&file)) << path;
  return proto;
}

bool all_tensors(const onnx::ModelProto& model) {
  const auto tensor = [](const auto& info) { return info.type().has_tensor_type(); };
  return std::all_of(model.graph().input().begin(), model.graph().input().end(), tensor) &&
         std::all_of(model.graph().output().begin(), model.graph().output().end(), tensor);
}

/// Every input but the first, and that too when it is a scalar or integer, becomes the constant
/// of the stored sample, so that shapes given as operands are known. Outputs lose their
/// declared shape.
void fix_operands(onnx::ModelProto& model, const std::filesystem::path& test) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (auto& output : *graph.mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  if (graph.input_size() == 0) {
    return;
  }
  const auto& first = graph.input(0).type().tensor_type();
  const bool shape_like =
      first.elem_type() == onnx::TensorProto::INT64 || first.shape().dim_size() == 0;
  for (int i = graph.input_size() - 1; i >= (shape_like ? 0 : 1); --i) {
    const auto sample = test / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    auto& constant = *graph.add_initializer();
    constant = load_tensor(sample);
    constant.set_name(graph.input(i).name());
    graph.mutable_input()->RemoveLast();
  }
}

using Types = std::map<std::string, std::pair<std::int32_t, Shape>>;

/// The outputs that the library gives a static shape.
Types inferred_by_library(onnx::ModelProto model) {
  Types result;
  try {
    onnx::shape_inference::InferShapes(model);
  } catch (const std::exception&) {
    return result;
  }
  for (const auto& output : model.graph().output()) {
    const auto& type = output.type().tensor_type();
    const bool known =
        type.has_shape() && std::all_of(type.shape().dim().begin(), type.shape().dim().end(),
                                        [](auto& d) { return d.has_dim_value(); });
    if (known) {
      Shape shape;
      for (const auto& dim : type.shape().dim()) {
        shape.push_back(dim.dim_value());
      }
      result[output.name()] = {type.elem_type(), shape};
    }
  }
  return result;
}

bool has_stft(const onnx::ModelProto& model) {
  const auto& nodes = model.graph().node();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& node) { return node.op_type() == "STFT"; });
}

struct Tally {
  int models = 0;
  int against_library = 0;
  int against_samples = 0;
  std::map<std::string, int> refused;  ///< reason -> models
};

void compare(const Graph& graph, const onnx::ModelProto& model, const Types& library,
             const std::filesystem::path& test, Tally& tally) {
  for (int i = 0; i < model.graph().output_size(); ++i) {
    const std::string& name = model.graph().output(i).name();
    const TensorType& own = graph.type(*graph.find_value(name));
    if (const auto theirs = library.find(name); theirs != library.end()) {
      EXPECT_EQ(own.shape, theirs->second.second) << test;
      EXPECT_EQ(onnx_data_type(own.dtype), theirs->second.first) << test;
      ++tally.against_library;
    }
    const auto stored =
        load_tensor(test / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb"));
    EXPECT_EQ(own.shape, Shape(stored.dims().begin(), stored.dims().end())) << test;
    // NumPy, which wrote the samples, has no bfloat16: they are its bits.
    const bool are_bits = own.dtype == DType::kBfloat16;
    EXPECT_EQ(are_bits ? onnx::TensorProto::UINT16 : onnx_data_type(own.dtype),
              stored.data_type())
        << test;
    ++tally.against_samples;
  }
}

TEST(InferredTypes, EqualThoseOfTheLibraryAndOfStoredSamples) {
  Tally tally;
  for (const auto& test : node_tests()) {
    onnx::ModelProto model = load(test / "model.onnx");
    const bool ours = model.opset_import_size() == 1 &&
                      model.opset_import(0).domain().empty() &&
                      model.opset_import(0).version() >= 6 && all_tensors(model);
    if (!ours) {
      continue;
    }
    ++tally.models;
    fix_operands(model, test);
    // The library counts the bins of STFT wrong, so stored samples alone are asked.
    const Types library = has_stft(model) ? Types() : inferred_by_library(model);
    try {
      compare(read(model.SerializeAsString()), model, library, test, tally);
    } catch (const Error& error) {
      const std::string what = error.faults().front().what;
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << test << ": " << error.what();
      ++tally.refused[what.substr(0, what.find(" (node"))];
      const bool shape_unknown = what.find("depends on data") != std::string::npos;
      EXPECT_FALSE(shape_unknown && !library.empty()) << test << ": " << error.what();
    }
  }
  if (tally.models == 0) {
    GTEST_SKIP() << "libonnx-testdata is not installed";
  }
  std::cout << tally.models << " models: " << tally.against_library
            << " outputs equal to the library's, " << tally.against_samples
            << " equal to stored samples\n";
  for (const auto& [reason, count] : tally.refused) {
    std::cout << "  " << count << " refused: " << reason << '\n';
  }
  EXPECT_GT(tally.against_library, 0);
}

/// Values that operators may divide by, index with or allocate from.
constexpr std::array<std::int64_t, 10> kOddValues{0,
                                                  -1,
                                                  -1000,
                                                  7,
                                                  std::int64_t{1} << 31U,
                                                  std::int64_t{1} << 32U,
                                                  std::int64_t{1} << 62U,
                                                  -(std::int64_t{1} << 32U),
                                                  std::numeric_limits<std::int64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min()};

/// Node tests made wrong in some way; each must be read or refused, and nothing else.
class OddModels : public testing::Test {
 protected:
  OddModels() {
    std::set<std::pair<std::string, int>> visited;
    for (const auto& test : node_tests()) {
      onnx::ModelProto model = load(test / "model.onnx");
      const onnx::NodeProto& node = model.graph().node(0);
      // One test of an operator with as many attributes as another would do the same.
      if (all_tensors(model) && visited.emplace(node.op_type(), node.attribute_size()).second) {
        fix_operands(model, test);
        models_.push_back(std::move(model));
      }
    }
  }
  void SetUp() override {
    if (models_.empty()) {
      GTEST_SKIP() << "libonnx-testdata is not installed";
    }
  }

  static void read_or_refuse(const onnx::ModelProto& model) {
    try {
      (void)read(model.SerializeAsString());
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  }

  std::vector<onnx::ModelProto> models_;
};

TEST_F(OddModels, AttributesOfEveryOperator) {
  for (onnx::ModelProto& model : models_) {
    for (auto& attribute : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      const onnx::AttributeProto original = attribute;
      for (const std::int64_t odd : kOddValues) {
        if (attribute.type() == onnx::AttributeProto::INT) {
          attribute.set_i(odd);
        } else if (attribute.ints_size() > 0) {
          attribute.set_ints(attribute.ints_size() - 1, odd);
          read_or_refuse(model);
          std::fill(attribute.mutable_ints()->begin(), attribute.mutable_ints()->end(), odd);
        } else {
          continue;
        }
        read_or_refuse(model);
      }
      attribute = original;
    }
  }
}

TEST_F(OddModels, IntegerOperandsOfEveryOperator) {
  for (onnx::ModelProto& model : models_) {
    for (auto& constant : *model.mutable_graph()->mutable_initializer()) {
      if (constant.data_type() != onnx::TensorProto::INT64 || constant.raw_data().size() < 8) {
        continue;
      }
      const std::string original = constant.raw_data();
      for (const std::int64_t odd : kOddValues) {
        constant.mutable_raw_data()->replace(0, 8, reinterpret_cast<const char*>(&odd), 8);
        read_or_refuse(model);
      }
      constant.set_raw_data(original);
    }
  }
}

TEST_F(OddModels, RanksOfEveryOperand) {
  for (onnx::ModelProto& model : models_) {
    for (auto& constant : *model.mutable_graph()->mutable_initializer()) {
      auto& input = *model.mutable_graph()->add_input();
      input.set_name(constant.name());
      input.mutable_type()->mutable_tensor_type()->set_elem_type(constant.data_type());
      Dims dims(constant.dims().begin(), constant.dims().end());
      fill_shape(dims, input);
    }
    model.mutable_graph()->clear_initializer();
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{2}, Dims{2, 3}, Dims{0, 0, 0}, Dims{1, 2, 3},
                             Dims{1, 1, 1, 1, 1, 1, 1}}) {
      onnx::ModelProto all = model;
      for (int i = 0; i < model.graph().input_size(); ++i) {
        onnx::ModelProto one = model;
        fill_shape(dims, *one.mutable_graph()->mutable_input(i));
        read_or_refuse(one);
        fill_shape(dims, *all.mutable_graph()->mutable_input(i));
      }
      read_or_refuse(all);
    }
  }
}

TEST(OddGroups, ThatDoNotShareOutTheChannelsAreRefused) {
  const auto refusal = [](const char* op, int channels, const Dims& weight,
                          std::int64_t group) {
    ModelBuilder model(13);
    model.input("x", {1, channels, 8, 8}).input("w", weight);
    model.node(op, {"x", "w"}, {"y"}, {{"group", group}}).output("y");
    return complaint(model);
  };
  EXPECT_EQ(refusal("Conv", 16, {16, 16, 3, 3}, 17),
            "node 'Conv_y' (Conv): attribute 'group' is 17 for a weight of shape [16,16,3,3], "
            "expected a divisor of 16");
  EXPECT_EQ(refusal("Conv", 8, {8, 0, 3, 3}, 8),
            "node 'Conv_y' (Conv): the data has 8 channels, and 'group' is 8 for a weight of "
            "shape [8,0,3,3], expected 0 channels");
  EXPECT_EQ(refusal("Conv", 16, {16, 8, 3, 3}, 4),
            "node 'Conv_y' (Conv): the data has 16 channels, and 'group' is 4 for a weight of "
            "shape [16,8,3,3], expected 32 channels");
  EXPECT_EQ(refusal("ConvTranspose", 6, {6, 4, 2, 2}, 4),
            "node 'ConvTranspose_y' (ConvTranspose): attribute 'group' is 4 for a weight of "
            "shape [6,4,2,2], expected a divisor of 6");
  EXPECT_EQ(refusal("Conv", 16, {16, 4, 3, 3}, 4), "");
  EXPECT_EQ(refusal("ConvTranspose", 6, {6, 4, 2, 2}, 3), "");
}

TEST(OddBlocks, ThatDoNotFillTheDataAreRefused) {
  const auto refusal = [](const char* op, std::int64_t size) {
    ModelBuilder model(13);
    model.input("x", {1, 8, 4, 6});
    model.node(op, {"x"}, {"y"}, {{"blocksize", size}}).output("y");
    return complaint(model);
  };
  // The square of the first is 2^64, of which 64 bits are 0.
  for (const std::int64_t size : {std::int64_t{1} << 32U, std::int64_t{3}, std::int64_t{4}}) {
    EXPECT_EQ(refusal("DepthToSpace", size),
              "node 'DepthToSpace_y' (DepthToSpace): attribute 'blocksize' is " +
                  std::to_string(size) +
                  " for data of shape [1,8,4,6], expected blocks that fill axis 1");
  }
  EXPECT_EQ(
      refusal("DepthToSpace", 0),
      "node 'DepthToSpace_y' (DepthToSpace): attribute 'blocksize' is 0, expected a value "
      "above 0");
  EXPECT_EQ(
      refusal("SpaceToDepth", 4),
      "node 'SpaceToDepth_y' (SpaceToDepth): attribute 'blocksize' is 4 for data of shape "
      "[1,8,4,6], expected blocks that fill axis 3");
  EXPECT_EQ(refusal("DepthToSpace", 2), "");
  EXPECT_EQ(refusal("SpaceToDepth", 2), "");
}

TEST_F(OddModels, MissingOperandsAndAttributesOfEveryOperator) {
  for (const onnx::ModelProto& model : models_) {
    onnx::ModelProto changed = model;
    onnx::NodeProto& node = *changed.mutable_graph()->mutable_node(0);
    while (node.attribute_size() > 0) {
      node.mutable_attribute()->RemoveLast();
      read_or_refuse(changed);
    }
    while (node.input_size() > 0) {
      node.set_input(0, "");
      read_or_refuse(changed);
      node.mutable_input()->RemoveLast();
      read_or_refuse(changed);
    }
  }
}

}  // namespace
}  // namespace tare::test
