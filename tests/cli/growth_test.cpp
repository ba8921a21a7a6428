// Four times as long a network takes about four times as long, not sixteen times.
#include "tare/onnx.h"

#include "cli/in_program_folder.h"
#include "io/hdf5_builder.h"

#include <algorithm>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace tare {
namespace {

class Growth : public InProgramFolder {
 protected:
  static constexpr int kChannels = 4;

  /// A chain of so many convolutions, each with a Relu.
  void make_chain(int length) const {
    std::string weights = "0.25";
    for (int i = 1; i < kChannels * kChannels; ++i) {
      weights += ", " + std::to_string(0.1 * (i % 5) - 0.15);
    }
    std::string body;
    std::string before = "x";
    for (int i = 0; i < length; ++i) {
      const std::string at = std::to_string(i);
      body += "const %w" + at + " : f32[4,4,1,1] = [" + weights + "]\nc" + at + ": %c" + at +
              " = Conv(%" + before + ", %w" + at + ") : f32[1,4,2,2]\nr" + at + ": %r" + at +
              " = Relu(%c" + at + ") : f32[1,4,2,2]\n";
      before = "r" + at;
    }
    write_onnx(
        parse("graph \"g\" opset 17 (%x : f32[1,4,2,2]) -> (%" + before + ") {\n" + body + "}"),
        folder_ / ("chain" + std::to_string(length) + ".onnx"));
    std::vector<float> values(std::size_t{4} * kChannels * 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 7) - 2.5F;
    }
    Hdf5Builder(folder_ / "chain.h5")
        .dataset("x", H5T_NATIVE_FLOAT, {4, kChannels, 2, 2}, values.data());
  }

  /// Seconds of the processor, on which other programs have little influence; the less of two.
  double seconds(const std::string& command) const {
    const auto used = [] {
      rusage usage{};
      getrusage(RUSAGE_CHILDREN, &usage);
      return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * usage.ru_utime.tv_usec;
    };
    double least = 1e9;
    for (int i = 0; i < 2; ++i) {
      const double before = used();
      succeed(command);
      least = std::min(least, used() - before);
    }
    return least;
  }

  /// How many times as long the command takes for four times the network.
  double growth(const std::string& verb, int length, const std::string& options) const {
    make_chain(length);
    make_chain(4 * length);
    const auto with = [&](int size) {
      return seconds("tare " + verb + " chain" + std::to_string(size) + ".onnx " + options);
    };
    return with(4 * length) / with(length);
  }
};

constexpr double kMost = 8;  // halfway to 16, by factors

TEST_F(Growth, OfQuantizeIsThatOfTheNetwork) {
  EXPECT_LT(growth("quantize", 150, "--data chain.h5 -o q.onnx --quiet --threads 1"), kMost);
}

TEST_F(Growth, OfExplainIsThatOfTheNetwork) {
  EXPECT_LT(growth("explain", 1500, "> explained.txt"), kMost);
}

}  // namespace
}  // namespace tare
