#include "execute/packing.h"

#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include "support/random/random_network.h"

#include <atomic>
#include <new>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Packing, IsDoneWhenItFinishesAndAtOnceLater) {
  Packing packing(2);
  std::atomic<int> done = 0;
  for (int i = 0; i < 10; ++i) {
    packing.add(1, [&] { ++done; });
  }
  packing.finish();
  EXPECT_EQ(done, 10);
  packing.add(1, [&] { ++done; });
  EXPECT_EQ(done, 11);
}

TEST(Packing, DoesNotPutOffWhatKeepsMuchMemory) {
  Packing packing(2);
  std::atomic<int> done = 0;
  constexpr std::size_t kGibibyte = std::size_t{1} << 30U;
  packing.add(kGibibyte, [&] { ++done; });
  EXPECT_EQ(done, 1);
}

TEST(Packing, EndsInAnErrorWhereAJobThrows) {
  Packing packing(2);
  packing.add(1, [] { throw std::bad_alloc(); });
  try {
    packing.finish();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

TEST(Executable, ComputesTheSameHoweverManyThreadsMadeIt) {
  Random random(7);
  for (int network = 0; network < 10; ++network) {
    const Graph graph = random_network(random, 15);
    const std::vector<Tensor> inputs = random_inputs(graph, random);
    const std::vector<Tensor> expected = Executable(graph).run(inputs);
    EXPECT_EQ(Executable(graph, {.threads = 3}).run(inputs), expected) << network;
  }
}

}  // namespace
}  // namespace tare::test
