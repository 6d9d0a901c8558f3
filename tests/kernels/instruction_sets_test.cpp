// Tests every kernel on every instruction set that it is compiled for and this CPU has.
// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/amx.hpp"
#include "kernels/packed_simd.hpp"
#include "kernels/sparse.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"
#include "support/thread_count.hpp"

namespace matapprox::kernels {
namespace {

using test::kEps;

/// Restores the instruction set at the end of each test.
class RestoredInstructionSet : public ::testing::Test {
 protected:
  void TearDown() override { use_instruction_set(before_); }

 private:
  const std::string before_ = instruction_set();
};

class InstructionSet : public RestoredInstructionSet,
                       public ::testing::WithParamInterface<std::int64_t> {
 protected:
  void SetUp() override {
    allow_amx(false);
    hwy::GetChosenTarget().Update(GetParam());
  }
};

TEST_P(InstructionSet, IsTheOneThatIsUsed) {
  EXPECT_EQ(instruction_set(), std::string(hwy::TargetName(GetParam())));
}

TEST_P(InstructionSet, IsChosenByName) {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  const std::string name = hwy::TargetName(GetParam());
  use_instruction_set(name);
  EXPECT_EQ(instruction_set(), name);
  EXPECT_THROW(use_instruction_set("avx2"), InvalidArgument);
  EXPECT_EQ(instruction_set(), name);
}

TEST_P(InstructionSet, DenseProducts) {
  const Index m = 61;
  const Index k = 301;
  const Matrix A = test::random_block<Matrix>(m, k, 1);
  const Matrix At = A.transpose();
  const Matrix B = test::random_block<Matrix>(k, 23, 2);
  const Matrix C = product(A, B);
  EXPECT_LE((C - A * B).norm(), 4.0 * kEps * static_cast<double>(k) * C.norm());
  EXPECT_EQ(transpose_product(At, B), C);
  for (const Index n : {1, 2, 3, 4, 11}) {
    EXPECT_EQ(product(A, B.rightCols(n)), C.rightCols(n)) << n;
    EXPECT_EQ(transpose_product(At, B.rightCols(n)), C.rightCols(n)) << n;
  }
}

/// Single precision against double, all transposes; one panel of few rows, and several panels.
TEST_P(InstructionSet, DenseProductsInSinglePrecision) {
  const double eps = std::numeric_limits<float>::epsilon();
  const Index k = 301;
  const MatrixOf<float> B = test::random_block<MatrixOf<float>>(k, 23, 3);
  const MatrixOf<float> Bt = B.transpose();
  for (const Index m : {15, 32, 141}) {
    const MatrixOf<float> A = test::random_block<MatrixOf<float>>(m, k, 4);
    const MatrixOf<float> At = A.transpose();
    MatrixOf<float> C(m, 23);
    gemm(Trans::kNo, A, Trans::kNo, B, C);
    const Matrix expected = A.cast<double>() * B.cast<double>();
    EXPECT_LE((C.cast<double>() - expected).norm(), eps * static_cast<double>(k) * expected.norm());
    for (const Index n : {1, 2, 3, 4, 11, 23}) {
      MatrixOf<float> D(m, n);
      gemm(Trans::kYes, At, Trans::kNo, B.rightCols(n), D);
      EXPECT_EQ(D, C.rightCols(n)) << n;
      gemm(Trans::kYes, At, Trans::kYes, Bt.bottomRows(n), D);
      EXPECT_EQ(D, C.rightCols(n)) << n;
      gemm(Trans::kNo, A, Trans::kYes, Bt.bottomRows(n), D);
      EXPECT_EQ(D, C.rightCols(n)) << n;
    }
  }
}

class Amx : public RestoredInstructionSet {
 protected:
  void SetUp() override {
    if (!has_amx()) GTEST_SKIP() << "no AMX";
    use_instruction_set("AMX");
  }
};

TEST_F(Amx, IsChosenByNameAndGivenUp) {
  EXPECT_EQ(instruction_set(), std::string("AMX"));
  use_instruction_set("AVX2");
  EXPECT_EQ(instruction_set(), std::string("AVX2"));
  EXPECT_THROW(use_instruction_set("amx"), InvalidArgument);
  EXPECT_EQ(instruction_set(), std::string("AVX2"));
  use_instruction_set("AVX3");
  EXPECT_EQ(instruction_set(), std::string("AVX3"));
  use_instruction_set("AMX");
  EXPECT_EQ(instruction_set(), std::string("AMX"));
}

/// All transposes, whole and partial tiles, and more rows, columns and depths than are packed at a
/// time. The errors are those of float products, not of bfloat16, which would be 1e-3.
TEST_F(Amx, ProductsAreAsExactAsFloat) {
  struct Size {
    Index m, n, k;
  };
  for (const Size& size : {Size{64, 64, 64},
                           Size{16, 16, 16},
                           Size{33, 17, 45},
                           Size{300, 70, 600},
                           Size{61, 130, 257}}) {
    const auto [m, n, k] = size;
    const MatrixOf<float> A = test::random_block<MatrixOf<float>>(m, k, 5);
    const MatrixOf<float> B = test::random_block<MatrixOf<float>>(k, n, 6);
    const MatrixOf<float> C = test::random_block<MatrixOf<float>>(m, n, 7);
    const MatrixOf<float> At = A.transpose();
    const MatrixOf<float> Bt = B.transpose();
    const Matrix AB = A.cast<double>() * B.cast<double>();
    const Matrix expected = 0.5 * AB - 2 * C.cast<double>();
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        const Trans trans_a = a ? Trans::kYes : Trans::kNo;
        const Trans trans_b = b ? Trans::kYes : Trans::kNo;
        MatrixOf<float> D(m, n);
        gemm(trans_a, a ? At : A, trans_b, b ? Bt : B, D);
        EXPECT_LE((D.cast<double>() - AB).norm(), 5e-7 * AB.norm()) << m << a << b;
        D = C;
        gemm(trans_a, a ? At : A, trans_b, b ? Bt : B, D, 0.5F, -2);
        EXPECT_LE((D.cast<double>() - expected).norm(), 5e-7 * expected.norm()) << m << a << b;
      }
    }
  }
}

