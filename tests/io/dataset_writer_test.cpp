#include "tare/dataset.h"

#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/hdf5_builder.h"
#include "support/message.h"

#include <array>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Writer = InFolder;

Tensor ramp(Shape shape, float first) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), first);
  return Tensor::of<float>(std::move(shape), values);
}

TEST_F(Writer, ConcatenatesResultsAlongTheFirstDimension) {
  DatasetWriter writer(path("o.h5"));
  for (int run = 0; run < 5; ++run) {
    writer.append("logits", ramp({2, 3}, static_cast<float>(run * 6)));
    writer.append("a/b", Tensor::of<std::int64_t>({1}, {run}));
    writer.append("scalar", Tensor::scalar<float>(static_cast<float>(run)));
  }
  writer.finish();
  const StoredNumbers logits = stored_numbers(path("o.h5"), "logits");
  EXPECT_EQ(logits.extents, (Extents{10, 3}));
  EXPECT_EQ(logits.values, ramp({30}, 0).to_double());
  for (const char* name : {"a/b", "scalar"}) {
    const StoredNumbers numbers = stored_numbers(path("o.h5"), name);
    EXPECT_EQ(numbers.extents, Extents{5});
    EXPECT_EQ(numbers.values, ramp({5}, 0).to_double());
  }
}

TEST_F(Writer, RoundTripsEveryType) {
  const std::vector<Tensor> tensors{Tensor::of<float>({2, 1}, {-0.5F, 3.0F}),
                                    Tensor::of<std::int8_t>({2}, {-128, 127}),
                                    Tensor::of<std::uint8_t>({2}, {0, 255}),
                                    Tensor::of<std::int16_t>({2}, {-9, 9}),
                                    Tensor::of<std::uint16_t>({2}, {0, 65535}),
                                    Tensor::of<std::int32_t>({2}, {-9, 9}),
                                    Tensor::of<std::uint32_t>({2}, {0, 9}),
                                    Tensor::of<std::int64_t>({2}, {-9, 1LL << 60}),
                                    Tensor::of<std::uint64_t>({2}, {0, 9}),
                                    Tensor::of<bool>({2}, std::array{true, false})};
  DatasetWriter writer(path("o.h5"));
  for (const Tensor& tensor : tensors) {
    writer.append("out_" + std::string(name_of(tensor.dtype())), tensor);
  }
  writer.finish();
  const auto data = open_dataset(path("o.h5"));
  for (const Tensor& tensor : tensors) {
    EXPECT_EQ(data->read("out_" + std::string(name_of(tensor.dtype())), 0, 2), tensor)
        << name_of(tensor.dtype());
  }
}

TEST_F(Writer, GivesEachSampleAGroupWhereRowsDifferInShape) {
  const std::vector<Shape> shapes{{1, 2, 3}, {1, 2, 3}, {1, 4, 3}, {1, 1, 3}};
  DatasetWriter writer(path("o.h5"));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    writer.append("a/b", Tensor::scalar<float>(static_cast<float>(i)));
    writer.append("x", ramp(shapes[i], static_cast<float>(i)));
    writer.append("000001", Tensor::of<std::uint8_t>({1}, {10}));  // may be a name, too
  }
  writer.append("labels", Tensor::of<std::int64_t>({4}, {5, 6, 7, 8}));
  const std::array<float, 1> ten{10};
  writer.normalize("000001", ten, ten);
  writer.finish();

  const auto data = open_dataset(path("o.h5"));
  ASSERT_EQ(data->size(), shapes.size());
  EXPECT_EQ(data->inputs().size(), 3U);
  EXPECT_TRUE(data->has_several_shapes());
  EXPECT_EQ(data->labels(), (std::vector<std::int64_t>{5, 6, 7, 8}));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(data->read("x", i, 1), ramp(shapes[i], static_cast<float>(i)));
    EXPECT_EQ(data->read("a/b", i, 1), Tensor::of<float>({1}, {static_cast<float>(i)}));
    EXPECT_EQ(data->read("000001", i, 1), Tensor::of<float>({1}, {0.0F}));
  }
  // Without the code under test.
  EXPECT_EQ(stored_numbers(path("o.h5"), "000002/x").extents, (Extents{4, 3}));
  EXPECT_EQ(stored_numbers(path("o.h5"), "000002/labels").values, std::vector<double>{7});
}

TEST_F(Writer, MovesToGroupsWhateverWasWrittenBefore) {
  constexpr int kRows = 700;  // some chunks
  DatasetWriter writer(path("o.h5"));
  for (int row = 0; row < kRows; ++row) {
    writer.append("x", ramp({1, 300}, static_cast<float>(row)));
  }
  writer.append("x", ramp({1, 301}, 0));
  writer.finish();
  const auto data = open_dataset(path("o.h5"));
  ASSERT_EQ(data->size(), kRows + 1U);
  for (std::size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(data->read("x", row, 1), ramp({1, 300}, static_cast<float>(row)));
  }
  EXPECT_EQ(data->read("x", kRows, 1), ramp({1, 301}, 0));
}

TEST_F(Writer, LeavesNoFileWithoutFinish) {
  {
    DatasetWriter writer(path("o.h5"));
    writer.append("x", ramp({1, 1000}, 0));
    EXPECT_FALSE(std::filesystem::exists(path("o.h5")));
  }
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(Writer, KeepsAnOlderFileUntilFinish) {
  write_bytes(path("o.h5"), "older");
  { DatasetWriter writer(path("o.h5")); }
  EXPECT_EQ(bytes_of(path("o.h5")), "older");
  DatasetWriter writer(path("o.h5"));
  writer.append("x", ramp({1, 1}, 0));
  writer.finish();
  EXPECT_EQ(open_dataset(path("o.h5"))->size(), 1U);
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(Writer, WritesTheSameBytesAtAnotherTime) {
  const auto write = [&](const char* name) {
    DatasetWriter writer(path(name));
    for (int run = 0; run < 300; ++run) {
      writer.append("x", ramp({1, 700}, static_cast<float>(run)));
    }
    writer.append("x", ramp({1, 699}, 0));
    writer.finish();
    return bytes_of(path(name));
  };
  const std::string bytes = write("a.h5");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // time stamps count seconds
  EXPECT_EQ(write("b.h5"), bytes);
}

TEST_F(Writer, SaysThatTheFolderIsMissing) {
  EXPECT_EQ(message_of([&] { DatasetWriter writer(path("no/o.h5")); }, ErrorCode::kIo),
            "no/o.h5: no such folder 'no'");
}

}  // namespace
}  // namespace tare::test
