// Whatever bytes a file holds: it is read, or there is an Error. A crash, a hang or an
// allocation without bounds ends the program.
#include "tare/config.h"
#include "tare/dataset.h"

#include "io/tensor_file.h"
#include "support/files/damaged.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/hdf5_builder.h"

#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class Damaged : public InFolder {
 protected:
  /// True when everything in the file could be read.
  bool read_samples(const std::string& bytes) const {
    write_bytes(path("s.h5"), bytes);
    return is_read([&] {
      const auto data = open_dataset(path("s.h5"), {.trial_in_child = true});
      for (const DatasetInput& input : data->inputs()) {
        const std::size_t count = std::min<std::size_t>(data->size(), 100);
        for (std::size_t sample = 0; sample < count; ++sample) {
          data->read(input.name, sample, 1);
        }
      }
      data->labels();
    });
  }

  std::string samples_file() const {
    std::vector<std::uint8_t> x(12 * 3 * 8 * 8);
    std::mt19937 random(1);
    for (std::uint8_t& value : x) {
      value = static_cast<std::uint8_t>(random());
    }
    const std::vector<std::int64_t> labels(12, 3);
    const float statistic = 100;
    Hdf5Builder(path("good.h5"))
        .dataset("x", H5T_NATIVE_UINT8, {12, 3, 8, 8}, x.data(), {5, 3, 8, 8})
        .attribute("x", "mean", H5T_NATIVE_FLOAT, {}, &statistic)
        .attribute("x", "std", H5T_NATIVE_FLOAT, {}, &statistic)
        .dataset("y", H5T_NATIVE_UINT8, {12, 4}, x.data())
        .dataset("labels", H5T_NATIVE_INT64, {12}, labels.data());
    return bytes_of(path("good.h5"));
  }

  /// The same with a group for each sample.
  std::string groups_file() const {
    const std::vector<std::uint8_t> x(64, 7);
    const std::int64_t label = 3;
    const float statistic = 100;
    {
      Hdf5Builder file(path("good.h5"));
      for (const char* sample : {"0", "1", "2"}) {
        const std::string group = std::string(sample) + "/";
        file.dataset(group + "x", H5T_NATIVE_UINT8, {4, 4}, x.data(), {3, 4})
            .attribute(group + "x", "mean", H5T_NATIVE_FLOAT, {}, &statistic)
            .attribute(group + "x", "std", H5T_NATIVE_FLOAT, {}, &statistic)
            .dataset(group + "y", H5T_NATIVE_UINT8, {64}, x.data())
            .dataset(group + "labels", H5T_NATIVE_INT64, {}, &label);
      }
    }
    return bytes_of(path("good.h5"));
  }

  /// Sequences of varying length.
  std::string sequences_file() const {
    std::vector<std::vector<float>> values;
    for (std::size_t i = 0; i < 12; ++i) {
      values.emplace_back(1 + i * 5 % 7, 0.5F);
    }
    Hdf5Builder(path("good.h5"))
        .sequences("x", H5T_NATIVE_FLOAT, values)
        .sequences("y", H5T_NATIVE_FLOAT, values, 5);
    return bytes_of(path("good.h5"));
  }

  bool read_configuration(const std::string& bytes) const {
    write_bytes(path("c.yaml"), bytes);
    return is_read([&] { (void)read_config(path("c.yaml"), {}, {"max", "mse"}); });
  }
};

TEST_F(Damaged, SampleFilesCutOffAnywhereAreErrors) {
  for (const std::string& good : {samples_file(), groups_file(), sequences_file()}) {
    ASSERT_TRUE(read_samples(good));
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_FALSE(read_samples(good.substr(0, good.size() * i / 100))) << i;
    }
  }
}

TEST_F(Damaged, SampleFilesWithChangedBytesAreReadOrErrors) {
  for (const std::string& good : {samples_file(), groups_file(), sequences_file()}) {
    int errors = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      errors += read_samples(with_changed_bytes(good, seed, 4096)) ? 0 : 1;
    }
    EXPECT_GT(errors, 20);  // else the changes missed what matters
  }
}

/// Sizes that a file claims are not to be allocated first.
TEST_F(Damaged, NumbersLargerThanAnyAreErrorsBeforeTheyAreRead) {
  const auto found = std::filesystem::path(TARE_SOURCE_DIR) /
                     "tests/fuzz/cases/statistics/numbers_of_gigabytes";
  try {
    (void)read_tensor_file(found, "tare statistics 1", {.trial_in_child = true});
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("holds numbers of 1761607684 bytes"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Damaged, SampleFilesOfRandomBytesAreErrors) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = seed % 2 == 0 ? "\x89HDF\r\n\x1a\n" : "";
    for (int i = 0; i < 3000; ++i) {
      bytes += static_cast<char>(random());
    }
    EXPECT_FALSE(read_samples(bytes)) << seed;
  }
}

TEST_F(Damaged, ConfigurationsOfRandomBytesAreErrors) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
      bytes += static_cast<char>(random());
    }
    EXPECT_FALSE(read_configuration(bytes)) << seed;
  }
}

TEST_F(Damaged, ConfigurationsWithChangedCharactersAreReadOrErrors) {
  const std::string good =
      bytes_of(std::filesystem::path(TARE_SOURCE_DIR) / "configs/default.yaml");
  ASSERT_TRUE(read_configuration(good));
  const std::string characters = "{}[]:,&*!|>'\"%@`#-? \n\t0a";
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = good;
    for (unsigned i = 0; i < 1 + seed % 4; ++i) {
      bytes[random() % bytes.size()] = characters[random() % characters.size()];
    }
    read_configuration(bytes);
  }
}

TEST_F(Damaged, ConfigurationsThatNestWithoutEndAreErrors) {
  for (const char* piece : {"[", "{a: ", "- ", "? ", "[{", "a:\n "}) {
    std::string bytes;
    while (bytes.size() < 500000) {
      bytes += piece;
    }
    EXPECT_FALSE(read_configuration(bytes)) << piece;
  }
}

}  // namespace
}  // namespace tare::test
