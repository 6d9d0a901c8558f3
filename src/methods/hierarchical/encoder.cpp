#include "methods/hierarchical/encoder.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "factors/leaf_reader.hpp"
#include "factors/quantizer.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

constexpr Index kTripletOversampling = 16;
constexpr int kPowerSteps = 2;

/// What one leaf adds to the arrays of a block matrix.
struct EncodedLeaf {
  BlockLeaf leaf;
  std::vector<std::uint8_t> bits;
  std::vector<std::uint16_t> scales;
  std::vector<std::uint8_t> data;
  double squared_error = 0;
};

/// What a node is stored as: leaves of the first and of the second layer, and the squared error.
struct EncodedNode {
  std::optional<EncodedLeaf> leaf;
  std::optional<EncodedLeaf> remainder;
  double squared_error = 0;
};

/// Orthonormal columns that span about the range of the leading triplets of B.
Matrix leading_range(const ConstBlock& B, Index count, std::uint64_t seed) {
  const Index width = std::min(count + kTripletOversampling, std::min(B.rows(), B.cols()));
  const Matrix start = random_normal_matrix(seed, RandomStream::kSketch, B.cols(), width);
  Matrix Q = kernels::thin_qr(kernels::product(B, start));
  for (int step = 0; step < kPowerSteps; ++step) {
    Q = kernels::thin_qr(kernels::transpose_product(B, Q));
    Q = kernels::thin_qr(kernels::product(B, Q));
  }
  return Q;
}

/// Left singular vectors from B B^T: right to rounding over the ratio of singular values, which the
/// rounding to at most 16 bits hides down to about 1e-6.
constexpr double kMinGramRatio = 1e-12;

/// The `count` leading left singular vectors of B, m x n, `accurate` to rounding: of all of it, or
/// of its part in a subspace that holds them nearly.
Matrix left_vectors(const ConstBlock& B, Index count, bool accurate, std::uint64_t seed) {
  const auto leading_of = [count, accurate](const Matrix& C) {
    if (accurate || C.rows() > C.cols()) return Matrix(kernels::svd(C).U.leftCols(count));
    kernels::SymmetricEigen pairs =
        kernels::symmetric_eigen(kernels::product(kernels::Trans::kNo, C, kernels::Trans::kYes, C));
    const Index last = C.rows() - count;
    if (pairs.values(last) < kMinGramRatio * pairs.values(C.rows() - 1)) {
      return Matrix(kernels::svd(C).U.leftCols(count));
    }
    return Matrix(pairs.vectors.rightCols(count).rowwise().reverse());
  };
  if (std::min(B.rows(), B.cols()) <= 2 * (count + kTripletOversampling)) return leading_of(B);
  const Matrix Q = leading_range(B, count, seed);
  return kernels::product(Q, leading_of(kernels::transpose_product(Q, B)));
}

struct Eigenpairs {
  Vector values;
  Matrix vectors;
};

/// Those of the `count` largest |values| of a symmetric B.
Eigenpairs leading_eigenpairs(const ConstBlock& B, Index count, std::uint64_t seed) {
  kernels::SymmetricEigen all;
  if (B.rows() <= 2 * (count + kTripletOversampling)) {
    all = kernels::symmetric_eigen(Matrix(B));
  } else {
    const Matrix Q = leading_range(B, count, seed);
    all = kernels::symmetric_eigen(kernels::transpose_product(Q, kernels::product(B, Q)));
    all.vectors = kernels::product(Q, all.vectors);
  }
  std::vector<Index> order(static_cast<std::size_t>(all.values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(all.values(a)) > std::abs(all.values(b));
  });
  Eigenpairs leading{Vector(count), Matrix(B.rows(), count)};
  for (Index k = 0; k < count; ++k) {
    leading.values(k) = all.values(order[static_cast<std::size_t>(k)]);
    leading.vectors.col(k) = all.vectors.col(order[static_cast<std::size_t>(k)]);
  }
  return leading;
}

/// The values that a column comes back as, over its scale, and its bytes appended to `data`.
Vector quantized_column(const Vector& column,
                        int bits,
                        double scale,
                        std::vector<std::uint8_t>& data) {
  const std::span<const double> values(column.data(), static_cast<std::size_t>(column.size()));
  if (bits > 16) {
    const Vector scaled = column / scale;
    append_ieee({scaled.data(), values.size()}, bits, data);
    return bits == 64 ? scaled : Vector(scaled.cast<float>().cast<double>());
  }
  std::vector<std::int32_t> integers(values.size());
  quantize(values, bits, scale, integers.data());
  append_packed(integers, bits, data);
  Vector result(column.size());
  for (Index i = 0; i < column.size(); ++i) {
    result(i) = integers[static_cast<std::size_t>(i)] + kQuantizerOffset;
  }
  return result;
}

double column_scale(const Vector& column, int bits) {
  if (bits > 16) return 1;
  return static_cast<double>(
      quantizer_scale({column.data(), static_cast<std::size_t>(column.size())}, bits));
}

