#include "methods/truncated_svd/krylov_space.hpp"

#include <gtest/gtest.h>

namespace matapprox {
namespace {

Vector values(std::initializer_list<double> list) {
  Vector v(static_cast<Index>(list.size()));
  std::copy(list.begin(), list.end(), v.data());
  return v;
}

TEST(MayLackCopies, AsManyCopiesAsStartingColumnsAreSuspect) {
  const Vector found = values({3, 3, 2, 1});
  EXPECT_TRUE(may_lack_copies(found, {}, 4, 2, 1e-6));
  EXPECT_FALSE(may_lack_copies(found, {}, 4, 3, 1e-6));
}

TEST(MayLackCopies, CopiesOfTheLeastValueDoNotMatter) {
  EXPECT_FALSE(may_lack_copies(values({3, 2, 2, 2}), {}, 4, 2, 1e-6));
  EXPECT_FALSE(may_lack_copies(values({3, 2, 2, 1}), {}, 3, 2, 1e-6));  // the last is not wanted
}

TEST(MayLackCopies, EigenvaluesOfOppositeSignsAreNoCopies) {
  EXPECT_FALSE(may_lack_copies(values({3, -3, 2, -2, 1}), {}, 5, 2, 1e-6));
  EXPECT_TRUE(may_lack_copies(values({3, -3, -3, 2, 1}), {}, 5, 2, 1e-6));
}

TEST(MayLackCopies, WhatWasKnownBeforeDoesNotCount) {
  EXPECT_FALSE(may_lack_copies(values({3, 3, 3, 1}), values({3, 3, 2, 1}), 4, 2, 1e-6));
  EXPECT_TRUE(may_lack_copies(values({3, 3, 3, 3, 1}), values({3, 3, 2, 1, 1}), 5, 2, 1e-6));
}

TEST(MayLackCopies, WithinTheSpread) {
  EXPECT_TRUE(may_lack_copies(values({3, 2.99, 1}), {}, 3, 2, 1e-2));
  EXPECT_FALSE(may_lack_copies(values({3, 2.99, 1}), {}, 3, 2, 1e-3));
  EXPECT_FALSE(may_lack_copies(values({0, 0, 0}), {}, 3, 2, 1e-3));
}

}  // namespace
}  // namespace matapprox
