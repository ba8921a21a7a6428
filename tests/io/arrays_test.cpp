// Arrays of NumPy. What is held against golden files was written by NumPy:
// tests/io/golden/make_arrays.py.
#include "tare/dataset.h"

#include "io/golden_arrays.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// An array as NumPy would write it.
std::string npy_file(const std::string& type, const std::string& shape, const std::string& data,
                     const std::string& order = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header += std::string(63 - (header.size() + 10) % 64, ' ') + "\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFFU);
  file += static_cast<char>(header.size() >> 8U);
  return file + header + data;
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

ModelInput input_like(Shape shape, std::string name = "x", DType dtype = DType::kFloat32) {
  return {.name = std::move(name), .dtype = dtype, .shape = std::move(shape)};
}

class ArraySamples : public InFolder {
 protected:
  void write(const std::string& name, const std::string& bytes) const {
    write_bytes(path(name), bytes);
  }
  std::string fault_of(const std::string& name, Shape shape = {1, 3}) const {
    return message_of(
        [&] { return open_samples(path(name), {.inputs = {input_like(std::move(shape))}}); },
        ErrorCode::kInvalidData);
  }
};

class NpzFile : public ArraySamples, public ::testing::WithParamInterface<const char*> {};

TEST_P(NpzFile, HasTheArraysThatNumpyWrote) {
  const auto data = open_samples(
      golden(GetParam()),
      {.inputs = {input_like({1, 2, 3}), input_like({1}, "inner/y", DType::kInt64)}});
  ASSERT_EQ(data->size(), 5U);
  ASSERT_EQ(data->inputs().size(), 2U);
  std::vector<float> x(12);
  std::iota(x.begin(), x.end(), 12.0F);
  for (float& value : x) {
    value /= 4;
  }
  EXPECT_EQ(data->read("x", 2, 2), Tensor::of<float>({2, 2, 3}, x));
  EXPECT_EQ(data->read("inner/y", 1, 3),
            Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(data->labels(), (std::vector<std::int64_t>{4, 3, 2, 1, 0}));
}

INSTANTIATE_TEST_SUITE_P(, NpzFile, ::testing::Values("stored.npz", "deflated.npz"),
                         [](const auto& made) { return std::string(made.param, 6); });

TEST_F(ArraySamples, OfEveryTypeAreTheirNumbers) {
  for (const char* type : {"float64", "float16", "uint8", "bool"}) {
    const auto data =
        open_samples(golden(std::string(type) + ".npy"), {.inputs = {input_like({1, 3})}});
    const Tensor all = data->read("x", 0, 2);
    const std::vector<float> expected = std::string(type) == "bool"
                                            ? std::vector<float>{0, 1, 1, 0, 1, 1}
                                            : std::vector<float>{0, 1, 2, 0, 1, 2};
    EXPECT_EQ(all.to_float(), expected) << type;
    EXPECT_EQ(all.dtype() == DType::kFloat32, std::string(type).starts_with("float")) << type;
  }
}

TEST_F(ArraySamples, WithOneAxisLessThanTheInputAreOneSample) {
  write("one.npy", npy_file("<f4", "(3,)", floats({1, 2, 3})));
  const auto one = open_samples(path("one.npy"), {.inputs = {input_like({1, 3})}});
  EXPECT_EQ(one->size(), 1U);
  EXPECT_EQ(one->read("x", 0, 1), Tensor::of<float>({1, 3}, std::vector<float>{1, 2, 3}));
}

TEST_F(ArraySamples, OfAFolderFollowEachOtherByName) {
  std::filesystem::create_directory(path("f"));
  write("f/b.npy", npy_file("<f4", "(2, 3)", floats({4, 5, 6, 7, 8, 9})));
  write("f/a.npy", npy_file("<f4", "(3,)", floats({1, 2, 3})));
  const auto data = open_samples(path("f"), {.inputs = {input_like({-1, 3})}});
  ASSERT_EQ(data->size(), 3U);
  EXPECT_EQ(data->read("x", 0, 3).to_float(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(data->read("x", 1, 1).to_float(), (std::vector<float>{4, 5, 6}));
}

TEST_F(ArraySamples, OfAFolderOfHdf5FilesFollowEachOther) {
  std::filesystem::create_directory(path("f"));
  for (const char* name : {"f/1.h5", "f/2.h5"}) {
    DatasetWriter writer(path(name));
    writer.append(
        "x", Tensor::of<float>({2, 1}, std::vector<float>{1, static_cast<float>(name[2])}));
    writer.append("labels", Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{5, 6}));
    writer.finish();
  }
  const auto data = open_samples(path("f"), {.inputs = {input_like({1, 1})}});
  EXPECT_EQ(data->read("x", 0, 4).to_float(), (std::vector<float>{1, '1', 1, '2'}));
  EXPECT_EQ(data->labels(), (std::vector<std::int64_t>{5, 6, 5, 6}));
}

TEST_F(ArraySamples, InFilesNamedAfterInputsBelongTogether) {
  std::filesystem::create_directory(path("f"));
  write("f/a.npy", npy_file("<f4", "(2, 1)", floats({1, 2})));
  write("f/b.raw", floats({3, 4, 5, 6}));
  const std::vector<ModelInput> inputs{input_like({1, 1}, "a"), input_like({1, 2}, "b")};
  SampleOptions options{.inputs = inputs};
  const auto files_of_two_kinds = [&] { return open_samples(path("f"), options); };
  EXPECT_NE(message_of(files_of_two_kinds, ErrorCode::kInvalidData).find("of one kind"),
            std::string::npos);
  std::filesystem::remove(path("f/b.raw"));
  write("f/b.npy", npy_file("<f4", "(2, 2)", floats({3, 4, 5, 6})));
  const auto data = open_samples(path("f"), options);
  ASSERT_EQ(data->size(), 2U);
  EXPECT_EQ(data->read("a", 1, 1).to_float(), (std::vector<float>{2}));
  EXPECT_EQ(data->read("b", 1, 1).to_float(), (std::vector<float>{5, 6}));
}

TEST_F(ArraySamples, OfRawNumbersHaveTheShapeThatIsSaid) {
  write("x.bin", std::string("\x01\x00\xFF\xFF\x02\x00\x03\x00", 8));
  InputPreparation said;
  said.shape = {2};
  said.dtype = DType::kInt16;
  const auto data = open_samples(
      path("x.bin"), {.inputs = {input_like({1, -1})}, .preparations = {{"x", said}}});
  EXPECT_EQ(data->read("x", 0, 2).to_int64(), (std::vector<std::int64_t>{1, -1, 2, 3}));
  EXPECT_EQ(
      message_of(
          [&] {
            return open_samples(path("x.bin"), {.inputs = {input_like({1, 3})}});
          },
          ErrorCode::kInvalidData),
      "x.bin: holds 8 bytes, expected a multiple of 12, those of a sample of f32 of shape "
      "[3]");
  EXPECT_NE(message_of(
                [&] {
                  return open_samples(path("x.bin"), {.inputs = {input_like({1, -1})}});
                },
                ErrorCode::kInvalidConfig)
                .find("do not say which shape"),
            std::string::npos);
}

TEST_F(ArraySamples, OfAnotherNameAreTheOnlyInputAndThatIsSaid) {
  std::vector<std::string> notes;
  const auto take = [&](const std::string& text) { notes.push_back(text); };
  // Two arrays beside the labels are no guess.
  const auto data = open_samples(
      golden("stored.npz"),
      {.inputs = {input_like({1, 2, 3}, "z")}, .preparations = {}, .hdf5 = {}, .notice = take});
  EXPECT_EQ(data->inputs()[0].name, "x");
  EXPECT_TRUE(notes.empty());
}

TEST_F(ArraySamples, WithTheBatchOnAnotherAxisAreWholeInputs) {
  write("x.npy", npy_file("<f4", "(2, 3, 2)", floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})));
  std::vector<std::string> notes;
  const auto take = [&](const std::string& text) { notes.push_back(text); };
  // [time, 1, features]: three steps do not fit the 1.
  const auto data = open_samples(
      path("x.npy"),
      {.inputs = {input_like({-1, 1, 2})}, .preparations = {}, .hdf5 = {}, .notice = take});
  EXPECT_EQ(data->inputs()[0].shape, (Shape{3, 1, 2}));
  EXPECT_EQ(data->read("x", 1, 1).shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(data->read("x", 1, 1).to_float(), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("the batch is on axis 1"), std::string::npos);

  InputPreparation none;
  none.batch_axis = -1;
  const auto whole = open_samples(
      path("x.npy"), {.inputs = {input_like({-1, -1, 2})}, .preparations = {{"x", none}}});
  EXPECT_EQ(whole->size(), 1U);
  EXPECT_EQ(whole->inputs()[0].shape, (Shape{2, 3, 2}));
}

TEST_F(ArraySamples, OfOtherShapesThanTheFirstAreErrorsWithTheirFiles) {
  std::filesystem::create_directory(path("f"));
  write("f/a.npy", npy_file("<f4", "(3,)", floats({1, 2, 3})));
  write("f/b.npy", npy_file("<f4", "(2,)", floats({1, 2})));
  write("f/c.npy", npy_file("<f8", "(3,)", floats({1, 2, 3, 4, 5, 6})));
  write("f/d.npy", npy_file("<i4", "(3,)", floats({1, 2, 3})));
  EXPECT_EQ(message_of(
                [&] {
                  return open_samples(path("f"), {.inputs = {input_like({1, 3})}});
                },
                ErrorCode::kInvalidData),
            "f/b.npy: 'x' is f32 [2], expected f32 [3] as in 'a.npy'\n"
            "f/d.npy: 'x' is i32 [3], expected f32 [3] as in 'a.npy'");
}

TEST_F(ArraySamples, MayDifferInExtentsThatTheModelLeavesOpen) {
  std::filesystem::create_directory(path("f"));
  write("f/a.npy", npy_file("<f4", "(2,)", floats({1, 2})));
  write("f/b.npy", npy_file("<f4", "(3,)", floats({3, 4, 5})));
  const auto data = open_samples(path("f"), {.inputs = {input_like({1, -1})}});
  EXPECT_TRUE(data->has_several_shapes());
  EXPECT_EQ(data->inputs().at(0).shape, (Shape{3}));  // of the largest
  EXPECT_EQ(data->read("x", 0, 1), Tensor::of<float>({1, 2}, std::vector<float>{1, 2}));
  EXPECT_EQ(data->read("x", 1, 1), Tensor::of<float>({1, 3}, std::vector<float>{3, 4, 5}));
}

TEST_F(ArraySamples, ThatAreNotFiniteAreErrorsWithFileAndPlace) {
  write("x.npy", npy_file("<f4", "(2, 3)", floats({1, 2, 3, 4, NAN, 6})));
  const auto data = open_samples(path("x.npy"), {.inputs = {input_like({1, 3})}});
  EXPECT_EQ(message_of([&] { return data->read("x", 0, 2); }, ErrorCode::kInvalidData),
            "x.npy: input 'x': NaN at sample 1, [1]");
}

TEST_F(ArraySamples, ThatAreNoNumbersRowByRowAreErrors) {
  const auto fault = [&](const std::string& name) {
    return message_of(
               [&] {
                 return open_samples(golden(name), {.inputs = {input_like({1, 2, 3})}});
               },
               ErrorCode::kInvalidData)
        .substr(golden(name).string().size());
  };
  EXPECT_EQ(fault("big_endian.npy"),
            ": stores the highest byte first ('>f4'), expected the lowest first\n  hint: "
            "x.astype(x.dtype.newbyteorder('<')) is the same array in that order");
  EXPECT_EQ(fault("columns.npy"),
            ": is stored column by column (fortran_order), expected row by row\n  hint: "
            "numpy.ascontiguousarray(x) is the same array in that order");
  EXPECT_EQ(fault("objects.npy"),
            ": holds objects of Python, which are programs, expected numbers");
  EXPECT_EQ(fault("records.npy"), ": holds records, expected an array of numbers");
  EXPECT_EQ(fault("texts.npy"), ": holds elements of type '<U2', expected numbers");
}

TEST_F(ArraySamples, WhoseHeadersClaimTooMuchAreErrors) {
  write("a.npy", npy_file("<f4", "(1000000, 1000000)", floats({1})));
  EXPECT_EQ(fault_of("a.npy"),
            "a.npy: claims shape [1000000,1000000] of f32, but holds 4 bytes");
  write("b.npy", npy_file("<f4", "(9223372036854775807, 9223372036854775807)", floats({1})));
  EXPECT_NE(fault_of("b.npy").find("b.npy: claims shape"), std::string::npos);
  write("c.npy", npy_file("<f4", "(-1, 3)", floats({1})));
  EXPECT_EQ(fault_of("c.npy"), "c.npy: has a shape that is none: '(-1, 3)'");
  write("d.npy", npy_file("<f4", "(nan, 3)", floats({1})));
  EXPECT_EQ(fault_of("d.npy"), "d.npy: has a shape that is none: '(nan, 3)'");
  write("e.npy", npy_file("<f4", "(0, 3)", ""));
  EXPECT_EQ(fault_of("e.npy"), "e.npy: holds no samples: shape [0,3]");
  std::string header = npy_file("<f4", "(1, 3)", floats({1, 2, 3}));
  header[8] = '\xFF';
  header[9] = '\xFF';
  write("g.npy", header);
  EXPECT_NE(fault_of("g.npy").find("g.npy: has a header of 65535 bytes"), std::string::npos);
  write("h.npy", "text");
  EXPECT_EQ(fault_of("h.npy"), "h.npy: is no array of NumPy");
}

// ------------------------------------------------------------------ ZIP files

/// The bytes with `from` in the place of every `to`, which is as long.
std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size()) {
    bytes.replace(at, from.size(), to);
  }
  return bytes;
}

