#include "matapprox/factors/block_matrix.hpp"

#include <gtest/gtest.h>

#include "factors/leaf_reader.hpp"
#include "factors/quantizer.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using BlockContent = BlockMatrix::Content;

std::vector<std::int32_t> some_integers(Index count, int bits, int seed) {
  std::vector<std::int32_t> integers;
  for (Index i = 0; i < count; ++i) {
    integers.push_back(static_cast<std::int32_t>((i + seed) * 7919 % (1 << bits)) -
                       (1 << (bits - 1)));
  }
  return integers;
}

Vector values_of(const std::vector<std::int32_t>& integers, double offset) {
  Vector values(static_cast<Index>(integers.size()));
  for (Index i = 0; i < values.size(); ++i) {
    values(i) = integers[static_cast<std::size_t>(i)] + offset;
  }
  return values;
}

/// A content, and the matrix that it represents, assembled entry by entry.
struct Expected {
  BlockContent content;
  Matrix dense;
};

void add_block(Expected& e, const BlockLeaf& leaf, const Matrix& block) {
  e.dense.block(leaf.row, leaf.column, leaf.rows, leaf.columns) += block;
  if (e.content.symmetric && leaf.row != leaf.column) {
    e.dense.block(leaf.column, leaf.row, leaf.columns, leaf.rows) += block.transpose();
  }
}

void add_low_rank(Expected& e, BlockLeaf leaf, const std::vector<int>& bits) {
  const bool on_diagonal = e.content.symmetric && leaf.row == leaf.column;
  leaf.count = static_cast<Index>(bits.size());
  Matrix block = Matrix::Zero(leaf.rows, leaf.columns);
  int seed = 1;
  for (const int b : bits) {
    const auto u = some_integers(leaf.rows, b, seed++);
    const auto v = on_diagonal ? u : some_integers(leaf.columns, b, seed++);
    const float scale = seed % 2 == 0 ? 0.25F : -1.5F;
    e.content.bits.push_back(static_cast<std::uint8_t>(b));
    e.content.scales.push_back(to_bfloat16(scale));
    append_packed(u, b, e.content.data);
    if (!on_diagonal) append_packed(v, b, e.content.data);
    block += e.content.unit * static_cast<double>(scale) * values_of(u, e.content.offset) *
             values_of(v, e.content.offset).transpose();
  }
  e.content.leaves.push_back(leaf);
  add_block(e, leaf, block);
}

/// Scales 1, 2, 3, ... per group of 64 values.
double group_scale(Index value, BlockContent& content, int bits) {
  if (bits > 16) return 1;
  const Index group = value / 64;
  if (value % 64 == 0) content.scales.push_back(to_bfloat16(static_cast<float>(group + 1)));
  return static_cast<double>(group + 1);
}

void add_dense(Expected& e, BlockLeaf leaf, int bits) {
  const bool on_diagonal = e.content.symmetric && leaf.row == leaf.column;
  leaf.kind = LeafKind::kDense;
  const Index count = on_diagonal ? leaf.rows * (leaf.rows + 1) / 2 : leaf.rows * leaf.columns;
  e.content.bits.push_back(static_cast<std::uint8_t>(bits));
  Vector values;
  if (bits > 16) {
    values = test::random_matrix(count, 1).cast<float>().cast<double>();
    append_ieee({values.data(), static_cast<std::size_t>(count)}, bits, e.content.data);
  } else {
    const auto integers = some_integers(count, bits, 5);
    values = values_of(integers, e.content.offset);
    append_packed(integers, bits, e.content.data);
  }
  Matrix block = Matrix::Zero(leaf.rows, leaf.columns);
  Index at = 0;
  for (Index j = 0; j < leaf.columns; ++j) {
    for (Index i = 0; i < (on_diagonal ? j + 1 : leaf.rows); ++i, ++at) {
      block(i, j) = e.content.unit * group_scale(at, e.content, bits) * values(at);
      if (on_diagonal) block(j, i) = block(i, j);
    }
  }
  e.content.leaves.push_back(leaf);
  add_block(e, leaf, block);
}

