#include "calibrate/sequential/activation_cache.h"

#include "tare/error.h"

#include "support/graphs.h"

#include <cstdlib>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TensorType storage(DType type, Shape shape) {
  return {.dtype = DType::kFloat32,
          .shape = std::move(shape),
          .quant = QuantParams{.storage = type, .scale = {0.5F}, .zero_point = {0}},
          .point = "p"};
}

/// Storage values of every type from the lowest to the highest, and other values as they are.
struct Stream {
  std::vector<CachedActivation> values{{ValueId{1}, storage(DType::kUint8, {2, 128})},
                                       {ValueId{2}, storage(DType::kInt8, {256})},
                                       {ValueId{3}, storage(DType::kInt16, {65536})},
                                       {ValueId{4}, typed(DType::kFloat32, {3})},
                                       {ValueId{5}, typed(DType::kInt64, {2})}};

  static Tensor value(std::size_t run, const TensorType& type) {
    if (type.dtype == DType::kInt64) {
      return Tensor::of<std::int64_t>(type.shape, {static_cast<std::int64_t>(run), -1});
    }
    if (!type.quant) {
      return Tensor::of<float>(type.shape, {static_cast<float>(run), -0.0F, 1e-40F});
    }
    Tensor result(DType::kFloat32, type.shape);
    auto elements = result.mutable_view<float>();
    std::iota(elements.begin(), elements.end(), static_cast<float>(type.quant->range().low));
    std::rotate(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(run),
                elements.end());
    return result;
  }
};

TEST(ActivationCache, GivesBackWhatWasWrittenFromMemoryAndFromTheFile) {
  const Stream stream;
  constexpr std::size_t kRuns = 4;
  for (const std::size_t memory :
       {std::size_t{0}, std::size_t{300000}, std::size_t{1} << 30U}) {
    ActivationCache cache(stream.values, kRuns, memory);
    for (std::size_t run = kRuns; run-- > 0;) {
      for (std::size_t i = 0; i < stream.values.size(); ++i) {
        const TensorType& type = stream.values[i].type;
        const Tensor value = Stream::value(run, type);
        cache.write(run, i, {&type, value.data(), false});
      }
    }
    for (std::size_t run = 0; run < kRuns; ++run) {
      for (std::size_t i = 0; i < stream.values.size(); ++i) {
        const TensorType& type = stream.values[i].type;
        Tensor result(type.dtype, type.shape);
        cache.read(run, i, result);
        EXPECT_EQ(result, Stream::value(run, type)) << "run " << run << ", value " << i;
      }
    }
  }
}

/// As the steps of a level do: a run is read from one cache before it is written to the next.
TEST(ActivationCache, GivesItsMemoryToTheNextRunByRun) {
  const Stream stream;
  constexpr std::size_t kRuns = 9;
  for (const bool several_shapes : {false, true}) {
    const auto make = [&] {
      // Some of the runs are in memory.
      return ActivationCache(stream.values, kRuns, 700000, nullptr, several_shapes);
    };
    ActivationCache cache = make();
    for (int step = 0; step < 3; ++step) {
      ActivationCache next = make();
      for (std::size_t run = 0; run < kRuns; ++run) {
        for (std::size_t i = 0; step > 0 && i < stream.values.size(); ++i) {
          const TensorType& type = stream.values[i].type;
          Tensor result(type.dtype, type.shape);
          cache.read(run, i, result);
          EXPECT_EQ(result, Stream::value(run, type)) << "run " << run << ", value " << i;
        }
        cache.release(run);
        for (std::size_t i = 0; i < stream.values.size(); ++i) {
          const TensorType& type = stream.values[i].type;
          const Tensor value = Stream::value(run, type);
          next.write(run, i, {&type, value.data(), false});
        }
      }
      cache = std::move(next);
    }
  }
}

/// Results share the bytes of the cache, and are used while other runs are written.
TEST(ActivationCache, LeavesWhatWasReadAsItWas) {
  constexpr std::size_t kRuns = 8;
  const CachedActivation value{ValueId{1}, typed(DType::kFloat32, {3000000})};
  const auto filled = [&](std::size_t run) {
    return Tensor::of<float>({3000000}, std::vector<float>(3000000, static_cast<float>(run)));
  };
  ActivationCache cache({value}, kRuns, std::size_t{1} << 30U);
  for (std::size_t run = 0; run < kRuns; ++run) {
    cache.write(run, 0, {&value.type, filled(run).data(), false});
  }
  ActivationCache next({value}, kRuns, std::size_t{1} << 30U);
  std::vector<Tensor> results;
  for (std::size_t run = 0; run < kRuns; ++run) {
    Tensor& result = results.emplace_back(DType::kFloat32, Shape{3000000});
    cache.read(run, 0, result);
    cache.release(run);
    next.write(run, 0, {&value.type, filled(100 + run).data(), false});
    Tensor changed = result;
    std::fill_n(changed.mutable_view<float>().begin(), 3000000, -1.0F);
  }
  for (std::size_t run = 0; run < kRuns; ++run) {
    EXPECT_EQ(results[run], filled(run)) << "run " << run;
  }
}

TEST(ActivationCache, KeepsValuesWithoutElements) {
  const CachedActivation empty{ValueId{1}, typed(DType::kFloat32, {0, 3})};
  ActivationCache cache({empty}, 2, 0);
  const Tensor value(DType::kFloat32, {0, 3});
  cache.write(1, 0, {&empty.type, value.data(), false});
  Tensor result(DType::kFloat32, {0, 3});
  cache.read(1, 0, result);
  EXPECT_EQ(result, value);
  cache.release(1);
}

TEST(ActivationCache, SaysWhereItsTemporaryFileShouldHaveBeen) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "/tmp";
  ::setenv("TMPDIR", "/nowhere", 1);
  try {
    const ActivationCache cache(Stream().values, 1, 0);
    ADD_FAILURE() << "made a file in a folder that does not exist";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "temporary file in /nowhere: cannot be made: No such file or directory\n"
                 "  hint: name another folder in the environment variable TMPDIR");
  }
  ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace tare::test