std::string fault_of_archive(const InFolder*, const std::filesystem::path& file) {
  return test::message_of(
      [&] {
        const auto data =
            open_samples(file, {.inputs = {input_like({1, 2, 3}), input_like({1}, "inner/y")}});
        return data->read("x", 0, data->size());
      },
      ErrorCode::kInvalidData);
}

TEST_F(ArraySamples, InArchivesWithPathsThatLeadOutAreErrors) {
  write("a.npz", replaced(bytes_of(golden("stored.npz")), "inner/y.npy", "../../y.npy"));
  EXPECT_NE(
      fault_of_archive(this, path("a.npz"))
          .find("a.npz: holds an entry '../../y.npy' whose name is a path out of the archive"),
      std::string::npos);
}

TEST_F(ArraySamples, InArchivesThatClaimMoreThanTheyHoldAreErrors) {
  std::string bomb = bytes_of(golden("deflated.npz"));
  // The size of the first entry in the directory: 24 bytes behind its mark.
  const std::size_t entry = bomb.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  for (std::size_t i = 0; i < 4; ++i) {
    bomb[entry + 24 + i] = i < 3 ? '\xFF' : '\x70';
  }
  write("a.npz", bomb);
  EXPECT_NE(
      fault_of_archive(this, path("a.npz")).find("that claims 1895825407 bytes, packed in"),
      std::string::npos)
      << fault_of_archive(this, path("a.npz"));
}

TEST_F(ArraySamples, InArchivesThatAreCutOffAnywhereAreErrors) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string whole = bytes_of(golden(name));
    for (std::size_t i = 0; i < 100; ++i) {
      write("a.npz", whole.substr(0, whole.size() * i / 100));
      EXPECT_NE(fault_of_archive(this, path("a.npz")), "no error") << name << " " << i;
    }
  }
}

TEST_F(ArraySamples, InArchivesWhosePackedBytesChangedAreErrors) {
  const std::string whole = bytes_of(golden("deflated.npz"));
  const std::size_t begin = whole.find("x.npy") + 5 + 20;  // behind the extra field
  const std::size_t end = whole.find("PK\x03\x04", begin);
  for (std::size_t at = begin; at < end; ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0xFF);
    write("a.npz", changed);
    EXPECT_NE(fault_of_archive(this, path("a.npz")), "no error") << at;
  }
}

}  // namespace
}  // namespace tare::test
