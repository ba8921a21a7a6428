// HDF5 files with one group for each sample, as h5py writes them by `file["3/x"] = array`.
#include "tare/dataset.h"

#include "support/files/folder.h"
#include "support/files/hdf5_builder.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<float> ramp(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

ModelInput input_of(std::string name, Shape shape) {
  return {.name = std::move(name), .dtype = DType::kFloat32, .shape = std::move(shape)};
}

class SamplesInGroups : public InFolder {
 protected:
  std::unique_ptr<Dataset> opened(std::vector<ModelInput> inputs) const {
    return open_samples(path("s.h5"), {.inputs = std::move(inputs)});
  }
  std::string fault(std::vector<ModelInput> inputs) const {
    return message_of([&] { return opened(inputs); }, ErrorCode::kInvalidData);
  }
};

TEST_F(SamplesInGroups, AreInTheOrderOfTheirNumbersAndMayDifferInShape) {
  {
    Hdf5Builder file(path("s.h5"));
    for (const std::size_t length : {10U, 2U, 1U}) {
      const std::vector<float> x = ramp(length * 3, static_cast<float>(length));
      file.dataset("sample_" + std::to_string(length) + "/x", H5T_NATIVE_FLOAT, {length, 3},
                   x.data());
    }
  }
  // Without a model, too: their names say that they are samples.
  for (const auto& data :
       {open_dataset(path("s.h5")), opened({input_of("x", {1, -1, 3})}), opened({})}) {
    EXPECT_EQ(data->size(), 3U);
    EXPECT_TRUE(data->has_several_shapes());
    ASSERT_EQ(data->inputs().size(), 1U);
    EXPECT_EQ(data->inputs()[0].shape, (Shape{10, 3}));  // of the largest
    EXPECT_EQ(data->labels(), std::nullopt);
    std::size_t sample = 0;
    for (const std::int64_t length : {1, 2, 10}) {
      EXPECT_EQ(data->read("x", sample++, 1),
                Tensor::of<float>({1, length, 3}, ramp(static_cast<std::size_t>(length) * 3,
                                                       static_cast<float>(length))));
    }
  }
}

TEST_F(SamplesInGroups, OfOneShapeAreAsThoseOfOneDataset) {
  const std::vector<float> x = ramp(12);
  const std::vector<std::int64_t> labels{4, 5, 6};
  Hdf5Builder(path("s.h5"))
      .dataset("0/x", H5T_NATIVE_FLOAT, {2, 2}, x.data())
      .dataset("1/x", H5T_NATIVE_FLOAT, {2, 2}, x.data() + 4, {1, 2})
      .dataset("2/x", H5T_NATIVE_FLOAT, {2, 2}, x.data() + 8)
      .dataset("0/labels", H5T_NATIVE_INT64, {}, labels.data())
      .dataset("1/labels", H5T_NATIVE_INT64, {1}, labels.data() + 1)
      .dataset("2/labels", H5T_NATIVE_INT64, {}, labels.data() + 2);
  const auto data = open_dataset(path("s.h5"), {.trial_in_child = true});
  EXPECT_FALSE(data->has_several_shapes());
  EXPECT_EQ(data->read("x", 0, 3), Tensor::of<float>({3, 2, 2}, x));
  EXPECT_EQ(data->labels(), labels);
}

TEST_F(SamplesInGroups, MayHaveTheirLabelsBesideThem) {
  const float x = 1;
  const std::vector<std::int64_t> labels{7, 9};
  Hdf5Builder(path("s.h5"))
      .dataset("s0/x", H5T_NATIVE_FLOAT, {1}, &x)
      .dataset("s1/x", H5T_NATIVE_FLOAT, {1}, &x)
      .dataset("labels", H5T_NATIVE_INT64, {2}, labels.data());
  EXPECT_EQ(open_dataset(path("s.h5"))->labels(), labels);
  Hdf5Builder(path("s.h5"))
      .dataset("s0/x", H5T_NATIVE_FLOAT, {1}, &x)
      .dataset("labels", H5T_NATIVE_INT64, {2}, labels.data());
  EXPECT_EQ(message_of([&] { open_dataset(path("s.h5")); }, ErrorCode::kInvalidData),
            "s.h5: dataset 'labels': holds 2 samples, expected 1, as there are groups");
}

TEST_F(SamplesInGroups, AreNormalizedAsTheirAttributesSay) {
  const std::vector<std::uint8_t> u{10, 20, 30, 40};
  const std::vector<float> mean{10, 0};
  const float std = 10;
  Hdf5Builder(path("s.h5"))
      .dataset("0/x", H5T_NATIVE_UINT8, {2, 2}, u.data())
      .attribute("0/x", "mean", H5T_NATIVE_FLOAT, {2}, mean.data())
      .attribute("0/x", "std", H5T_NATIVE_FLOAT, {}, &std);
  EXPECT_EQ(open_dataset(path("s.h5"))->read("x", 0, 1),
            Tensor::of<float>({1, 2, 2}, {0.0F, 1.0F, 3.0F, 4.0F}));
}

TEST_F(SamplesInGroups, HaveInputsWithSlashesInGroupsOfTheirs) {
  const float x = 3;
  Hdf5Builder(path("s.h5"))
      .dataset("0/encoder/x", H5T_NATIVE_FLOAT, {}, &x)
      .dataset("1/encoder/x", H5T_NATIVE_FLOAT, {}, &x);
  const auto data = opened({input_of("encoder/x", {})});
  EXPECT_EQ(data->size(), 2U);
  EXPECT_EQ(data->read("encoder/x", 1, 1), Tensor::of<float>({1}, {x}));
}