/// Numbers that bfloat16 represents exactly, and infinities and NaN, which must propagate.
TEST_F(Amx, ProductsOfSpecialNumbers) {
  const Index n = 32;
  MatrixOf<float> A = MatrixOf<float>::Identity(n, n) * 1e30F;
  const MatrixOf<float> B = test::random_block<MatrixOf<float>>(n, n, 8);
  MatrixOf<float> C(n, n);
  gemm(Trans::kNo, A, Trans::kNo, B, C);
  EXPECT_LE((C - 1e30F * B).norm(), 2e-7F * C.norm());
  for (const float special :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    A(3, 5) = special;
    gemm(Trans::kNo, A, Trans::kNo, B, C);
    EXPECT_FALSE(C.row(3).array().isFinite().any());
    EXPECT_TRUE(C.topRows(3).allFinite());
  }
}

/// C depends neither on the number of threads nor on its partition.
TEST_F(Amx, SameBitsForAnyNumberOfThreads) {
  const MatrixOf<float> A = test::random_block<MatrixOf<float>>(200, 300, 9);
  const MatrixOf<float> B = test::random_block<MatrixOf<float>>(300, 500, 10);
  const MatrixOf<float> start = test::random_block<MatrixOf<float>>(200, 500, 11);
  MatrixOf<float> first;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount scope(count);
    MatrixOf<float> C = start;
    gemm(Trans::kNo, A, Trans::kNo, B, C, 1, 1);
    if (count == 1) first = C;
    EXPECT_EQ(C, first) << count;
  }
}

/// Packs integers of `bits` bits bit by bit; only the padding that may be read follows them.
std::vector<std::uint8_t> packed_bit_by_bit(const std::vector<int>& integers, int bits) {
  std::vector<std::uint8_t> data((integers.size() * static_cast<std::size_t>(bits) + 7) / 8 + 16);
  std::size_t position = 0;
  for (const int q : integers) {
    for (int b = 0; b < bits; ++b, ++position) {
      if ((static_cast<unsigned>(q) >> static_cast<unsigned>(b) & 1U) != 0) {
        data[position / 8] |= static_cast<std::uint8_t>(1U << (position % 8));
      }
    }
  }
  return data;
}

