#include "methods/truncated_svd/krylov_space.hpp"

#include <gtest/gtest.h>

#include "matapprox/operators/dense.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

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
  EXPECT_FALSE(may_lack_copies(values({3, 2, 2, 1}), {}, 3, 2, 1e-6));  // the last value is not
                                                                        // requested
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

// A loaded space draws the next random columns, not those drawn before.
TEST(KrylovSpace, ResumesWhereItWasSaved) {
  const Matrix B = test::random_matrix(60, 60);
  const DenseOperator A(B + B.transpose());
  const KrylovSpaceOptions options{2, 30, 1};
  const auto expect_same = [](const KrylovSpace& found, const KrylovSpace& expected) {
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_SAME_BITS(found.ritz().values, expected.ritz().values);
    EXPECT_SAME_BITS(found.ritz().residuals, expected.ritz().residuals);
    EXPECT_SAME_BITS(found.host_triplets(found.ritz(), 3).V,
                     expected.host_triplets(expected.ritz(), 3).V);
  };
  for (const auto make : {lanczos_space, golub_kahan_space}) {
    const auto space = make(A, options);
    for (int steps = 0; steps < 3; ++steps) space->step();
    for (const bool deflated : {false, true}) {
      SCOPED_TRACE(deflated);
      if (deflated) space->deflate(space->ritz(), 3, 2);
      ResumeState state;
      space->save(state);
      const auto other = make(A, options);
      other->load(state);
      if (!deflated) expect_same(*other, *space);
      for (KrylovSpace* each : {space.get(), other.get()}) {
        each->step();
        each->restart(each->ritz(), 3);
        each->step();
        each->deflate(each->ritz(), 3, 2);
        each->step();
      }
      expect_same(*other, *space);
    }
  }
}

}  // namespace
}  // namespace matapprox
