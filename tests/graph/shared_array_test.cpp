#include "tare/tensor.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Reals = SharedArray<float>;

TEST(SharedArray, SharesItsElementsWithCopies) {
  const Reals one{1, 2, 3};
  const Reals other = one;
  EXPECT_EQ(one.data(), other.data());
}

TEST(SharedArray, LeavesCopiesAsTheyAreWhenItChanges) {
  const Reals before{1, 2, 3};
  Reals after = before;
  after.mutable_view()[1] = 7;
  EXPECT_EQ(before, (Reals{1, 2, 3}));
  EXPECT_EQ(after, (Reals{1, 7, 3}));
}

TEST(SharedArray, ChangesInPlaceWhatItDoesNotShare) {
  Reals alone{1, 2, 3};
  const float* const place = alone.data();
  alone.mutable_view()[0] = 5;
  EXPECT_EQ(alone.data(), place);
}

TEST(SharedArray, IsEqualByItsElements) {
  EXPECT_EQ((Reals{1, 2}), Reals(std::vector<float>{1, 2}));
  EXPECT_NE((Reals{1, 2}), (Reals{1, 3}));
  EXPECT_NE((Reals{1, 2}), (Reals{1}));
  EXPECT_EQ(Reals(), Reals(std::size_t{0}));
  EXPECT_EQ(Reals(std::size_t{2}), (Reals{0, 0}));
}

TEST(SharedArray, IsEmptyAfterItWasMovedFrom) {
  Reals from{1, 2};
  const Reals to = std::move(from);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): it says so
  EXPECT_EQ(to, (Reals{1, 2}));
}

TEST(SharedArray, GrowsByElementsAtItsEnd) {
  Reals array;
  const Reals copy = array;
  array.push_back(4);
  array.push_back(5);
  EXPECT_EQ(array, (Reals{4, 5}));
  EXPECT_EQ(array.to_vector(), (std::vector<float>{4, 5}));
  EXPECT_EQ(array.front(), 4);
  EXPECT_EQ(array.back(), 5);
  EXPECT_TRUE(copy.empty());
}

}  // namespace
}  // namespace tare::test