TEST_P(InstructionSet, PackedIntegersOfEveryWidth) {
  for (int bits = 1; bits <= 16; ++bits) {
    for (const Index count : {1, 7, 8, 16, 61, 200}) {
      std::vector<int> integers;
      for (Index i = 0; i < count; ++i) {
        integers.push_back(static_cast<int>(i * 40503 % (1 << bits)) - (1 << (bits - 1)));
      }
      const std::vector<std::uint8_t> data = packed_bit_by_bit(integers, bits);
      const simd::PackedRun run{data.data(), bits, 0.5};
      const Index first = count > 8 ? 8 : 0;
      Vector expected(count - first);
      for (Index i = 0; i < expected.size(); ++i) {
        expected(i) = integers[static_cast<std::size_t>(first + i)] + 0.5;
      }
      Vector values = Vector::Constant(expected.size() + 1, -77);
      simd::packed_values(run, first, expected.size(), values.data());
      EXPECT_EQ(values.head(expected.size()), expected) << bits << " " << count;
      EXPECT_EQ(values(expected.size()), -77) << "written behind the end";
      simd::packed_values(run, first, expected.size(), values.data(), -0.3);
      EXPECT_EQ(values.head(expected.size()), -0.3 * expected) << bits << " " << count;

      const Vector x = test::random_block<Vector>(expected.size(), 3);
      const double bound = 64 * kEps * expected.norm() * x.norm();
      EXPECT_NEAR(simd::packed_dot(run, first, x.size(), x.data()), x.dot(expected), bound);
      Vector y = x;
      simd::packed_axpy(run, first, y.size(), -0.25, y.data());
      EXPECT_LE((y - (x - 0.25 * expected)).norm(),
                2 * test::rounding(3) * (x.norm() + expected.norm()));
    }
  }
}

/// Four runs of the same width or of four different ones, each with values of its own.
TEST_P(InstructionSet, FourPackedRunsAtATime) {
  for (int bits = 1; bits <= 16; ++bits) {
    for (const bool alike : {true, false}) {
      for (const Index count : {1, 8, 61}) {
        const Index all = count + 8;
        Matrix expected(count, 4);
        std::array<std::vector<std::uint8_t>, 4> data;
        std::array<simd::PackedRun, 4> runs;
        for (std::size_t k = 0; k < 4; ++k) {
          const int width = alike ? bits : (bits + 5 * static_cast<int>(k)) % 16 + 1;
          std::vector<int> integers;
          for (Index i = 0; i < all; ++i) {
            const Index step = i * (40503 + 2 * static_cast<Index>(k));
            integers.push_back(static_cast<int>(step % (1 << width)) - (1 << (width - 1)));
          }
          const double offset = static_cast<double>(k) - 1.5;
          for (Index i = 0; i < count; ++i) {
            expected(i, static_cast<Index>(k)) = integers[static_cast<std::size_t>(8 + i)] + offset;
          }
          data[k] = packed_bit_by_bit(integers, width);
          runs[k] = {data[k].data(), width, offset};
        }
        const Vector x = test::random_block<Vector>(count, 3);
        const double bound = 64 * kEps * expected.norm() * x.norm();
        Vector sums(4);
        simd::packed_dot_4(runs.data(), 8, count, x.data(), sums.data());
        EXPECT_LE((sums - expected.transpose() * x).norm(), bound) << bits << " " << count;
        const Vector factors = test::random_block<Vector>(4, 5);
        Vector y = x;
        simd::packed_axpy_4(runs.data(), 8, count, factors.data(), y.data());
        EXPECT_LE((y - (x + expected * factors)).norm(),
                  64 * kEps * (x.norm() + expected.norm() * factors.norm()))
            << bits << " " << count;
      }
    }
  }
}

TEST_P(InstructionSet, TrianglesAreMultipliedAsSymmetricMatrices) {
  for (const Index n : {1, 2, 3, 8, 9, 16, 31, 40}) {
    const Matrix A = test::random_block<Matrix>(n, n, 3);
    const Matrix S = A + A.transpose();
    const Vector x = test::random_block<Vector>(n, 4);
    for (const Index first : {Index{0}, n / 2, n - 1}) {
      for (Index last = first; last <= n; last += 3) {
        Matrix part = Matrix::Zero(n, n);
        std::vector<double> columns;
        for (Index j = first; j < last; ++j) {
          columns.insert(columns.end(), S.col(j).data(), S.col(j).data() + j + 1);
          part.col(j).head(j + 1) = S.col(j).head(j + 1);
          part.row(j).head(j + 1) = S.row(j).head(j + 1);
        }
        Vector y = Vector::Constant(n + 1, 0.5);
        simd::triangle_product(columns.data(), first, last, x.data(), y.data());
        const Vector expected = part * x + Vector::Constant(n, 0.5);
        EXPECT_LE((y.head(n) - expected).norm(),
                  2 * test::rounding(n + 2) * (S.norm() * x.norm() + std::sqrt(n)))
            << n;
        EXPECT_EQ(y(n), 0.5) << "written behind the end";
      }
    }
  }
}

