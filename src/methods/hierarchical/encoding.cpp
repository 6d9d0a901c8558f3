#include "methods/hierarchical/encoding.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "factors/leaf_reader.hpp"
#include "factors/quantizer.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/hierarchical/workers.hpp"

namespace matapprox::blocks {

// -------------------------------------------------------------------------------------- Leaves

namespace {

constexpr Index kTripletOversampling = 16;
constexpr int kPowerSteps = 2;
/// A subspace contains the triplets well enough if it adds at most this fraction to the squared
/// error.
constexpr double kNegligiblyMore = 0.005;

/// A subspace that nearly contains the leading left singular vectors of B.
struct Subspace {
  Matrix Q;    ///< orthonormal columns
  Matrix QtB;  ///< Q^T B
};

/// True if the subspace leaves so little of the `count` leading triplets, whose squares are
/// `squares`, that the best approximation from it has nearly the least error of that rank.
bool nearly_contains(const Subspace& space,
                     const ConstBlock& B,
                     Index count,
                     const Vector& squares) {
  const Matrix gram =
      kernels::product(kernels::Trans::kNo, space.QtB, kernels::Trans::kYes, space.QtB);
  const Vector found = kernels::symmetric_eigenvalues(gram).reverse().head(count);
  const Vector wanted = squares.head(count);
  return (wanted - found).cwiseMax(0.0).sum() <=
         kNegligiblyMore * std::max(B.squaredNorm() - wanted.sum(), 0.0);
}

/// Computed from the range that a search has left, else from Gaussian columns, and by subspace
/// iteration if those do not suffice.
Subspace leading_subspace(const ConstBlock& B, const Node& node, Index count, std::uint64_t seed) {
  Subspace found{node.range.Q, node.range.BtQ.transpose()};
  if (found.Q.cols() < count) {
    const Index width = std::min(count + kTripletOversampling, std::min(B.rows(), B.cols()));
    const Matrix start = random_normal_matrix(seed, RandomStream::kSketch, B.cols(), width);
    found.Q = kernels::thin_qr(kernels::product(B, start));
    found.QtB = kernels::transpose_product(found.Q, B);
  }
  for (int step = 0; step < kPowerSteps && !nearly_contains(found, B, count, node.squares);
       ++step) {
    found.Q = kernels::thin_qr(kernels::product(B, kernels::thin_qr(found.QtB.transpose())));
    found.QtB = kernels::transpose_product(found.Q, B);
  }
  return found;
}

/// Least ratio of the eigenvalues of B B^T for taking left singular vectors from it. Their error is
/// rounding over the ratio of singular values, and rounding to at most 16 bits hides it for ratios
/// down to about 1e-6.
constexpr double kMinGramRatio = 1e-12;

/// The `count` leading left singular vectors of B, m x n, up to rounding if `accurate`: from B
/// itself, or from its projection onto a subspace that nearly contains them.
Matrix left_vectors(
    const ConstBlock& B, const Node& node, Index count, bool accurate, std::uint64_t seed) {
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
  const Subspace found = leading_subspace(B, node, count, seed);
  return kernels::product(found.Q, leading_of(found.QtB));
}

/// Eigenpairs of a symmetric B with the `count` largest |values|.
LeftVectors leading_eigenpairs(const ConstBlock& B,
                               const Node& node,
                               Index count,
                               std::uint64_t seed) {
  kernels::SymmetricEigen all;
  if (B.rows() <= 2 * (count + kTripletOversampling)) {
    all = kernels::symmetric_eigen(Matrix(B));
  } else {
    const Subspace found = leading_subspace(B, node, count, seed);
    all = kernels::symmetric_eigen(kernels::product(found.QtB, found.Q));
    all.vectors = kernels::product(found.Q, all.vectors);
  }
  std::vector<Index> order(static_cast<std::size_t>(all.values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(all.values(a)) > std::abs(all.values(b));
  });
  LeftVectors leading{Matrix(B.rows(), count), Vector(count), true};
  for (Index k = 0; k < count; ++k) {
    leading.eigenvalues(k) = all.values(order[static_cast<std::size_t>(k)]);
    leading.U.col(k) = all.vectors.col(order[static_cast<std::size_t>(k)]);
  }
  return leading;
}

/// Appends the bytes of a column to `data` and returns its dequantized values over its scale.
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

/// Encodes U in few bits, and V = B^T U (U^T U)^-1 in as many; `project` returns B^T X.
template <class Project>
StoredTriplets encode_factors(const ConstBlock& U,
                              const Project& project,
                              const std::vector<int>& bits,
                              EncodedLeaf& leaf) {
  const auto rank = static_cast<Index>(bits.size());
  Matrix rounded(U.rows(), rank);
  std::vector<std::vector<std::uint8_t>> left(bits.size());
  for (Index k = 0; k < rank; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Vector column = U.col(k);
    rounded.col(k) = quantized_column(column, bits[at], column_scale(column, bits[at]), left[at]);
  }
  // Columns are scaled to unit length for the condition number of the linear system.
  const Vector lengths = rounded.colwise().norm().cwiseMax(1e-300).transpose();
  const Matrix unit = rounded * lengths.cwiseInverse().asDiagonal();
  const Matrix gram = kernels::transpose_product(unit, unit);
  const Matrix projected = project(unit);
  Matrix V = gram.ldlt().solve(projected.transpose()).transpose();
  V *= lengths.cwiseInverse().asDiagonal();
  Matrix values(V.rows(), rank);
  for (Index k = 0; k < rank; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Vector column = V.col(k);
    const double scale = column_scale(column, bits[at]);
    leaf.bits.push_back(static_cast<std::uint8_t>(bits[at]));
    leaf.scales.push_back(to_bfloat16(static_cast<float>(scale)));
    leaf.data.insert(leaf.data.end(), left[at].begin(), left[at].end());
    values.col(k) = scale * quantized_column(column, bits[at], scale, leaf.data);
  }
  return {std::move(rounded), Vector::Ones(rank), std::move(values)};
}

StoredTriplets encode_eigenpairs(const Vector& eigenvalues,
                                 const ConstBlock& vectors,
                                 const std::vector<int>& bits,
                                 EncodedLeaf& leaf) {
  const auto rank = static_cast<Index>(bits.size());
  StoredTriplets stored{Matrix(vectors.rows(), rank), Vector(rank), {}};
  for (Index k = 0; k < rank; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Vector column = vectors.col(k);
    const double size = std::abs(eigenvalues(k));
    const double wanted = column_scale(column, bits[at]);
    const std::uint16_t scale = to_bfloat16(static_cast<float>(
        std::copysign(size > 0 && bits[at] > 16 ? 1 : size * wanted * wanted, eigenvalues(k))));
    stored.scales(k) = static_cast<double>(from_bfloat16(scale));
    const double step = size > 0 ? std::sqrt(std::abs(stored.scales(k)) / size) : 1;
    leaf.bits.push_back(static_cast<std::uint8_t>(bits[at]));
    leaf.scales.push_back(scale);
    stored.U.col(k) = quantized_column(column, bits[at], step, leaf.data);
  }
  return stored;
}

/// Encodes the values of a dense or sparse leaf in groups of 64 and returns them dequantized.
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

}  // namespace

Matrix StoredTriplets::product() const {
  const Matrix right = U * scales.asDiagonal();
  return kernels::product(kernels::Trans::kNo, right, kernels::Trans::kYes, V.size() == 0 ? U : V);
}

StoredTriplets encode_low_rank(const ConstBlock& B,
                               const Node& node,
                               const std::vector<int>& bits,
                               std::uint64_t seed,
                               EncodedLeaf& leaf) {
  LeftVectors& known = node.left;
  const bool accurate = std::any_of(bits.begin(), bits.end(), [](int b) { return b > 16; });
  const auto rank = static_cast<Index>(bits.size());
  if (known.U.cols() < rank || (accurate && !known.accurate)) {
    known = {left_vectors(B, node, rank, accurate, seed), Vector(), accurate};
  }
  const auto project = [&](const Matrix& X) { return kernels::transpose_product(B, X); };
  return encode_factors(known.U.leftCols(rank), project, bits, leaf);
}

StoredTriplets encode_symmetric(const ConstBlock& B,
                                const Node& node,
                                const std::vector<int>& bits,
                                std::uint64_t seed,
                                EncodedLeaf& leaf) {
  LeftVectors& known = node.left;
  const auto rank = static_cast<Index>(bits.size());
  if (known.U.cols() < rank) known = leading_eigenpairs(B, node, rank, seed);
  return encode_eigenpairs(known.eigenvalues, known.U, bits, leaf);
}

StoredTriplets encode_low_rank(const Triplets& B, const std::vector<int>& bits, EncodedLeaf& leaf) {
  const auto project = [&](const Matrix& X) -> Matrix {
    const Matrix core = B.values.asDiagonal() * kernels::transpose_product(B.U, X);
    return kernels::product(B.V, core);
  };
  return encode_factors(B.U.leftCols(static_cast<Index>(bits.size())), project, bits, leaf);
}

StoredTriplets encode_symmetric(const Triplets& B,
                                const std::vector<int>& bits,
                                EncodedLeaf& leaf) {
  return encode_eigenpairs(B.values, B.U, bits, leaf);
}

/// The stored U is B.U C + E and the stored V is B.V D + F, with E and F orthogonal to B.U and B.V.
/// If S are the stored scales, the result is |diag(values) - C S D^T|^2 + |C S F^T|^2 + |E S D^T|^2
/// + |E S F^T|^2.
double squared_distance(const Triplets& B, const StoredTriplets& stored) {
  const bool symmetric = stored.V.size() == 0;
  const Matrix C = kernels::transpose_product(B.U, stored.U) * stored.scales.asDiagonal();
  const Matrix E = stored.U * stored.scales.asDiagonal() - kernels::product(B.U, C);
  const Matrix& right = symmetric ? stored.U : stored.V;
  const Matrix& basis = symmetric ? B.U : B.V;
  const Matrix D = kernels::transpose_product(basis, right);
  const Matrix F = right - kernels::product(basis, D);
  const Matrix of_E = kernels::transpose_product(E, E);
  const Matrix of_F = kernels::transpose_product(F, F);
  const Matrix core = Matrix(B.values.asDiagonal()) - C * D.transpose();
  return core.squaredNorm() + (C.transpose() * C).cwiseProduct(of_F).sum() +
         (D.transpose() * D).cwiseProduct(of_E).sum() + of_E.cwiseProduct(of_F).sum();
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

void encode_sparse(
    const ConstBlock& B, bool on_diagonal, double square_cutoff, int bits, EncodedLeaf& leaf) {
  std::vector<double> values;
  std::vector<double> times;
  Index previous = -1;
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < (on_diagonal ? j + 1 : B.rows()); ++i) {
      const double square = B(i, j) * B(i, j);
      const double counts = on_diagonal && i < j ? 2 : 1;
      if (square < square_cutoff) {
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
  const std::vector<double> back = encode_values(values, bits, leaf);
  for (std::size_t e = 0; e < values.size(); ++e) {
    leaf.squared_error += times[e] * (values[e] - back[e]) * (values[e] - back[e]);
  }
}

void append_leaf(const EncodedLeaf& leaf, BlockMatrix::Content& content) {
  content.leaves.push_back(leaf.leaf);
  content.bits.insert(content.bits.end(), leaf.bits.begin(), leaf.bits.end());
  content.scales.insert(content.scales.end(), leaf.scales.begin(), leaf.scales.end());
  content.data.insert(content.data.end(), leaf.data.begin(), leaf.data.end());
}

// ---------------------------------------------------------------------------- The whole matrix

namespace {

EncodedLeaf leaf_of(const Node& node, LeafKind kind) {
  EncodedLeaf leaf;
  leaf.leaf = {node.row, node.rows, node.column, node.columns, kind, 0};
  return leaf;
}

/// Encodes a node at low rank, and its remainder in few bits if that is chosen too.
void encode_triplets(const BlockTree& tree,
                     const RateDistortion& choices,
                     const Node& node,
                     EncodedNode& result) {
  const BlockSource& source = tree.source();
  const std::vector<int> bits = choices.component_bits(node);
  EncodedLeaf& leaf = result.leaf.emplace(leaf_of(node, LeafKind::kLowRank));
  leaf.leaf.count = static_cast<Index>(bits.size());
  const bool with_remainder = node.best.content == Content::kLowRankAndDense;
  if (source.gives_triplets(node) && !with_remainder) {
    const Triplets B = source.triplets(node);
    const StoredTriplets stored =
        node.on_diagonal ? encode_symmetric(B, bits, leaf) : encode_low_rank(B, bits, leaf);
    result.squared_error = squared_distance(B, stored) + node.rest;
    return;
  }
  Matrix space;
  const ConstBlock B = source.block(node, space);
  const StoredTriplets stored = node.on_diagonal
                                    ? encode_symmetric(B, node, bits, tree.seed(), leaf)
                                    : encode_low_rank(B, node, bits, tree.seed(), leaf);
  const Matrix rest = B - stored.product();
  if (with_remainder) {
    EncodedLeaf& remainder = result.remainder.emplace(leaf_of(node, LeafKind::kDense));
    encode_dense(rest, node.on_diagonal, node.best.bits, remainder);
    result.squared_error = remainder.squared_error;
  } else {
    result.squared_error = rest.squaredNorm();
  }
}

/// Encodes nodes on the workers; nodes that store nothing need no work.
std::vector<EncodedNode> encode_dealt(const BlockTree& tree,
                                      const RateDistortion& choices,
                                      const std::vector<const Node*>& nodes) {
  std::vector<EncodedNode> encoded(nodes.size());
  std::vector<const Node*> stored;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k]->best.content == Content::kNothing) {
      encoded[k] = encode_node(tree, choices, *nodes[k]);
    } else {
      stored.push_back(nodes[k]);
    }
  }
  std::vector<EncodedNode> found = choices.distributed()->encode(stored);
  auto next = found.begin();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k]->best.content != Content::kNothing) encoded[k] = std::move(*next++);
  }
  return encoded;
}