void add_sparse(Expected& e, BlockLeaf leaf, const std::vector<Index>& places, int bits) {
  const bool on_diagonal = e.content.symmetric && leaf.row == leaf.column;
  leaf.kind = LeafKind::kSparse;
  leaf.count = static_cast<Index>(places.size());
  e.content.bits.push_back(static_cast<std::uint8_t>(bits));
  const auto integers = some_integers(leaf.count, bits, 11);
  Matrix block = Matrix::Zero(leaf.rows, leaf.columns);
  Index previous = -1;
  for (std::size_t k = 0; k < places.size(); ++k) {
    append_base_128(places[k] - previous - 1, e.content.data);
    previous = places[k];
    const Index i = places[k] % leaf.rows;
    const Index j = places[k] / leaf.rows;
    block(i, j) = e.content.unit * group_scale(static_cast<Index>(k), e.content, bits) *
                  (integers[k] + e.content.offset);
    if (on_diagonal) block(j, i) = block(i, j);
  }
  append_packed(integers, bits, e.content.data);
  e.content.leaves.push_back(leaf);
  add_block(e, leaf, block);
}

/// All kinds of leaf, two layers, gaps without stored values.
Expected general() {
  Expected e;
  e.content.rows = 150;
  e.content.cols = 130;
  e.content.unit = 0.5;
  e.content.offset = 0.5;
  e.dense = Matrix::Zero(150, 130);
  add_low_rank(e, {0, 100, 0, 70, LeafKind::kLowRank}, {16, 12, 8, 3, 1});
  add_dense(e, {100, 50, 0, 33}, 5);
  add_dense(e, {0, 37, 70, 60}, 32);
  add_sparse(e, {100, 50, 60, 70}, {0, 1, 200, 201, 1700, 3499}, 7);
  add_low_rank(e, {37, 63, 70, 60, LeafKind::kLowRank}, {4});
  e.content.layers = {5, 1};
  add_dense(e, {20, 90, 10, 100}, 6);
  return e;
}

Expected symmetric() {
  Expected e;
  e.content.rows = 120;
  e.content.cols = 120;
  e.content.symmetric = true;
  e.content.offset = 0.5;
  e.dense = Matrix::Zero(120, 120);
  add_low_rank(e, {0, 50, 0, 50, LeafKind::kLowRank}, {8, 8, 4});
  add_dense(e, {50, 40, 50, 40}, 6);
  add_low_rank(e, {0, 50, 50, 70, LeafKind::kLowRank}, {6, 3});
  add_sparse(e, {90, 30, 90, 30}, {0, 31, 60, 93, 899}, 8);
  add_sparse(e, {50, 40, 90, 30}, {7, 8, 1000}, 4);
  return e;
}

/// Enough work to be divided into many parts; some rows are nearly empty.
Expected many_parts(bool is_symmetric) {
  Expected e;
  e.content.rows = 340;
  e.content.cols = 340;
  e.content.symmetric = is_symmetric;
  e.content.offset = 0.5;
  e.dense = Matrix::Zero(340, 340);
  std::vector<int> bits;
  for (int k = 0; k < 9; ++k) bits.insert(bits.end(), {12, 8, 6, 4, 3});
  for (Index i = 0; i < 4; ++i) {
    for (Index j = is_symmetric ? i : 0; j < 4; ++j) {
      if (i == 2 || (is_symmetric && j == 2)) continue;
      add_low_rank(e, {85 * i, 85, 85 * j, 85, LeafKind::kLowRank}, bits);
    }
  }
  // Products with IEEE numbers use a different code path.
  e.content.bits.push_back(32);
  e.content.scales.push_back(to_bfloat16(2));
  const Matrix factors = test::random_matrix(40, 2).cast<float>().cast<double>();
  append_ieee({factors.data(), 80}, 32, e.content.data);
  const BlockLeaf leaf{170, 40, 300, 40, LeafKind::kLowRank, 1};
  e.content.leaves.push_back(leaf);
  e.content.layers = {static_cast<Index>(e.content.leaves.size()) - 1, 1};
  add_block(e, leaf, 2 * factors.col(0) * factors.col(1).transpose());
  return e;
}