TEST_P(InstructionSet, PackedIntegersWithAScaleForEach64) {
  for (const int bits : {1, 6, 8, 13, 16}) {
    std::vector<int> integers;
    for (Index i = 0; i < 300; ++i) {
      integers.push_back(static_cast<int>(i * 40503 % (1 << bits)) - (1 << (bits - 1)));
    }
    const std::vector<std::uint8_t> data = packed_bit_by_bit(integers, bits);
    const simd::PackedRun run{data.data(), bits, 0.5};
    // 1, -2, 0.5, 3, 8 as bfloat16.
    const std::array<std::uint16_t, 5> scales{0x3F80, 0xC000, 0x3F00, 0x4040, 0x4100};
    const std::array<double, 5> factors{1, -2, 0.5, 3, 8};
    for (const auto& [first, count] : {std::pair<Index, Index>{0, 300}, {56, 101}, {128, 7}}) {
      Vector values = Vector::Constant(count + 1, -77);
      simd::packed_scaled_values(run, first, count, {0.25, scales.data()}, values.data());
      for (Index i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(first + i);
        EXPECT_EQ(values(i), 0.25 * factors[at / 64] * (integers[at] + 0.5)) << bits << " " << at;
      }
      EXPECT_EQ(values(count), -77) << "written behind the end";
    }
  }
}

/// A block and the matrix that it represents.
struct LowRankExample {
  std::vector<std::uint8_t> bits;
  std::vector<std::uint16_t> scales;
  std::vector<std::uint8_t> data;
  Matrix dense;
  double size = 0;  ///< sum of the norms of the components
  simd::LowRankBlock block;
};

LowRankExample low_rank_example(
    Index rows, Index cols, Index count, int bits, int step, bool symmetric) {
  LowRankExample e{
      {}, {}, {}, Matrix::Zero(rows, cols), 0, {rows, cols, count, symmetric, 0.5, 0.5}};
  for (Index k = 0; k < count; ++k) {
    const int width = (bits + static_cast<int>(k) * step - 1) % 16 + 1;
    const auto column = [&](Index length, Index seed) {
      std::vector<int> integers;
      Vector values(length);
      for (Index i = 0; i < length; ++i) {
        const Index number = (i + 1) * (40503 + 2 * seed) % (1 << width);
        integers.push_back(static_cast<int>(number) - (1 << (width - 1)));
        values(i) = integers.back() + 0.5;
      }
      const std::vector<std::uint8_t> packed = packed_bit_by_bit(integers, width);
      e.data.insert(e.data.end(), packed.begin(), packed.begin() + (length * width + 7) / 8);
      return values;
    };
    e.bits.push_back(static_cast<std::uint8_t>(width));
    e.scales.push_back(k % 2 == 0 ? 0x3FC0 : 0xC000);  // 1.5 and -2
    const Vector u = column(rows, k);
    const Vector v = symmetric ? u : column(cols, 100 + k);
    const double scale = 0.5 * (k % 2 == 0 ? 1.5 : -2);
    e.dense += scale * u * v.transpose();
    e.size += std::abs(scale) * u.norm() * v.norm();
  }
  e.data.resize(e.data.size() + 16, 0xFF);
  return e;
}