TEST_F(SamplesInGroups, AreNoneWhereGroupsArePartsOfTheNamesOfInputs) {
  const std::vector<float> x = ramp(6);
  Hdf5Builder(path("s.h5"))
      .dataset("layer_1/x", H5T_NATIVE_FLOAT, {2, 3}, x.data())
      .dataset("layer_2/x", H5T_NATIVE_FLOAT, {2, 3}, x.data());
  EXPECT_EQ(open_dataset(path("s.h5"))->inputs()[0].shape, (Shape{2, 3}));
  const auto data = opened({input_of("layer_1/x", {1, 3}), input_of("layer_2/x", {1, 3})});
  ASSERT_EQ(data->inputs().size(), 2U);
  EXPECT_EQ(data->inputs()[0].name, "layer_1/x");
  EXPECT_EQ(data->read("layer_2/x", 1, 1), Tensor::of<float>({1, 3}, {3.0F, 4.0F, 5.0F}));
}

TEST_F(SamplesInGroups, AreNoneWithoutNumbers) {
  const std::vector<float> x = ramp(6);
  Hdf5Builder(path("s.h5"))
      .dataset("test/x", H5T_NATIVE_FLOAT, {2, 3}, x.data())
      .dataset("train/x", H5T_NATIVE_FLOAT, {2, 3}, x.data());
  EXPECT_EQ(opened({input_of("x", {-1, 3})})->inputs()[0].name, "test/x");
}

TEST_F(SamplesInGroups, DifferOnlyWhereTheModelLeavesExtentsOpen) {
  const std::vector<float> x = ramp(9);
  Hdf5Builder(path("s.h5"))
      .dataset("0/x", H5T_NATIVE_FLOAT, {1, 3}, x.data())
      .dataset("1/x", H5T_NATIVE_FLOAT, {3, 3}, x.data())
      .dataset("2/x", H5T_NATIVE_FLOAT, {1, 2}, x.data())
      .dataset("3/x", H5T_NATIVE_INT32, {1, 3}, x.data())
      .dataset("4/y", H5T_NATIVE_FLOAT, {1, 3}, x.data());
  EXPECT_EQ(fault({input_of("x", {1, -1, 3})}),
            "s.h5/2: 'x' is f32 [1,2], expected f32 [1,3] as in '0'\n"
            "s.h5/3: 'x' is i32 [1,3], expected f32 [1,3] as in '0'\n"
            "s.h5/4: holds no 'x', expected one as in '0'");
}

TEST_F(SamplesInGroups, WithFaultsAreErrorsWithTheirPlace) {
  const std::vector<float> x{1, NAN, 3};
  {
    Hdf5Builder file(path("s.h5"));
    file.dataset("0/x", H5T_NATIVE_FLOAT, {3}, x.data())
        .dataset("1/x", H5T_NATIVE_FLOAT, {0}, nullptr)
        .dataset("2/x", H5T_NATIVE_FLOAT, {1000000, 1000000}, nullptr)
        .dataset("3/x", H5T_NATIVE_FLOAT, {1000}, nullptr)
        .dataset("4", H5T_NATIVE_FLOAT, {3}, x.data());
    H5Lcreate_external("other.h5", "0", file.file(), "5", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file.file(), "6", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.file(), "/", file.file(), "7", H5P_DEFAULT, H5P_DEFAULT);
  }
  const std::string message = fault({});
  for (const char* each :
       {"s.h5/1: input 'x': samples of shape [1,0] have no elements",
        "s.h5/2: input 'x': one sample of shape [1,1000000,1000000] has more than 4 GiB",
        "s.h5/3: input 'x': holds 0 elements where its shape [1000] has 1000",
        "s.h5/4: is no group, expected a group for each sample",
        "s.h5/5: is a link into another file", "s.h5/6: ", "s.h5/7: "}) {
    EXPECT_NE(message.find(each), std::string::npos) << each << "\n" << message;
  }
  Hdf5Builder(path("s.h5")).dataset("0/x", H5T_NATIVE_FLOAT, {3}, x.data());
  EXPECT_EQ(message_of([&] { opened({})->read("x", 0, 1); }, ErrorCode::kInvalidData),
            "s.h5/0: input 'x': NaN at sample 0, [1]");
}

TEST_F(SamplesInGroups, OfAFolderOfFilesFollowEachOther) {
  std::filesystem::create_directory(path("f"));
  const std::vector<float> x = ramp(9);
  Hdf5Builder(path("f/a.h5"))
      .dataset("0/x", H5T_NATIVE_FLOAT, {1, 3}, x.data())
      .dataset("1/x", H5T_NATIVE_FLOAT, {2, 3}, x.data());
  Hdf5Builder(path("f/b.h5")).dataset("x", H5T_NATIVE_FLOAT, {1, 2, 3}, x.data());
  const auto data = open_samples(path("f"), {.inputs = {input_of("x", {1, -1, 3})}});
  EXPECT_EQ(data->size(), 3U);
  EXPECT_TRUE(data->has_several_shapes());
  EXPECT_EQ(data->read("x", 0, 1).shape(), (Shape{1, 1, 3}));
  EXPECT_EQ(data->read("x", 1, 1), data->read("x", 2, 1));
}

}  // namespace
}  // namespace tare::test