void expect_products(const Expected& e) {
  const BlockMatrix A(e.content);
  EXPECT_CLOSE(A.columns(index_range(0, A.cols())), e.dense, 1e-14);
  EXPECT_CLOSE(A.rows_at(index_range(0, A.rows())), e.dense.transpose(), 1e-14);
  const std::vector<Index> some{3, 99, 3, 0, 71};
  Matrix chosen(A.rows(), 5);
  for (Index c = 0; c < 5; ++c) chosen.col(c) = e.dense.col(some[static_cast<std::size_t>(c)]);
  EXPECT_CLOSE(A.columns(some), chosen, 1e-14);
  for (const Index b : {1, 3, 4, 40, 70}) {
    const Matrix X = test::random_matrix(A.cols(), b, 2);
    const Matrix Y = test::random_matrix(A.rows(), b, 3);
    EXPECT_CLOSE(A.apply(X), e.dense * X, 1e-13);
    EXPECT_CLOSE(A.apply_transpose(Y), e.dense.transpose() * Y, 1e-13);
  }
}

TEST(BlockMatrix, ProductsAreThoseOfTheLeaves) { expect_products(general()); }
TEST(BlockMatrix, ASymmetricOneStandsForItsMirrorImage) {
  const Expected e = symmetric();
  expect_products(e);
  EXPECT_EQ(e.dense, Matrix(e.dense.transpose()));
}
TEST(BlockMatrix, PartsOfTheWorkAddUp) {
  for (const bool is_symmetric : {false, true}) expect_products(many_parts(is_symmetric));
}

// Four parts with 528,000 sums per column are too many for 64 columns at a time.
TEST(BlockMatrix, ManyColumnsOfATallOneComeInTurn) {
  constexpr Index kRows = 132000;
  constexpr Index kColumns = 61;
  Expected e;
  e.content.rows = kRows;
  e.content.cols = 8;
  e.dense = Matrix::Zero(kRows, 8);
  for (const Index column : {0, 2, 4, 6})
    add_low_rank(e, {0, kRows, column, 2, LeafKind::kLowRank}, std::vector<int>(17, 2));
  const BlockMatrix A(e.content);
  const Matrix X = test::random_matrix(8, kColumns, 2);
  EXPECT_CLOSE(A.apply(X), e.dense * X, 1e-13);
}

TEST(BlockMatrix, AnEmptyOneIsZero) {
  BlockContent content;
  content.rows = 3;
  content.cols = 4;
  const BlockMatrix A(content);
  EXPECT_EQ(A.apply(Matrix::Ones(4, 2)), Matrix(Matrix::Zero(3, 2)));
  EXPECT_EQ(A.storage().numbers, 0);
  EXPECT_EQ(A.storage().bytes, 0);
}

TEST(BlockMatrix, BitsDoNotDependOnTheThreads) {
  for (const Expected& e : {general(), symmetric(), many_parts(false), many_parts(true)}) {
    const BlockMatrix A(e.content);
    const Matrix X = test::random_matrix(A.cols(), 3, 2);
    const test::ThreadCount one(1);
    const Matrix AX = A.apply(X);
    const test::ThreadCount several(4);
    EXPECT_SAME_BITS(A.apply(X), AX);
  }
}

TEST(BlockMatrix, CountsValuesAndAllBytes) {
  const Expected e = symmetric();
  const BlockMatrix A(e.content);
  const Index values = 3 * 50 + 40 * 41 / 2 + 2 * (50 + 70) + 5 + 3;
  EXPECT_EQ(A.storage().numbers, values);
  EXPECT_EQ(A.storage().bytes,
            static_cast<Index>(e.content.data.size() + e.content.bits.size() +
                               2 * e.content.scales.size()) +
                6 * 5);  // no index above 255: one byte each
}

TEST(BlockMatrix, SaysWhatEachLeafTakesAndHowLargeItsComponentsAre) {
  Expected one = symmetric();
  add_low_rank(one, {100, 20, 100, 20, LeafKind::kLowRank}, {5});
  one.content.layers = {5, 1};
  for (const Expected& e : {general(), one}) {
    const BlockMatrix B(e.content);
    Index bytes = 0;
    for (std::size_t leaf = 0; leaf < B.content().leaves.size(); ++leaf) {
      bytes += B.leaf_bytes(leaf);
      const BlockLeaf& block = B.content().leaves[leaf];
      const Vector norms = B.component_norms(leaf);
      EXPECT_EQ(norms.size(), block.kind == LeafKind::kLowRank ? block.count : 0);
      if (block.kind == LeafKind::kLowRank && block.count == 1) {
        EXPECT_NEAR(norms(0), B.leaf_values(leaf).norm(), 1e-12 * norms(0));
      }
    }
    EXPECT_EQ(bytes,
              static_cast<Index>(B.content().bits.size() + 2 * B.content().scales.size() +
                                 B.data().size()));
  }
}