/// All widths, equal and mixed, lengths with and without a partial last octet; nothing is written
/// after the end.
TEST_P(InstructionSet, LowRankBlocks) {
  for (int bits = 1; bits <= 16; ++bits) {
    for (const int step : {0, 5}) {
      for (const auto& [rows, cols, count] :
           {std::array<Index, 3>{8, 8, 1}, {61, 32, 2}, {1, 13, 3}, {200, 77, 4}, {32, 64, 11}}) {
        LowRankExample e = low_rank_example(rows, cols, count, bits, step, false);
        e.block.bits = e.bits.data();
        e.block.scales = e.scales.data();
        e.block.data = e.data.data();
        const Vector x = test::random_block<Vector>(cols, 3);
        const Vector z = test::random_block<Vector>(rows, 4);
        const double bound = 32 * kEps * (e.size * (x.norm() + z.norm()) + 1);
        Vector y = Vector::Constant(rows + 1, 1);
        simd::low_rank_product(e.block, x.data(), y.data());
        EXPECT_LE((y.head(rows) - Vector::Constant(rows, 1) - e.dense * x).norm(), bound) << bits;
        EXPECT_EQ(y(rows), 1);
        Vector w = Vector::Constant(cols + 1, 1);
        simd::low_rank_transpose_product(e.block, z.data(), w.data());
        EXPECT_LE((w.head(cols) - Vector::Constant(cols, 1) - e.dense.transpose() * z).norm(),
                  bound)
            << bits;
        EXPECT_EQ(w(cols), 1);
        Vector both_y = Vector::Constant(rows + 1, 1);
        Vector both_w = Vector::Constant(cols + 1, 1);
        simd::low_rank_products(e.block, x.data(), both_y.data(), z.data(), both_w.data());
        EXPECT_LE((both_y - y).norm(), bound) << bits;
        EXPECT_LE((both_w - w).norm(), bound) << bits;
        EXPECT_EQ(both_y(rows), 1);
        EXPECT_EQ(both_w(cols), 1);
      }
      LowRankExample e = low_rank_example(45, 45, 7, bits, step, true);
      e.block.bits = e.bits.data();
      e.block.scales = e.scales.data();
      e.block.data = e.data.data();
      const Vector x = test::random_block<Vector>(45, 3);
      Vector y = Vector::Zero(46);
      simd::low_rank_product(e.block, x.data(), y.data());
      EXPECT_LE((y.head(45) - e.dense * x).norm(), 32 * kEps * e.size * x.norm()) << bits;
      EXPECT_EQ(y(45), 0);
    }
  }
}

TEST_P(InstructionSet, PackedIeeeNumbersReadNothingBehindThem) {
  const Vector expected = test::random_block<Vector>(13, 4);
  std::vector<std::uint8_t> doubles(13 * 8);
  std::memcpy(doubles.data(), expected.data(), doubles.size());
  Vector values(13);
  simd::packed_values({doubles.data(), 64, 0.5}, 0, 13, values.data());
  EXPECT_EQ(values, expected);
  const Eigen::VectorXf rounded = expected.cast<float>();
  std::vector<std::uint8_t> floats(13 * 4);
  std::memcpy(floats.data(), rounded.data(), floats.size());
  simd::packed_values({floats.data(), 32, 0.5}, 0, 13, values.data());
  EXPECT_EQ(values, Vector(rounded.cast<double>()));
  const Vector x = test::random_block<Vector>(13, 5);
  EXPECT_NEAR(simd::packed_dot({doubles.data(), 64, 0}, 0, 13, x.data()),
              x.dot(expected),
              64 * kEps * x.norm() * expected.norm());
}

TEST_P(InstructionSet, ChordProductsAreEachOthersTransposes) {
  const ChordPattern pattern = chord_reference_pattern(100);
  const Vector values = test::random_block<Vector>(pattern.stored_numbers(), 5);
  const Index n = pattern.order;
  const Matrix I = Matrix::Identity(n, n);
  Matrix Z(n, n);
  Matrix Zt(n, n);
  chord_apply(pattern, values.data(), I, Z);
  chord_apply_transpose(pattern, values.data(), I, Zt);
  EXPECT_LE((Zt.transpose() - Z).norm(), 64.0 * kEps * Z.norm());
  const Matrix X = test::random_block<Matrix>(n, 7, 6);
  for (const Index b : {1, 7}) {
    Matrix Y(n, b);
    chord_apply(pattern, values.data(), X.leftCols(b), Y);
    EXPECT_LE((Y - Z * X.leftCols(b)).norm(), 1e3 * kEps * Z.norm() * X.norm());
    chord_apply_transpose(pattern, values.data(), X.leftCols(b), Y);
    EXPECT_LE((Y - Zt * X.leftCols(b)).norm(), 1e3 * kEps * Z.norm() * X.norm());
  }
}

/// f along a line is a polynomial; its slope is compared with central differences of the value
/// alone.
TEST_P(InstructionSet, ChordGradient) {
  const ChordPattern pattern = chord_reference_pattern(45);
  const Index n = pattern.order;
  const Vector values = 0.4 * test::random_block<Vector>(pattern.stored_numbers(), 7);
  const Vector direction = test::random_block<Vector>(values.size(), 8);
  const Matrix rows = test::random_block<Matrix>(n, n, 9);
  const TargetPanel target = [&](Index first, Index count, double* panel) {
    for (Index i = 0; i < n; ++i) std::copy_n(&rows(first, i), count, panel + i * count);
  };
  const auto value_at = [&](double t) {
    const Vector moved = values + t * direction;
    return chord_objective(pattern, moved.data(), target, nullptr);
  };
  Vector gradient(values.size());
  chord_objective(pattern, values.data(), target, gradient.data());
  const double h = 1e-5;
  const double slope = (value_at(h) - value_at(-h)) / (2.0 * h);
  EXPECT_NEAR(gradient.dot(direction), slope, 1e-7 * gradient.norm() * direction.norm());
}