std::vector<EncodedNode> encode_here(const BlockTree& tree,
                                     const RateDistortion& choices,
                                     const std::vector<const Node*>& nodes,
                                     const RunControl& control) {
  std::vector<EncodedNode> encoded(nodes.size());
  parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
    control.throw_if_stopped("hierarchical");
    const auto at = static_cast<std::size_t>(k);
    encoded[at] = encode_node(tree, choices, *nodes[at]);
  });
  return encoded;
}

}  // namespace

EncodedNode encode_node(const BlockTree& tree, const RateDistortion& choices, const Node& node) {
  EncodedNode result;
  const Content content = node.best.content;
  Matrix space;
  if (content == Content::kLowRank || content == Content::kLowRankAndDense) {
    encode_triplets(tree, choices, node, result);
  } else if (content == Content::kDense) {
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(node, LeafKind::kDense));
    encode_dense(tree.source().block(node, space), node.on_diagonal, node.best.bits, leaf);
    result.squared_error = leaf.squared_error;
  } else if (content == Content::kSparse) {
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(node, LeafKind::kSparse));
    const ConstBlock B = tree.source().block(node, space);
    encode_sparse(B, node.on_diagonal, node.best.square_cutoff, node.best.bits, leaf);
    result.squared_error = leaf.squared_error;
    if (leaf.leaf.count == 0) result.leaf.reset();
  } else {
    result.squared_error = node.energy;
  }
  result.squared_error *= tree.times(node);
  return result;
}

Encoded encode(const BlockTree& tree,
               const RateDistortion& choices,
               double unit,
               const RunControl& control) {
  const std::vector<const Node*> nodes = choices.leaves();
  const std::vector<EncodedNode> encoded = choices.distributed() != nullptr
                                               ? encode_dealt(tree, choices, nodes)
                                               : encode_here(tree, choices, nodes, control);
  BlockMatrix::Content content;
  content.rows = tree.source().rows();
  content.cols = tree.source().cols();
  content.symmetric = tree.source().symmetric();
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
