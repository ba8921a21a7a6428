#include "tare/error.h"

#include "graph/arithmetic/half.h"
#include "onnx/model_builder.h"
#include "onnx/tensor_proto.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tare::test {
namespace {

using onnx::TensorProto;

TensorProto proto_of(TensorProto::DataType type, std::initializer_list<std::int64_t> dims) {
  TensorProto proto;
  proto.set_data_type(type);
  for (const std::int64_t extent : dims) {
    proto.add_dims(extent);
  }
  return proto;
}

TEST(StoredTensors, EveryTypeIsReadFromItsField) {
  const auto from_int32 = [](TensorProto::DataType type, std::int32_t value) {
    auto proto = proto_of(type, {1});
    proto.add_int32_data(value);
    return to_tensor(proto, {});
  };
  EXPECT_EQ(from_int32(TensorProto::INT8, -3), (Tensor::of<std::int8_t>({1}, {-3})));
  EXPECT_EQ(from_int32(TensorProto::UINT8, 200), (Tensor::of<std::uint8_t>({1}, {200})));
  EXPECT_EQ(from_int32(TensorProto::INT16, -300), (Tensor::of<std::int16_t>({1}, {-300})));
  EXPECT_EQ(from_int32(TensorProto::UINT16, 60000), (Tensor::of<std::uint16_t>({1}, {60000})));
  EXPECT_EQ(from_int32(TensorProto::INT32, -7), (Tensor::of<std::int32_t>({1}, {-7})));
  EXPECT_EQ(from_int32(TensorProto::BOOL, 2).to_int64(), std::vector<std::int64_t>{1});
  EXPECT_EQ(from_int32(TensorProto::FLOAT16, float_to_half(1.5F)).to_float(),
            std::vector<float>{1.5F});
  auto wide = proto_of(TensorProto::UINT32, {2});
  wide.add_uint64_data(4000000000);
  wide.add_uint64_data(1);
  EXPECT_EQ(to_tensor(wide, {}), (Tensor::of<std::uint32_t>({2}, {4000000000U, 1})));
  auto real = proto_of(TensorProto::DOUBLE, {});
  real.add_double_data(0.1);
  EXPECT_EQ(to_tensor(real, {}), Tensor::scalar(0.1));
}

TEST(StoredTensors, IntegersOfFourBitsAreReadFromHalvesOfBytes) {
  constexpr auto kUint4 = static_cast<TensorProto::DataType>(21);
  constexpr auto kInt4 = static_cast<TensorProto::DataType>(22);
  auto raw = proto_of(kInt4, {5});
  raw.set_raw_data(std::string("\x78\x1F\xF3", 3));  // the last half is none of them
  EXPECT_EQ(to_tensor(raw, {}), (Tensor::of<std::int8_t>({5}, {-8, 7, -1, 1, 3})));
  auto field = proto_of(kUint4, {1, 3});
  field.add_int32_data(0xF0);
  field.add_int32_data(0x0A);
  EXPECT_EQ(to_tensor(field, {}), (Tensor::of<std::uint8_t>({1, 3}, {0, 15, 10})));
  TensorProto written;
  const Tensor integers = Tensor::of<std::int8_t>({5}, {-8, 7, -1, 1, 3});
  fill_packed_header(integers, written);
  const Tensor bytes = packed(integers);
  EXPECT_EQ(bytes, (Tensor::of<std::uint8_t>({3}, {0x78, 0x1F, 0x03})));
  written.set_raw_data(bytes.data(), bytes.byte_size());
  EXPECT_EQ(written.data_type(), kInt4);
  EXPECT_EQ(to_tensor(written, {}), integers);
}

TEST(StoredTensors, RawBytesOfBoolsAreCleaned) {
  auto proto = proto_of(TensorProto::BOOL, {2});
  proto.set_raw_data(std::string("\x02\x00", 2));
  const Tensor tensor = to_tensor(proto, {});
  EXPECT_EQ(static_cast<int>(tensor.data()[0]), 1);
  EXPECT_EQ(static_cast<int>(tensor.data()[1]), 0);
}

std::string fault_of(const TensorProto& proto) {
  try {
    (void)to_tensor(proto, {});
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(StoredTensors, SizesAreCheckedBeforeAnythingIsAllocated) {
  auto huge = proto_of(TensorProto::FLOAT, {1000000, 1000000});
  huge.set_raw_data("1234");
  EXPECT_EQ(fault_of(huge),
            "a tensor of shape [1000000,1000000] stores 4 bytes, expected 4000000000000");
  auto beyond = proto_of(TensorProto::FLOAT, {std::int64_t{1} << 62, 4, 0});
  EXPECT_EQ(fault_of(beyond), "a tensor has shape [4611686018427387904,4,0]");
  EXPECT_EQ(fault_of(proto_of(TensorProto::FLOAT, {-1})), "a tensor has shape [-1]");
  EXPECT_EQ(fault_of(proto_of(TensorProto::INT64, {3})),
            "a tensor of shape [3] stores 0 elements, expected 3");
}

TEST(StoredTensors, TypesWithoutACounterpartAreNamed) {
  EXPECT_EQ(fault_of(proto_of(TensorProto::STRING, {1})),
            "element type STRING is not supported");
  EXPECT_EQ(fault_of(proto_of(static_cast<TensorProto::DataType>(17), {1})),
            "element type 17 is not supported");
}

Graph constant_node(const Attributes& attributes) {
  ModelBuilder model(13);
  model.input("x", {1}).node("Constant", {}, {"c"}, attributes).node("Relu", {"x"}, {"y"});
  return model.output("y").output("c").read();
}

TEST(ConstantNodes, BecomeConstantsWhateverTheyHold) {
  const auto held = [](const Attributes& attributes) {
    const Graph graph = constant_node(attributes);
    EXPECT_EQ(graph.nodes().size(), 1U);
    return *graph.constant(*graph.find_value("c"));
  };
  const Tensor tensor = Tensor::of<std::int8_t>({2}, {1, 2});
  EXPECT_EQ(held({{"value", tensor}}), tensor);
  EXPECT_EQ(held({{"value_int", std::int64_t{3}}}), Tensor::scalar<std::int64_t>(3));
  EXPECT_EQ(held({{"value_float", 0.5F}}), Tensor::scalar(0.5F));
  EXPECT_EQ(held({{"value_ints", std::vector<std::int64_t>{4, 5}}}),
            (Tensor::of<std::int64_t>({2}, {4, 5})));
  EXPECT_EQ(held({{"value_floats", std::vector<float>{1}}}), (Tensor::of<float>({1}, {1})));
  EXPECT_THROW(constant_node({{"value_string", std::string("a")}}), Error);
}

/// A model whose weight [4] lies in a file.
class ExternalData : public testing::Test {
 protected:
  ExternalData() {
    model_.input("x", {4});
    TensorProto& weight = *model_.graph().add_initializer();
    weight = proto_of(TensorProto::FLOAT, {4});
    weight.set_name("w");
    weight.set_data_location(TensorProto::EXTERNAL);
    model_.node("Add", {"x", "w"}, {"y"}).output("y");
    const std::vector<float> values{9, 1, 2, 3, 4};
    std::ofstream(folder_ / "w.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), 20);
  }

  Tensor read(std::initializer_list<std::pair<std::string, std::string>> entries) {
    auto& weight = *model_.graph().mutable_initializer(0);
    weight.clear_external_data();
    for (const auto& [key, value] : entries) {
      auto& entry = *weight.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    save(model_.proto(), folder_ / "model.onnx");
    const Graph graph = read_onnx(folder_ / "model.onnx");
    return *graph.constant(*graph.find_value("w"));
  }

  std::string fault(std::initializer_list<std::pair<std::string, std::string>> entries) {
    try {
      (void)read(entries);
      return "none";
    } catch (const Error& error) {
      return error.faults().front().what + ", expected " + error.faults().front().expected;
    }
  }

  TemporaryFolder folder_;
  ModelBuilder model_{13};
};

TEST_F(ExternalData, IsReadFromItsOffset) {
  EXPECT_EQ(read({{"location", "w.bin"}, {"offset", "4"}, {"length", "16"}}),
            (Tensor::of<float>({4}, {1, 2, 3, 4})));
  EXPECT_EQ(read({{"location", "w.bin"}}), (Tensor::of<float>({4}, {9, 1, 2, 3})));
}

TEST_F(ExternalData, StaysInsideTheFolderOfTheModel) {
  const std::string inside = ", expected a path inside the folder of the model";
  EXPECT_EQ(fault({{"location", "/etc/passwd"}}), "external data is at '/etc/passwd'" + inside);
  EXPECT_EQ(fault({{"location", "sub/../../w.bin"}}),
            "external data is at 'sub/../../w.bin'" + inside);
  EXPECT_EQ(fault({}), "external data is at ''" + inside);
}

TEST_F(ExternalData, OfConstantsThatNobodyReadsMayBeMissingOrElsewhere) {
  for (const char* location : {"v.bin", "../w.bin"}) {
    onnx::TensorProto& unread = *model_.graph().add_initializer();
    unread = model_.graph().initializer(0);
    unread.set_name(std::string("unread") + location[0]);
    unread.clear_external_data();
    auto& entry = *unread.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
  }
  (void)read({{"location", "w.bin"}});
  const auto model = folder_ / "model.onnx";
  EXPECT_EQ(external_files(model), (std::set{folder_ / "v.bin", folder_ / "w.bin"}));
  EXPECT_EQ(stored_bytes(model), std::filesystem::file_size(model) + 20);
}

TEST_F(ExternalData, ThatEndsEarlyIsMissingOrMiscountedIsAFault) {
  EXPECT_EQ(fault({{"location", "w.bin"}, {"offset", "8"}}),
            "external data 'w.bin' has 20 bytes, expected 16 from 8 on");
  EXPECT_EQ(fault({{"location", "w.bin"}, {"length", "12"}}),
            "a tensor of shape [4] stores 12 bytes, expected 16");
  EXPECT_EQ(fault({{"location", "w.bin"}, {"offset", "-4"}}),
            "external data has offset '-4', expected a number of bytes");
  EXPECT_EQ(fault({{"location", "v.bin"}}), "no such file, expected ");
}

TEST_F(ExternalData, StaysInTheFolderWhateverLinksSay) {
  const std::filesystem::path elsewhere = folder_.path().string() + "_elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::copy_file(folder_ / "w.bin", elsewhere / "w.bin");
  const auto link = [&](const std::filesystem::path& to, const char* name) {
    std::filesystem::create_symlink(to, folder_ / name);
    return std::string(name);
  };
  const std::string leads_out =
      "' is a link out of the folder of the model, expected a file in that folder";
  for (const std::string& location :
       {link(elsewhere / "w.bin", "out.bin"), link(elsewhere, "out") + "/w.bin"}) {
    EXPECT_EQ(fault({{"location", location}}), "external data '" + location + leads_out);
  }
  // Links that stay, and a folder that is reached by one, are as good as any.
  std::filesystem::create_directory(folder_ / "sub");
  std::filesystem::create_symlink("../w.bin", folder_ / "sub/in.bin");
  EXPECT_EQ(read({{"location", "sub/in.bin"}}), (Tensor::of<float>({4}, {9, 1, 2, 3})));
  std::filesystem::create_symlink(folder_.path(), elsewhere / "model");
  const Graph graph = read_onnx(elsewhere / "model" / "model.onnx");
  EXPECT_EQ(*graph.constant(*graph.find_value("w")), (Tensor::of<float>({4}, {9, 1, 2, 3})));
  std::filesystem::remove_all(elsewhere);
}

TEST_F(ExternalData, IsARegularFileAndNobodyWaitsForAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(fault({{"location", "pipe"}}), "is a device or a pipe, expected a file");
  std::filesystem::create_directory(folder_ / "sub");
  EXPECT_EQ(fault({{"location", "sub"}}), "is a folder, expected a file");
}

}  // namespace
}  // namespace tare::test
