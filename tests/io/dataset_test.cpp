#include "tare/dataset.h"

#include "support/files/folder.h"
#include "support/files/hdf5_builder.h"

#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using OpenDataset = InFolder;

TEST_F(OpenDataset, ListsInputsWithoutTheSampleDimension) {
  const std::vector<float> x(2 * 3 * 4);
  const std::vector<std::int64_t> ids(2 * 5);
  const std::vector<std::int64_t> labels{7, 9};
  Hdf5Builder(path("s.h5"))
      .dataset("x", H5T_NATIVE_FLOAT, {2, 3, 4}, x.data())
      .dataset("ids", H5T_NATIVE_INT64, {2, 5}, ids.data())
      .dataset("labels", H5T_NATIVE_INT64, {2}, labels.data());
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(data->size(), 2U);
  ASSERT_EQ(data->inputs().size(), 2U);
  EXPECT_EQ(data->inputs()[0].name, "ids");
  EXPECT_EQ(data->inputs()[0].dtype, DType::kInt64);
  EXPECT_EQ(data->inputs()[0].shape, Shape{5});
  EXPECT_EQ(data->inputs()[1].name, "x");
  EXPECT_EQ(data->inputs()[1].dtype, DType::kFloat32);
  EXPECT_EQ(data->inputs()[1].shape, (Shape{3, 4}));
  EXPECT_EQ(data->labels(), labels);
}

TEST_F(OpenDataset, HasNoLabelsWhereTheFileHasNone) {
  const float x = 1;
  Hdf5Builder(path("s.h5")).dataset("x", H5T_NATIVE_FLOAT, {1, 1}, &x);
  EXPECT_EQ(open_dataset(path("s.h5"))->labels(), std::nullopt);
}

