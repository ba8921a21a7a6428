#include "tare/dataset.h"

#include "graph/operators/usable_labels.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/hdf5_builder.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class DatasetFaults : public InFolder {
 protected:
  std::string open_message(ErrorCode code = ErrorCode::kInvalidData) const {
    return message_of([&] { open_dataset(path("s.h5")); }, code);
  }

  const std::vector<float> zeros_ = std::vector<float>(64);
};

TEST_F(DatasetFaults, AreSaidOfAFileThatIsNotThere) {
  EXPECT_EQ(open_message(ErrorCode::kIo), "s.h5: no such file");
}

TEST_F(DatasetFaults, AreSaidOfAFolder) {
  std::filesystem::create_directory(path("s.h5"));
  EXPECT_EQ(
      open_message(ErrorCode::kIo),
      "s.h5: is a folder, expected an HDF5 file with one dataset for each input of the model");
}

TEST_F(DatasetFaults, AreSaidOfAnEmptyFileAndOfAnotherFormat) {
  for (const std::string& bytes :
       {std::string(), std::string("PK\003\004"), std::string(5000, 'x')}) {
    write_bytes(path("s.h5"), bytes);
    EXPECT_EQ(open_message(ErrorCode::kIo),
              "s.h5: is not a readable HDF5 file: file signature not found");
  }
}

TEST_F(DatasetFaults, AreSaidOfAFileWithoutInputs) {
  { Hdf5Builder file(path("s.h5")); }
  EXPECT_EQ(open_message(), "s.h5: holds no inputs, expected one dataset per model input");
  const std::vector<std::int64_t> labels(3);
  Hdf5Builder(path("s.h5")).dataset("labels", H5T_NATIVE_INT64, {3}, labels.data());
  EXPECT_EQ(open_message(), "s.h5: holds no inputs, expected one dataset per model input");
}

TEST_F(DatasetFaults, AreSaidOfAllDatasetsAtOnce) {
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 4);
  const hid_t record = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(record, "a", 0, H5T_NATIVE_FLOAT);
  Hdf5Builder(path("s.h5"))
      .dataset("a", H5T_NATIVE_FLOAT, {0, 3}, nullptr)
      .dataset("b", H5T_NATIVE_FLOAT, {}, zeros_.data())
      .dataset("c", text, {4}, zeros_.data())
      .dataset("d", record, {4}, zeros_.data())
      .dataset("e", H5T_NATIVE_FLOAT, {4, 0}, nullptr)
      .dataset("f", H5T_NATIVE_FLOAT, {4, 4}, zeros_.data());
  H5Tclose(record);
  H5Tclose(text);
  EXPECT_EQ(
      open_message(),
      "s.h5: input 'a': holds no samples\n"
      "s.h5: input 'b': holds a single value, expected samples along the first dimension\n"
      "s.h5: input 'c': holds text, expected integers or floating point\n"
      "s.h5: input 'd': holds records, expected integers or floating point\n"
      "s.h5: input 'e': samples of shape [4,0] have no elements");
}

TEST_F(DatasetFaults, OfLabelsAreForThoseWhoNeedThem) {
  const auto fault = [&](hid_t type, const Extents& extents) {
    Hdf5Builder(path("s.h5"))
        .dataset("x", H5T_NATIVE_FLOAT, {4, 4}, zeros_.data())
        .dataset("labels", type, extents, zeros_.data());
    const auto data = open_dataset(path("s.h5"));
    EXPECT_EQ(data->size(), 4U);
    EXPECT_EQ(usable_labels(*data), std::nullopt);
    return message_of([&] { data->labels(); }, ErrorCode::kInvalidData);
  };
  EXPECT_EQ(fault(H5T_NATIVE_FLOAT, {4}),
            "s.h5: dataset 'labels': holds f32 of shape [] for each sample, expected one "
            "integer");
  EXPECT_EQ(fault(H5T_NATIVE_INT32, {4, 3, 3}),
            "s.h5: dataset 'labels': holds i32 of shape [3,3] for each sample, expected one "
            "integer");
  EXPECT_EQ(fault(H5T_NATIVE_INT32, {3}),
            "s.h5: dataset 'labels': holds 3 samples, expected 4 as in 'x'");
}

