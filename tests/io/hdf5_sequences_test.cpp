// Datasets of HDF5 whose elements are sequences of varying length, as h5py writes them by
// `create_dataset("ids", (n,), dtype=h5py.vlen_dtype("int64"))`.
#include "tare/dataset.h"

#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/hdf5_builder.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Lists = std::vector<std::vector<std::int32_t>>;

class SequencesOfVaryingLength : public InFolder {
 protected:
  std::string fault() const {
    return message_of([&] { open_dataset(path("s.h5"), {.trial_in_child = true}); },
                      ErrorCode::kInvalidData);
  }
  /// The fault after the first bytes `from` became `to`.
  std::string fault_after(const std::string& from, const std::string& to) const {
    std::string bytes = bytes_of(path("good.h5"));
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    write_bytes(path("s.h5"), bytes.replace(at, to.size(), to));
    return fault();
  }
  template <class T>
  static std::string bytes_as(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }
};

TEST_F(SequencesOfVaryingLength, AreSamplesOfTheirOwnLength) {
  // Heaps have 4096 bytes, so these fill some, and one has an element of its own.
  Lists lists;
  for (const std::size_t length : {3U, 1U, 500U, 7U, 3000U, 1U, 900U}) {
    lists.emplace_back(length);
    std::iota(lists.back().begin(), lists.back().end(), static_cast<std::int32_t>(length));
  }
  const std::vector<std::int64_t> labels(lists.size(), 4);
  for (const bool latest : {false, true}) {
    for (const hsize_t chunk : {0U, 1U, 3U, 100U}) {
      Hdf5Builder(path("s.h5"), latest)
          .sequences("ids", H5T_NATIVE_INT32, lists, chunk)
          .dataset("labels", H5T_NATIVE_INT64, {lists.size()}, labels.data());
      const auto data = open_dataset(path("s.h5"));
      EXPECT_TRUE(data->has_several_shapes());
      EXPECT_EQ(data->labels(), labels);
      ASSERT_EQ(data->size(), lists.size());
      EXPECT_EQ(data->inputs()[0].shape, Shape{3000});
      EXPECT_EQ(data->inputs()[0].dtype, DType::kInt32);
      for (std::size_t i = 0; i < lists.size(); ++i) {
        EXPECT_EQ(data->read("ids", i, 1),
                  Tensor::of<std::int32_t>({1, static_cast<std::int64_t>(lists[i].size())},
                                           lists[i]));
      }
    }
  }
}

TEST_F(SequencesOfVaryingLength, AreFoundBehindAnythingBeforeTheFile) {
  const Lists lists{{1, 2, 3}, {4}};
  {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, 1024);
    const hid_t file = H5Fcreate(path("s.h5").c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
    Hdf5Builder(file).sequences("ids", H5T_NATIVE_INT32, lists);
  }
  EXPECT_EQ(open_dataset(path("s.h5"))->read("ids", 0, 1),
            Tensor::of<std::int32_t>({1, 3}, lists[0]));
}

TEST_F(SequencesOfVaryingLength, BecomeWhatOtherDatasetsOfTheirTypeDo) {
  const std::vector<std::vector<double>> reals{{0.1, 2}, {3}};
  const std::vector<std::vector<std::uint8_t>> bytes{{0, 20}, {10}};
  const float ten = 10;
  Hdf5Builder(path("s.h5"))
      .sequences("f64", H5T_NATIVE_DOUBLE, reals)
      .sequences("u8", H5T_NATIVE_UINT8, bytes)
      .attribute("u8", "mean", H5T_NATIVE_FLOAT, {}, &ten)
      .attribute("u8", "std", H5T_NATIVE_FLOAT, {}, &ten);
  const auto data = open_dataset(path("s.h5"));
  EXPECT_EQ(data->read("f64", 0, 1), Tensor::of<float>({1, 2}, {0.1F, 2.0F}));
  EXPECT_EQ(data->read("u8", 0, 1), Tensor::of<float>({1, 2}, {-1.0F, 1.0F}));
  EXPECT_EQ(data->read("u8", 1, 1), Tensor::of<float>({1, 1}, {0.0F}));
}

TEST_F(SequencesOfVaryingLength, AreRowsWhereAllHaveOneLength) {
  const Lists lists{{1, 2}, {3, 4}, {5, 6}};
  Hdf5Builder(path("s.h5")).sequences("ids", H5T_STD_I32LE, lists);
  const auto data = open_dataset(path("s.h5"));
  EXPECT_FALSE(data->has_several_shapes());
  EXPECT_EQ(data->read("ids", 1, 2), Tensor::of<std::int32_t>({2, 2}, {3, 4, 5, 6}));
}

TEST_F(SequencesOfVaryingLength, WithFaultsAreErrors) {
  const Lists lists{{1, 2}, {}, {5, 6}};
  const hid_t text = H5Tcopy(H5T_C_S1);
  Hdf5Builder(path("s.h5")).sequences("a", H5T_NATIVE_INT32, lists).sequences("b", text, lists);
  H5Tclose(text);
  EXPECT_EQ(fault(),
            "s.h5: input 'a': sample 1 has no elements\n"
            "s.h5: input 'b': holds text, expected integers or floating point");
  {
    const Hdf5Builder file(path("s.h5"));
    const hid_t type = H5Tvlen_create(H5T_NATIVE_INT32);
    const hsize_t two[] = {2, 2};
    const hid_t space = H5Screate_simple(2, two, nullptr);
    H5Dclose(H5Dcreate2(file.file(), "x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Tclose(type);
  }
  EXPECT_EQ(
      fault(),
      "s.h5: input 'x': holds sequences of varying length in the shape [2,2], expected one "
      "for each sample");
}

TEST_F(SequencesOfVaryingLength, ThatClaimMoreThanTheFileHoldsAreErrors) {
  // Their places in the file are known by what they hold.
  const Lists lists{{0x11111111, 0x22222222, 0x33333333}, {0x44444444, 0x55555555}};
  Hdf5Builder(path("good.h5")).sequences("x", H5T_NATIVE_INT32, lists);
  const std::string bytes = bytes_of(path("good.h5"));
  const std::size_t heap = bytes.find("GCOL");
  ASSERT_NE(heap, std::string::npos);
  const std::string reference = bytes_as(std::uint32_t{3}) + bytes_as(std::uint64_t{heap});
  const std::string object = bytes_as(std::uint64_t{12}) + bytes_as(0x11111111);

  EXPECT_EQ(fault_after(reference, bytes_as(std::uint32_t{4})),
            "s.h5: input 'x': claims a sequence of 4 elements that the file does not hold");
  EXPECT_EQ(fault_after(reference, bytes_as(std::uint32_t{0xFFFFFFFF})),
            "s.h5: input 'x': claims 4294967297 elements, more than the file can hold");
  EXPECT_EQ(
      fault_after(reference, bytes_as(std::uint32_t{3}) + bytes_as(std::uint64_t{1} << 60U)),
      "s.h5: input 'x': has a heap at 1152921504606846976, beyond the end of the file");
  EXPECT_EQ(fault_after(reference, bytes_as(std::uint32_t{3}) + bytes_as(std::uint64_t{8})),
            "s.h5: input 'x': has no heap at 8");
  EXPECT_EQ(fault_after(object, bytes_as(~std::uint64_t{0})),
            "s.h5: input 'x': claims a sequence of 3 elements that the file does not hold");
  EXPECT_EQ(fault_after("GCOL\x01", "GCOL\x02"),
            "s.h5: input 'x': has no heap at " + std::to_string(heap));
}

}  // namespace
}  // namespace tare::test