/// U of the leading triplets in few bits, V = B^T U (U^T U)^-1 in as many. Returns what is left of
/// B.
Matrix encode_low_rank(const ConstBlock& B,
                       const std::vector<int>& bits,
                       std::uint64_t seed,
                       EncodedLeaf& leaf) {
  const auto rank = static_cast<Index>(bits.size());
  const bool accurate = std::any_of(bits.begin(), bits.end(), [](int b) { return b > 16; });
  const Matrix U = left_vectors(B, rank, accurate, seed);
  Matrix rounded(U.rows(), rank);
  std::vector<std::vector<std::uint8_t>> left(bits.size());
  for (Index k = 0; k < rank; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Vector column = U.col(k);
    rounded.col(k) = quantized_column(column, bits[at], column_scale(column, bits[at]), left[at]);
  }
  // In units in which the columns have length one, for the condition of what is solved.
  const Vector lengths = rounded.colwise().norm().cwiseMax(1e-300).transpose();
  const Matrix unit = rounded * lengths.cwiseInverse().asDiagonal();
  const Matrix gram = kernels::transpose_product(unit, unit);
  const Matrix projected = kernels::transpose_product(B, unit);
  Matrix V = gram.ldlt().solve(projected.transpose()).transpose();
  V *= lengths.cwiseInverse().asDiagonal();
  Matrix values(B.cols(), rank);
  for (Index k = 0; k < rank; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Vector column = V.col(k);
    const double scale = column_scale(column, bits[at]);
    leaf.bits.push_back(static_cast<std::uint8_t>(bits[at]));
    leaf.scales.push_back(to_bfloat16(static_cast<float>(scale)));
    leaf.data.insert(leaf.data.end(), left[at].begin(), left[at].end());
    values.col(k) = scale * quantized_column(column, bits[at], scale, leaf.data);
  }
  return B - kernels::product(kernels::Trans::kNo, rounded, kernels::Trans::kYes, values);
}

/// sum of s_k u_k u_k^T: the step of u_k is chosen so that s_k, a bfloat16, times its square is the
/// eigenvalue. Returns what is left of B.
Matrix encode_symmetric(const ConstBlock& B,
                        const std::vector<int>& bits,
                        std::uint64_t seed,
                        EncodedLeaf& leaf) {
  const auto rank = static_cast<Index>(bits.size());
  const Eigenpairs pairs = leading_eigenpairs(B, rank, seed);
  Matrix rounded(B.rows(), rank);
  Vector scales(rank);
  for (Index k = 0; k < rank; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Vector column = pairs.vectors.col(k);
    const double size = std::abs(pairs.values(k));
    const double wanted = column_scale(column, bits[at]);
    const std::uint16_t stored = to_bfloat16(static_cast<float>(
        std::copysign(size > 0 && bits[at] > 16 ? 1 : size * wanted * wanted, pairs.values(k))));
    scales(k) = static_cast<double>(from_bfloat16(stored));
    const double step = size > 0 ? std::sqrt(std::abs(scales(k)) / size) : 1;
    leaf.bits.push_back(static_cast<std::uint8_t>(bits[at]));
    leaf.scales.push_back(stored);
    rounded.col(k) = quantized_column(column, bits[at], step, leaf.data);
  }
  const Matrix right = rounded * scales.asDiagonal();
  return B - kernels::product(kernels::Trans::kNo, right, kernels::Trans::kYes, rounded);
}

/// Values of a dense or sparse leaf in groups of 64, as they come back.
std::vector<double> encode_values(const std::vector<double>& values, int bits, EncodedLeaf& leaf) {
  leaf.bits.push_back(static_cast<std::uint8_t>(bits));
  if (bits > 16) {
    append_ieee(values, bits, leaf.data);
    std::vector<double> back = values;
    if (bits == 32) {
      for (double& value : back) value = static_cast<double>(static_cast<float>(value));
    }
    return back;
  }
  std::vector<std::int32_t> integers(values.size());
  std::vector<double> back(values.size());
  for (std::size_t first = 0; first < values.size(); first += kValuesPerScale) {
    const std::size_t count = std::min<std::size_t>(kValuesPerScale, values.size() - first);
    const std::span<const double> group(values.data() + first, count);
    const float scale = quantizer_scale(group, bits);
    leaf.scales.push_back(to_bfloat16(scale));
    quantize(group, bits, static_cast<double>(scale), integers.data() + first);
    for (std::size_t i = first; i < first + count; ++i) {
      back[i] = static_cast<double>(scale) * (integers[i] + kQuantizerOffset);
    }
  }
  append_packed(integers, bits, leaf.data);
  return back;
}

void encode_dense(const ConstBlock& B, bool on_diagonal, int bits, EncodedLeaf& leaf) {
  std::vector<double> values;
  for (Index j = 0; j < B.cols(); ++j) {
    const Index height = on_diagonal ? j + 1 : B.rows();
    values.insert(values.end(), B.col(j).data(), B.col(j).data() + height);
  }
  const std::vector<double> back = encode_values(values, bits, leaf);
  std::size_t at = 0;
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < (on_diagonal ? j + 1 : B.rows()); ++i, ++at) {
      const double error = values[at] - back[at];
      leaf.squared_error += error * error * (on_diagonal && i < j ? 2 : 1);
    }
  }
}

