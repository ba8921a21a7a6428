// HDF5 files of samples.
#include "tare/dataset.h"

#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "support/files/hdf5_builder.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tare::fuzz {
namespace {

File written(bool latest, const std::function<void(test::Hdf5Builder&)>& fill) {
  const std::filesystem::path path = Scratch::path("seed.h5");
  {
    test::Hdf5Builder builder(path, latest);
    fill(builder);
  }
  return Scratch::read(path);
}

File small_file(bool latest) {
  std::vector<std::uint8_t> bytes(48);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const std::vector<float> reals(bytes.begin(), bytes.end());
  const std::vector<std::int64_t> labels{3, 1};
  const std::vector<float> statistics{1, 2, 3};
  return written(latest, [&](test::Hdf5Builder& file) {
    file.dataset("x", H5T_NATIVE_UINT8, {2, 3, 2, 2}, bytes.data(), {1, 3, 2, 2})
        .attribute("x", "mean", H5T_NATIVE_FLOAT, {3}, statistics.data())
        .attribute("x", "std", H5T_NATIVE_FLOAT, {}, statistics.data())
        .dataset("folder/y", H5T_IEEE_F64BE, {2, 4}, reals.data())
        .dataset("z", H5T_NATIVE_FLOAT, {2}, reals.data())
        .dataset("labels", H5T_NATIVE_INT64, {2}, labels.data());
  });
}

/// What DatasetWriter writes.
File own_file() {
  const std::filesystem::path path = Scratch::path("own.h5");
  DatasetWriter writer(path);
  Tensor truth(DType::kBool, {3, 2});
  truth.mutable_data()[1] = std::byte{1};
  writer.append("truth", truth);
  writer.append("half", Tensor(DType::kFloat16, {3, 1, 2}));
  writer.append("real", Tensor(DType::kFloat32, {3}));
  writer.finish();
  return Scratch::read(path);
}

/// A group for each sample.
File groups(bool latest) {
  const std::vector<float> reals{1, 2, 3, 4, 5, 6};
  const std::int64_t label = 1;
  return written(latest, [&](test::Hdf5Builder& file) {
    file.dataset("0/x", H5T_NATIVE_FLOAT, {2, 3}, reals.data())
        .dataset("0/labels", H5T_NATIVE_INT64, {}, &label)
        .dataset("1/x", H5T_NATIVE_FLOAT, {1, 3}, reals.data(), {1, 2})
        .dataset("1/labels", H5T_NATIVE_INT64, {}, &label);
  });
}

/// Sequences of varying length, beside rows.
File sequences(bool latest) {
  const std::vector<std::vector<float>> reals{{1, 2, 3}, {4}, {5, 6}};
  const std::vector<std::vector<std::uint8_t>> bytes{{1}, {2, 3}, {4, 5, 6, 7}};
  const float statistic = 2;
  return written(latest, [&](test::Hdf5Builder& file) {
    file.sequences("x", H5T_NATIVE_FLOAT, reals)
        .sequences("u", H5T_NATIVE_UINT8, bytes, 2)
        .attribute("u", "mean", H5T_NATIVE_FLOAT, {}, &statistic)
        .attribute("u", "std", H5T_NATIVE_FLOAT, {}, &statistic)
        .dataset("y", H5T_NATIVE_FLOAT, {3}, reals[0].data());
  });
}

std::vector<File> seeds() {
  return {small_file(false), small_file(true), own_file(),     groups(false),
          groups(true),      sequences(false), sequences(true)};
}

void run(Bytes bytes) {
  constexpr std::size_t kSamples = 20;
  const auto data = open_dataset(Scratch::write("samples.h5", bytes), {.trial_in_child = true});
  (void)data->labels();
  const std::size_t count = std::min(data->size(), kSamples);
  for (const DatasetInput& input : data->inputs()) {
    for (std::size_t sample = 0; sample < count; ++sample) {
      const Tensor read = data->read(input.name, sample, 1);
      require(read.dtype() == input.dtype, "samples of another type than was said");
      require(data->has_several_shapes() ||
                  Shape(read.shape().begin() + 1, read.shape().end()) == input.shape,
              "samples of another shape than was said");
    }
    if (!data->has_several_shapes()) {
      (void)data->read(input.name, 0, count);
    }
  }
}

}  // namespace

FuzzTarget fuzz_samples() {
  return {"samples", seeds, run};
}

}  // namespace tare::fuzz
