// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <string>
#include <vector>

#include "attention/kernels/elementwise.hpp"

namespace matapprox::kernels {
namespace {

/// Tests every function on every instruction set that it is compiled for and this CPU has.
class RowVector : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
};

INSTANTIATE_TEST_SUITE_P(Compiled,
                         RowVector,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& set) { return std::string(hwy::TargetName(set.param)); });

/// Rows, columns and the stride of the rows: narrow and wide ones, with gaps and without, and more
/// rows than a period of narrow ones.
struct Shape {
  Index rows;
  Index columns;
  Index stride;
};
constexpr Shape kShapes[] = {{0, 3, 3},
                             {1, 1, 1},
                             {5, 1, 4},
                             {9, 7, 7},
                             {70, 11, 11},
                             {33, 31, 31},
                             {4, 32, 32},
                             {3, 33, 40},
                             {6, 110, 110},
                             {2, 200, 203},
                             {3, 0, 2}};

// Value of the entries between and after the rows, and after the vector; no function may change it.
constexpr double kUntouched = 42;

template <class T>
T number(Index i) {
  return static_cast<T>(i * i % 1009 - 500) / T{7};
}

template <class T>
std::vector<T> matrix_of(const Shape& shape, Index phase) {
  std::vector<T> X(static_cast<std::size_t>(shape.rows * shape.stride + 1), T{kUntouched});
  for (Index i = 0; i < shape.rows; ++i) {
    for (Index j = 0; j < shape.columns; ++j) {
      X[static_cast<std::size_t>(i * shape.stride + j)] =
          number<T>(phase + 3 * i * shape.columns + j);
    }
  }
  return X;
}

template <class T>
std::vector<T> vector_of(Index columns) {
  std::vector<T> b(static_cast<std::size_t>(columns + 1), T{kUntouched});
  for (Index j = 0; j < columns; ++j) b[static_cast<std::size_t>(j)] = number<T>(11 * j + 2);
  return b;
}

template <class T, class Function>
void over_entries(const Shape& shape, const Function& function) {
  for (Index i = 0; i < shape.rows; ++i) {
    for (Index j = 0; j < shape.columns; ++j) {
      function(static_cast<std::size_t>(i * shape.stride + j), static_cast<std::size_t>(j));
    }
  }
}

template <class T>
void expect_functions(const Shape& shape) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << ", " << shape.stride);
  const std::vector<T> b = vector_of<T>(shape.columns);
  const std::vector<T> given = matrix_of<T>(shape, 1);

  std::vector<T> X = given;
  std::vector<T> expected = given;
  over_entries<T>(shape, [&](std::size_t at, std::size_t j) { expected[at] += b[j]; });
  add_to_rows(b.data(), X.data(), shape.rows, shape.columns, shape.stride);
  EXPECT_EQ(X, expected);

  std::vector<T> sum = b;
  std::vector<T> expected_sum = b;
  over_entries<T>(shape, [&](std::size_t at, std::size_t j) { expected_sum[j] += given[at]; });
  sum_rows(given.data(), shape.rows, shape.columns, shape.stride, sum.data());
  EXPECT_EQ(sum, expected_sum);

  if (shape.stride != shape.columns) return;
  const std::vector<T> S = matrix_of<T>(shape, 5);
  X = expected = given;
  sum = expected_sum = b;
  over_entries<T>(shape, [&](std::size_t at, std::size_t j) {
    expected[at] *= S[at];
    expected_sum[j] += expected[at];
  });
  scale_and_sum_rows(S.data(), X.data(), shape.rows, shape.columns, sum.data());
  EXPECT_EQ(X, expected);
  EXPECT_EQ(sum, expected_sum);
}

TEST_P(RowVector, HasTheBitsOfLoopsAndTouchesNothingElse) {
  for (const Shape& shape : kShapes) {
    expect_functions<float>(shape);
    expect_functions<double>(shape);
  }
}

}  // namespace
}  // namespace matapprox::kernels