void encode_sparse(const ConstBlock& B, bool on_diagonal, const Choice& choice, EncodedLeaf& leaf) {
  std::vector<double> values;
  std::vector<double> times;
  Index previous = -1;
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < (on_diagonal ? j + 1 : B.rows()); ++i) {
      const double square = B(i, j) * B(i, j);
      const double counts = on_diagonal && i < j ? 2 : 1;
      if (square < choice.least_square) {
        leaf.squared_error += counts * square;
        continue;
      }
      append_base_128(j * B.rows() + i - previous - 1, leaf.data);
      previous = j * B.rows() + i;
      values.push_back(B(i, j));
      times.push_back(counts);
    }
  }
  leaf.leaf.count = static_cast<Index>(values.size());
  const std::vector<double> back = encode_values(values, choice.bits, leaf);
  for (std::size_t e = 0; e < values.size(); ++e) {
    leaf.squared_error += times[e] * (values[e] - back[e]) * (values[e] - back[e]);
  }
}

EncodedNode encode_node(const BlockTree& tree, const RateDistortion& choices, const Node& node) {
  const ConstBlock B = tree.matrix().block(node.row, node.column, node.rows, node.columns);
  const auto leaf_of = [&](LeafKind kind) {
    EncodedLeaf leaf;
    leaf.leaf = {node.row, node.rows, node.column, node.columns, kind, 0};
    return leaf;
  };
  EncodedNode result;
  const Content content = node.best.content;
  if (content == Content::kLowRank || content == Content::kLowRankAndDense) {
    const std::vector<int> bits = choices.component_bits(node);
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(LeafKind::kLowRank));
    leaf.leaf.count = static_cast<Index>(bits.size());
    const Matrix rest = node.on_diagonal ? encode_symmetric(B, bits, tree.seed(), leaf)
                                         : encode_low_rank(B, bits, tree.seed(), leaf);
    if (content == Content::kLowRankAndDense) {
      EncodedLeaf& remainder = result.remainder.emplace(leaf_of(LeafKind::kDense));
      encode_dense(rest, node.on_diagonal, node.best.bits, remainder);
      result.squared_error = remainder.squared_error;
    } else {
      result.squared_error = rest.squaredNorm();
    }
  } else if (content == Content::kDense) {
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(LeafKind::kDense));
    encode_dense(B, node.on_diagonal, node.best.bits, leaf);
    result.squared_error = leaf.squared_error;
  } else if (content == Content::kSparse) {
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(LeafKind::kSparse));
    encode_sparse(B, node.on_diagonal, node.best, leaf);
    result.squared_error = leaf.squared_error;
    if (leaf.leaf.count == 0) result.leaf.reset();
  } else {
    result.squared_error = node.energy;
  }
  result.squared_error *= tree.weight(node);
  return result;
}

void append_leaf(const EncodedLeaf& leaf, BlockMatrix::Content& content) {
  content.leaves.push_back(leaf.leaf);
  content.bits.insert(content.bits.end(), leaf.bits.begin(), leaf.bits.end());
  content.scales.insert(content.scales.end(), leaf.scales.begin(), leaf.scales.end());
  content.data.insert(content.data.end(), leaf.data.begin(), leaf.data.end());
}

}  // namespace

Encoded encode(const BlockTree& tree,
               const RateDistortion& choices,
               double unit,
               const RunControl& control) {
  const std::vector<const Node*> nodes = choices.leaves();
  std::vector<EncodedNode> encoded(nodes.size());
  parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
    control.throw_if_stopped("hierarchical");
    const auto at = static_cast<std::size_t>(k);
    encoded[at] = encode_node(tree, choices, *nodes[at]);
  });
  BlockMatrix::Content content;
  content.rows = tree.matrix().rows();
  content.cols = tree.matrix().cols();
  content.symmetric = tree.symmetric();
  content.unit = unit;
  content.offset = kQuantizerOffset;
  double squared_error = 0;
  std::vector<double> squared_errors;
  Index largest_rank = 0;
  for (const EncodedNode& node : encoded) {
    squared_error += node.squared_error;
    squared_errors.push_back(node.squared_error);
    if (!node.leaf) continue;
    append_leaf(*node.leaf, content);
    if (node.leaf->leaf.kind == LeafKind::kLowRank) {
      largest_rank = std::max(largest_rank, node.leaf->leaf.count);
    }
  }
  const auto first_layer = static_cast<Index>(content.leaves.size());
  for (const EncodedNode& node : encoded) {
    if (node.remainder) append_leaf(*node.remainder, content);
  }
  const Index second_layer = static_cast<Index>(content.leaves.size()) - first_layer;
  if (second_layer > 0) content.layers = {first_layer, second_layer};
  return {BlockMatrix(std::move(content)), squared_error, std::move(squared_errors), largest_rank};
}

}  // namespace matapprox::blocks