TEST(BlockMatrix, RefusesWhatDoesNotFitTogether) {
  const BlockContent right = general().content;
  const auto refused = [&](const std::function<void(BlockContent&)>& change, const char* why) {
    BlockContent wrong = right;
    change(wrong);
    EXPECT_REFUSED(InvalidArgument, BlockMatrix(std::move(wrong)), why);
  };
  refused([](BlockContent& c) { c.leaves[1].row = 99; }, "overlap");
  refused([](BlockContent& c) { c.layers.clear(); }, "overlap");
  refused([](BlockContent& c) { c.layers = {5, 2}; }, "more leaves");
  refused([](BlockContent& c) { c.layers = {5}; }, "fewer leaves");
  refused([](BlockContent& c) { c.layers = {-1, 7}; }, "more leaves");
  refused([](BlockContent& c) { c.leaves[1].row = 101; }, "exceeds the matrix");
  refused([](BlockContent& c) { c.leaves[1].columns = Index{1} << 62; }, "exceeds the matrix");
  refused([](BlockContent& c) { c.leaves[0].count = 0; }, "rank or count 0");
  refused([](BlockContent& c) { c.leaves[0].count = 1000; }, "");
  refused([](BlockContent& c) { c.bits[0] = 17; }, "values of 17 bits");
  refused([](BlockContent& c) { c.bits[0] = 0; }, "values of 0 bits");
  refused([](BlockContent& c) { c.bits.pop_back(); }, "fewer widths");
  refused([](BlockContent& c) { c.bits.push_back(3); }, "more widths");
  refused([](BlockContent& c) { c.scales.pop_back(); }, "fewer scales");
  refused([](BlockContent& c) { c.scales[0] = 0x7F80; }, "a scale is not finite");
  refused([](BlockContent& c) { c.data.pop_back(); }, "the data end");
  refused([](BlockContent& c) { c.data.push_back(0); }, "more widths, scales or data");
  refused([](BlockContent& c) { c.unit = std::numeric_limits<double>::infinity(); }, "not finite");
  BlockContent lower = symmetric().content;
  std::swap(lower.leaves[2].row, lower.leaves[2].column);
  std::swap(lower.leaves[2].rows, lower.leaves[2].columns);
  EXPECT_REFUSED(InvalidArgument, BlockMatrix(std::move(lower)), "below the diagonal");
  BlockContent narrow = right;
  narrow.symmetric = true;
  EXPECT_REFUSED(InvalidArgument, BlockMatrix(std::move(narrow)), "is square");
}

TEST(BlockMatrix, RefusesEntriesOutsideOfASparseLeaf) {
  Expected e;
  e.content.rows = 10;
  e.content.cols = 10;
  e.dense = Matrix::Zero(10, 10);
  add_sparse(e, {0, 10, 0, 10}, {5, 99}, 8);
  EXPECT_NO_THROW(BlockMatrix{e.content});
  BlockContent outside = e.content;
  outside.data[1] += 1;
  EXPECT_REFUSED(InvalidArgument, BlockMatrix(std::move(outside)), "lies outside");
  BlockContent endless = e.content;
  endless.data.assign(12, 0xFF);
  EXPECT_REFUSED(InvalidArgument, BlockMatrix(std::move(endless)), "lies outside");
  BlockContent below = e.content;
  below.symmetric = true;  // position 5 is row 5, column 0
  EXPECT_REFUSED(InvalidArgument, BlockMatrix(std::move(below)), "below the diagonal");
}

TEST(Base128, ReadsBackWhatWasWritten) {
  for (const Index number : {Index{0}, Index{127}, Index{128}, Index{1} << 40, (Index{1} << 62)}) {
    std::vector<std::uint8_t> data;
    append_base_128(number, data);
    const std::uint8_t* position = data.data();
    EXPECT_EQ(read_base_128(position, data.data() + data.size()), number);
    EXPECT_EQ(position, data.data() + data.size());
    position = data.data();
    EXPECT_EQ(read_base_128(position, data.data() + data.size() - 1), -1);
  }
}

}  // namespace
}  // namespace matapprox