TEST_F(OpenDataset, ReadsAnyRangeOfSamples) {
  std::vector<float> x(10 * 6);
  std::iota(x.begin(), x.end(), 0.0F);
  Hdf5Builder(path("s.h5"))
      .dataset("plain", H5T_NATIVE_FLOAT, {10, 2, 3}, x.data())
      .dataset("chunked", H5T_NATIVE_FLOAT, {10, 2, 3}, x.data(), {4, 1, 2});
  const auto data = open_dataset(path("s.h5"));
  for (const char* name : {"plain", "chunked"}) {
    for (const auto& [first, count] : {std::pair{0, 10}, {3, 4}, {9, 1}, {5, 1}}) {
      const std::vector<float> part(x.begin() + first * 6, x.begin() + (first + count) * 6);
      EXPECT_EQ(
          data->read(name, static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
          Tensor::of<float>({count, 2, 3}, part));
    }
  }
}

TEST_F(OpenDataset, NormalizesEachChannelInFloat32) {
  std::vector<std::uint8_t> u(2 * 3 * 256);
  std::iota(u.begin(), u.end(), std::uint8_t{0});
  const std::vector<double> mean{127.5, 103.53, 0};
  const std::vector<float> std{58.395F, 0.1F, 3.0F};
  Hdf5Builder(path("s.h5"))
      .dataset("x", H5T_NATIVE_UINT8, {2, 3, 16, 16}, u.data(), {1, 3, 16, 16})
      .attribute("x", "mean", H5T_NATIVE_DOUBLE, {3}, mean.data())
      .attribute("x", "std", H5T_NATIVE_FLOAT, {3}, std.data());
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(data->inputs()[0].dtype, DType::kFloat32);
  const Tensor x = data->read("x", 0, 2);
  for (std::size_t i = 0; i < u.size(); ++i) {
    const std::size_t channel = i / 256 % 3;
    const float difference = static_cast<float>(u[i]) - static_cast<float>(mean[channel]);
    ASSERT_EQ(x.view<float>()[i], difference / std[channel]) << i;
  }
}

TEST_F(OpenDataset, NormalizesEveryIntegerTypeByOneValue) {
  const float mean = 2;
  const int std = 4;
  const std::vector<int> values{0, 2, 100};
  const std::vector<std::pair<const char*, hid_t>> types{
      {"i8", H5T_STD_I8LE},   {"u8", H5T_STD_U8BE},   {"i16", H5T_STD_I16BE},
      {"u16", H5T_STD_U16LE}, {"i32", H5T_STD_I32LE}, {"u32", H5T_STD_U32BE},
      {"i64", H5T_STD_I64BE}, {"u64", H5T_STD_U64LE}};
  {
    Hdf5Builder file(path("s.h5"));
    for (const auto& [name, type] : types) {
      file.dataset(name, type, {3}, nullptr)
          .attribute(name, "mean", H5T_NATIVE_FLOAT, {}, &mean)
          .attribute(name, "std", H5T_NATIVE_INT, {1}, &std);
      const hid_t dataset = H5Dopen2(file.file(), name, H5P_DEFAULT);
      H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      H5Dclose(dataset);
    }
  }
  const auto data = open_dataset(path("s.h5"));
  ASSERT_EQ(data->inputs().size(), types.size());
  for (const DatasetInput& input : data->inputs()) {
    EXPECT_EQ(data->read(input.name, 0, 3), Tensor::of<float>({3}, {-0.5F, 0.0F, 24.5F}))
        << input.name;
  }
}

TEST_F(OpenDataset, KeepsIntegersWithoutStatisticsAndMakesFloatsOfOtherFloats) {
  const std::vector<std::int64_t> i64{-1, 1LL << 40};
  const std::vector<std::uint8_t> u8{0, 255};
  const std::vector<double> f64{0.1, 1e300};
  Hdf5Builder(path("s.h5"))
      .dataset("i64", H5T_NATIVE_INT64, {2}, i64.data())
      .dataset("u8", H5T_NATIVE_UINT8, {2}, u8.data())
      .dataset("f64", H5T_NATIVE_DOUBLE, {2}, f64.data());
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(data->read("i64", 0, 2), Tensor::of<std::int64_t>({2}, i64));
  EXPECT_EQ(data->read("u8", 0, 2), Tensor::of<std::uint8_t>({2}, u8));
  EXPECT_EQ(data->read("f64", 0, 1), Tensor::of<float>({1}, {0.1F}));
  EXPECT_EQ(message_of([&] { data->read("f64", 0, 2); }, ErrorCode::kInvalidData),
            "s.h5: input 'f64': infinity at sample 1, []");
}

TEST_F(OpenDataset, ReadsTruthValuesOfAnyByte) {
  const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
  std::int8_t value = 0;
  H5Tenum_insert(type, "FALSE", &value);
  value = 1;
  H5Tenum_insert(type, "TRUE", &value);
  const std::vector<std::int8_t> stored{0, 1, 5};
  Hdf5Builder(path("s.h5")).dataset("mask", type, {3}, stored.data());
  H5Tclose(type);
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(data->inputs()[0].dtype, DType::kBool);
  const Tensor mask = data->read("mask", 0, 3);
  EXPECT_EQ(std::vector<std::int64_t>({0, 1, 1}), mask.to_int64());
}

TEST_F(OpenDataset, TakesPathsThroughGroupsForNamesWithSlashes) {
  const float x = 3;
  Hdf5Builder(path("s.h5")).dataset("encoder/input:0", H5T_NATIVE_FLOAT, {1, 1}, &x);
  const auto data = open_dataset(path("s.h5"));
  ASSERT_EQ(data->inputs().size(), 1U);
  EXPECT_EQ(data->inputs()[0].name, "encoder/input:0");
  EXPECT_EQ(data->read("encoder/input:0", 0, 1), Tensor::of<float>({1, 1}, {x}));
}

TEST_F(OpenDataset, NamesTheFirstNumberThatIsNotFinite) {
  std::vector<float> x(20 * 3 * 6 * 10);
  x[17 * 180 + 2 * 60 + 5 * 10 + 9] = std::numeric_limits<float>::quiet_NaN();
  x[18 * 180] = -std::numeric_limits<float>::infinity();
  Hdf5Builder(path("s.h5")).dataset("x", H5T_NATIVE_FLOAT, {20, 3, 6, 10}, x.data());
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(message_of([&] { data->read("x", 10, 10); }, ErrorCode::kInvalidData),
            "s.h5: input 'x': NaN at sample 17, [2,5,9]");
  EXPECT_EQ(message_of([&] { data->read("x", 18, 1); }, ErrorCode::kInvalidData),
            "s.h5: input 'x': -infinity at sample 18, [0,0,0]");
  EXPECT_NO_THROW(data->read("x", 0, 17));
}

TEST_F(OpenDataset, IsReadByManyThreadsAtOnce) {
  std::vector<std::int32_t> x(64 * 100);
  std::iota(x.begin(), x.end(), 0);
  Hdf5Builder(path("s.h5")).dataset("x", H5T_NATIVE_INT32, {64, 100}, x.data(), {5, 30});
  const auto data = open_dataset(path("s.h5"));
  std::vector<std::int64_t> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t sample = t; sample < 64; sample += sums.size()) {
        for (const std::int64_t value : data->read("x", sample, 1).to_int64()) {
          sums[t] += value;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}),
            std::accumulate(x.begin(), x.end(), std::int64_t{0}));
}

TEST_F(OpenDataset, DecompressesAChunkOnceForAllItsSamples) {
  // 64 samples of 256 KiB in one chunk of 16 MiB: decompressed for each sample, 1 GiB of
  // inflated bytes; once, as much as one read of everything.
  const std::vector<std::uint8_t> x(std::size_t{64} << 18, 1);
  Hdf5Builder(path("s.h5"))
      .dataset("x", H5T_NATIVE_UINT8, {64, 1 << 18}, x.data(), {64, 1 << 18});
  const auto cpu_time_of = [&](std::size_t step) {
    const auto data = open_dataset(path("s.h5"));
    const std::clock_t start = std::clock();
    for (std::size_t first = 0; first < 64; first += step) {
      data->read("x", first, step);
    }
    return std::clock() - start;
  };
  EXPECT_LT(cpu_time_of(1), 16 * cpu_time_of(64));
}

}  // namespace
}  // namespace tare::test