TEST_F(DatasetFaults, AreSaidOfElementsInOtherFiles) {
  write_bytes(path("raw.bin"), std::string(64, 'x'));
  const Extents extents{4, 4};
  const auto write = [&](hid_t properties) {
    const Hdf5Builder file(path("s.h5"));
    const hid_t space = H5Screate_simple(2, extents.data(), nullptr);
    const hid_t dataset = H5Dcreate2(file.file(), "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                     properties, H5P_DEFAULT);
    EXPECT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
  };
  const std::string refusal =
      "s.h5: 'x': has its elements in other files, expected a dataset that holds them";
  const hid_t external = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(external, path("raw.bin").c_str(), 0, 64);
  write(external);
  EXPECT_EQ(open_message(), refusal);
  const hid_t mapped = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t space = H5Screate_simple(2, extents.data(), nullptr);
  H5Pset_virtual(mapped, space, path("other.h5").c_str(), "x", space);
  H5Sclose(space);
  write(mapped);
  EXPECT_EQ(open_message(), refusal);
}

TEST_F(DatasetFaults, AreSaidOfSampleCountsThatDiffer) {
  Hdf5Builder(path("s.h5"))
      .dataset("a", H5T_NATIVE_FLOAT, {4, 4}, zeros_.data())
      .dataset("b", H5T_NATIVE_FLOAT, {5, 4}, zeros_.data());
  EXPECT_EQ(open_message(), "s.h5: dataset 'b': holds 5 samples, expected 4 as in 'a'");
}

TEST_F(DatasetFaults, AreSaidOfStatisticsThatDoNotFit) {
  const float one = 1;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Hdf5Builder file(path("s.h5"));
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    file.dataset(name, H5T_NATIVE_UINT8, {4, 3}, zeros_.data());
  }
  const auto add = [&](const char* name, const char* attribute, const Extents& extents,
                       const float* data) {
    file.attribute(name, attribute, H5T_NATIVE_FLOAT, extents, data);
  };
  const hid_t text = H5Tcopy(H5T_C_S1);
  add("a", "mean", {}, &one);
  add("b", "std", {}, &one);
  add("c", "mean", {2}, zeros_.data());
  add("c", "std", {}, &one);
  add("d", "mean", {}, &one);
  add("d", "std", {3}, zeros_.data());
  add("e", "mean", {}, &nan);
  add("e", "std", {}, &one);
  file.attribute("f", "mean", text, {}, "x");
  add("f", "std", {}, &one);
  H5Tclose(text);
  H5Fflush(file.file(), H5F_SCOPE_GLOBAL);
  EXPECT_EQ(open_message(),
            "s.h5: input 'a': attribute 'mean' without 'std'\n"
            "s.h5: input 'b': attribute 'std' without 'mean'\n"
            "s.h5: input 'c': attribute 'mean' has 2 values, expected 1 or 3\n"
            "s.h5: input 'd': attribute 'std' is not above 0\n"
            "s.h5: input 'e': attribute 'mean' is not finite\n"
            "s.h5: input 'f': attribute 'mean' is not numeric");
}

TEST_F(DatasetFaults, AreSaidOfSamplesThatWereNeverWritten) {
  Hdf5Builder(path("s.h5"))
      .dataset("chunks", H5T_NATIVE_FLOAT, {hsize_t{1} << 40, 3}, nullptr, {2, 3})
      .dataset("contiguous", H5T_NATIVE_FLOAT, {hsize_t{1} << 40, 3}, nullptr)
      .dataset("wide", H5T_NATIVE_FLOAT, {4, hsize_t{1} << 40}, nullptr)
      .dataset("widest", H5T_NATIVE_FLOAT, {4, hsize_t{1} << 32, hsize_t{1} << 33}, nullptr,
               {1, 1, 1});
  EXPECT_EQ(open_message(),
            "s.h5: input 'chunks': holds 0 chunks where its shape [1099511627776,3] has "
            "549755813888\n"
            "s.h5: input 'contiguous': holds 0 elements where its shape [1099511627776,3] has "
            "3298534883328\n"
            "s.h5: input 'wide': one sample of shape [4,1099511627776] has more than 4 GiB\n"
            "s.h5: input 'widest': one sample of shape [4,4294967296,8589934592] has more than "
            "4 GiB");
}

TEST_F(DatasetFaults, AreSaidOfGroupsWithinThemselvesAndLinksElsewhere) {
  {
    Hdf5Builder file(path("s.h5"));
    file.dataset("x", H5T_NATIVE_FLOAT, {4, 4}, zeros_.data());
    const hid_t group = H5Gcreate2(file.file(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.file(), "g", file.file(), "g/again", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.file(), "g", file.file(), "g/once_more", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
  }
  EXPECT_EQ(open_message(),
            "s.h5: has too many or too deeply nested groups, expected one dataset per model "
            "input, or "
            "a group for each of at most 100000 samples");
  {
    Hdf5Builder file(path("s.h5"));
    H5Lcreate_external("other.h5", "x", file.file(), "x", H5P_DEFAULT, H5P_DEFAULT);
  }
  EXPECT_EQ(open_message(), "s.h5: 'x': is a link into another file, expected a dataset");
}

TEST_F(DatasetFaults, AreSaidOfANameThatIsNotThere) {
  Hdf5Builder(path("s.h5")).dataset("x", H5T_NATIVE_FLOAT, {4, 4}, zeros_.data());
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(message_of([&] { data->read("y", 0, 1); }, ErrorCode::kInvalidData),
            "s.h5: no dataset 'y'");
  EXPECT_THROW(data->read("x", 4, 1), Error);
  EXPECT_THROW(data->read("x", 1, std::numeric_limits<std::size_t>::max()), Error);
}

}  // namespace
}  // namespace tare::test