/// Products are fused sums in one order: with a fused multiply-add the bits agree with those of the
/// best instruction set.
TEST_P(InstructionSet, ChordBitsOfProducts) {
  if (GetParam() > HWY_AVX2)
    GTEST_SKIP() << "compared from AVX2 on: what is below on x86 has no fused multiply-add";
  for (const Index n : {45, 100}) {
    const ChordPattern pattern = chord_reference_pattern(n);
    const MatrixOf<float> X = test::random_block<MatrixOf<float>>(n, 19, 10);
    const Eigen::VectorXf values =
        test::random_block<Eigen::VectorXf>(pattern.stored_numbers(), 11);
    for (const Index b : {1, 19}) {
      MatrixOf<float> Y(n, b);
      MatrixOf<float> Yt(n, b);
      chord_apply(pattern, values.data(), X.leftCols(b), Y);
      chord_apply_transpose(pattern, values.data(), X.leftCols(b), Yt);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      MatrixOf<float> best(n, b);
      chord_apply(pattern, values.data(), X.leftCols(b), best);
      EXPECT_EQ(Y, best);
      chord_apply_transpose(pattern, values.data(), X.leftCols(b), best);
      EXPECT_EQ(Yt, best);
      hwy::GetChosenTarget().Update(GetParam());
    }
  }
}

/// Single precision against double, with so many links that they are processed in several groups.
TEST_P(InstructionSet, ChordInSinglePrecision) {
  ChordPattern pattern = chord_reference_pattern(150);
  for (Index k = 9; k < 100; ++k) pattern.offsets[1].push_back(k);
  const Index n = pattern.order;
  const Vector values =
      (0.3 * test::random_block<Vector>(pattern.stored_numbers(), 12)).cast<float>().cast<double>();
  const Eigen::VectorXf rounded = values.cast<float>();
  const Matrix X = test::random_block<Matrix>(n, n, 13).cast<float>().cast<double>();
  const float eps = std::numeric_limits<float>::epsilon();
  for (const Index b : {1, 3, 33}) {
    Matrix Y(n, b);
    MatrixOf<float> Z(n, b);
    chord_apply(pattern, values.data(), X.leftCols(b), Y);
    chord_apply(pattern, rounded.data(), X.leftCols(b).cast<float>(), Z);
    EXPECT_LE((Z.cast<double>() - Y).norm(), 64.0 * eps * Y.norm());
    chord_apply_transpose(pattern, values.data(), X.leftCols(b), Y);
    chord_apply_transpose(pattern, rounded.data(), X.leftCols(b).cast<float>(), Z);
    EXPECT_LE((Z.cast<double>() - Y).norm(), 64.0 * eps * Y.norm());
  }
  const auto fill = [&](Index first, Index count, auto* panel) {
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < count; ++c) {
        panel[i * count + c] = static_cast<std::remove_pointer_t<decltype(panel)>>(X(i, first + c));
      }
    }
  };
  Vector gradient(values.size());
  Eigen::VectorXf rounded_gradient(values.size());
  const double f = chord_objective(pattern, values.data(), fill, gradient.data());
  EXPECT_NEAR(
      chord_objective(pattern, rounded.data(), fill, rounded_gradient.data()), f, 64.0 * eps * f);
  EXPECT_LE((rounded_gradient.cast<double>() - gradient).norm(), 256.0 * eps * gradient.norm());
}

TEST_P(InstructionSet, SparseProducts) {
  Matrix dense = test::random_block<Matrix>(90, 70, 14);
  dense = (dense.array() > 0.6).select(dense, 0.0);
  const SparseMatrix A = dense.sparseView();
  for (const Index b : {1, 2, 5, 19}) {
    const Matrix X = test::random_block<Matrix>(70, b, 15);
    Matrix Y(90, b);
    sparse_apply(A, X, Y);
    EXPECT_LE((Y - dense * X).norm(), 64.0 * kEps * dense.norm() * X.norm()) << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Compiled,
                         InstructionSet,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& set) { return std::string(hwy::TargetName(set.param)); });

}  // namespace
}  // namespace matapprox::kernels
