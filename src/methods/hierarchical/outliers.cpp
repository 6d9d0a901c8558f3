#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "factors/quantizer.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"
#include "methods/hierarchical/block_fit.hpp"
#include "methods/hierarchical/encoding.hpp"
#include "methods/hierarchical/subspace_iterations.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace blocks {
namespace {

constexpr const char* kOutliers = "hierarchical";
/// Ranks of the search: 1, 2, 4, ..., and at most this share of the smaller side.
constexpr Index kMaxRank = 32;
constexpr double kMaxRankShare = 0.25;
/// Rounds for a rank, unless the number of outliers settles before.
constexpr int kMaxRounds = 6;
/// An entry stands out if it exceeds this many times the entries of noise with the singular values
/// that are not fitted yet, sigma / (m n)^(1/4) without a factor.
constexpr double kStandsOut = 2;
/// The diagonal is separated if the error of low rank is below this part of what it is with it.
constexpr double kMuchNearer = 0.7;
/// A smaller part of |A|^2 may be rounding.
constexpr double kRoundingOfTail = 1e-14;
/// More outliers than this share of the entries are no outliers.
constexpr double kMaxShare = 0.1;
/// Least threshold, relative to the largest entry: rounding errors do not stand out.
constexpr double kRoundingOfEntries = 1e-13;
/// Bytes of the position of an outlier, and of its part of a scale.
constexpr double kPositionBytes = 1.3;
constexpr double kScaleBytes = 2.0 / 64;
/// Bytes of a number at the smallest width.
constexpr double kMinNumberBytes = 3.0 / 8;
constexpr std::array<int, 7> kOutlierWidths{4, 6, 8, 12, 16, 32, 64};
constexpr Index kSplitPanel = 64;
/// Side of the sample that the error is estimated from.
constexpr Index kOutlierSampleSide = 128;

struct Outlier {
  Index row = 0;
  double value = 0;
};

/// The entries that are separated from a matrix of low rank: those that stand out from it, or those
/// on the diagonal, as in a covariance matrix of common factors and independent noise.
enum class Separated { kStandingOut, kDiagonal };

/// A = rest + outliers; of a symmetric matrix, the outliers with row <= column.
struct Split {
  Matrix rest;
  std::vector<std::vector<Outlier>> columns;
  Index count = 0;  ///< counting mirror images
  Separated kind = Separated::kStandingOut;
};

/// Puts the entries of A - L above the threshold, or those on the diagonal, among the outliers,
/// where L has `rank` of the triplets; the rest of A has the entries of L there. Outliers are not
/// kept if there are more than `most`. Returns |rest - L|_F.
double separate(const Matrix& A,
                const ScaledTriplets& triplets,
                Index rank,
                double threshold,
                bool symmetric,
                Index most,
                Split& split) {
  Vector squares = Vector::Zero(A.cols());
  std::atomic<Index> total{0};
  parallel_for((A.cols() + kSplitPanel - 1) / kSplitPanel, [&](Index panel) {
    const Index first = panel * kSplitPanel;
    const Index count = std::min(kSplitPanel, A.cols() - first);
    const Matrix L =
        kernels::product(triplets.scaled_left.leftCols(rank),
                         triplets.right.middleRows(first, count).leftCols(rank).transpose());
    for (Index j = first; j < first + count; ++j) {
      std::vector<Outlier>& outliers = split.columns[static_cast<std::size_t>(j)];
      outliers.clear();
      Index found = 0;
      for (Index i = 0; i < (symmetric ? j + 1 : A.rows()); ++i) {
        const double difference = A(i, j) - L(i, j - first);
        const bool stands_out =
            split.kind == Separated::kDiagonal ? i == j : std::abs(difference) > threshold;
        split.rest(i, j) = stands_out ? L(i, j - first) : A(i, j);
        const int times = symmetric && i < j ? 2 : 1;
        if (stands_out) {
          outliers.push_back({i, difference});
          found += times;
        } else {
          squares(j) += times * difference * difference;
        }
      }
      if (total.fetch_add(found) + found > most) outliers = {};
    }
  });
  split.count = total;
  if (symmetric) {
    parallel_for(A.cols(), [&](Index j) {
      for (Index i = j + 1; i < A.rows(); ++i) split.rest(i, j) = split.rest(j, i);
    });
  }
  return std::sqrt(squares.sum());
}

/// Goal of a split: the least error within bytes, or the fewest bytes for an error.
struct Goal {
  double bytes = 0;
  double tolerance = 0;  ///< absolute; 0: the bytes count
  /// Size of the matrix; the split may be one of a sample.
  Index rows = 0;
  Index cols = 0;
  bool symmetric = false;
};

/// Expected result of storing the rest at low rank and the outliers in `bits` bits.
struct Expected {
  double error = std::numeric_limits<double>::infinity();
  double bytes = std::numeric_limits<double>::infinity();
  int bits = 0;
  bool beats(const Expected& other, const Goal& goal) const {
    return goal.tolerance > 0 ? bytes < other.bytes : error < other.error;
  }
};

/// A rest as a matrix of low rank: its singular values, and the norm of the difference.
struct Spectrum {
  Vector sigma;
  double tail = 0;
};

/// Expected error of a split within that many bytes.
Expected within_bytes(const Split& split,
                      const Spectrum& spectrum,
                      const Goal& goal,
                      double bytes) {
  const double ratio = static_cast<double>(goal.rows) * static_cast<double>(goal.cols) /
                       static_cast<double>(split.rest.size());
  double squares = 0;
  for (const auto& column : split.columns) {
    for (const Outlier& outlier : column) squares += outlier.value * outlier.value;
  }
  // Mirror images count, and in a sample the diagonal is a larger part of the entries.
  if (split.kind == Separated::kStandingOut) squares *= goal.symmetric ? 2 : 1;
  if (split.kind == Separated::kDiagonal) squares /= std::sqrt(ratio);
  const double stored = split.kind == Separated::kDiagonal
                            ? static_cast<double>(goal.rows)
                            : (goal.symmetric ? 0.5 : 1) * ratio * static_cast<double>(split.count);
  const double norm = spectrum.sigma.norm();
  Expected best;
  for (const int bits : kOutlierWidths) {
    const double taken = stored * (kPositionBytes + kScaleBytes + bits / 8.0);
    if (taken >= bytes) break;
    const PackingError packed =
        packing_error(spectrum.sigma, norm, goal.rows, goal.cols, goal.symmetric, bytes - taken);
    const double error =
        std::sqrt(std::pow(norm * packed.expected, 2) + spectrum.tail * spectrum.tail +
                  squares * quantization_noise(bits));
    if (std::sqrt(ratio) * error < best.error) best = {std::sqrt(ratio) * error, bytes, bits};
  }
  return best;
}

Expected expected_of(const Split& split, const Spectrum& spectrum, const Goal& goal) {
  if (goal.tolerance == 0) return within_bytes(split, spectrum, goal, goal.bytes);
  constexpr int kHalvings = 12;
  double enough = 8.0 * static_cast<double>(goal.rows) * static_cast<double>(goal.cols);
  double few = 0;
  Expected best;
  for (int k = 0; k < kHalvings; ++k) {
    const double bytes = k == 0 ? enough : (few + enough) / 2;
    const Expected found = within_bytes(split, spectrum, goal, bytes);
    if (found.error <= goal.tolerance) {
      best = found;
      enough = bytes;
    } else if (k == 0) {
      return best;
    } else {
      few = bytes;
    }
  }
  return best;
}

/// The diagonal of the matrix of rank at most `rank` whose other entries are those of A, if there
/// is one: L(I, I) = A(I, J) A(K, J)^+ A(K, I) for disjoint sets of indices, here thirds that
/// alternate. Nothing if A is too small for that.
std::optional<Vector> diagonal_of_low_rank(const Matrix& A, Index rank, std::uint64_t seed) {
  constexpr Index kParts = 3;
  const Index n = A.rows();
  if (n < kParts * (rank + 1)) return std::nullopt;
  Vector diagonal(n);
  for (Index part = 0; part < kParts; ++part) {
    const auto indices = [&](Index k) { return Eigen::seq((part + k) % kParts, n - 1, kParts); };
    const ScaledTriplets svd = SubspaceIterations(seed).leading(A(indices(2), indices(1)), rank);
    if (svd.sigma.size() == 0 || svd.sigma(0) == 0) return std::nullopt;
    const auto kept = (svd.sigma.array() > kRoundingOfEntries * svd.sigma(0)).count();
    const Vector squares = svd.sigma.head(kept).cwiseAbs2();
    const Matrix left =
        kernels::product(Matrix(A(indices(0), indices(1))), Matrix(svd.right.leftCols(kept)));
    const Matrix right = kernels::product(svd.scaled_left.leftCols(kept).transpose(),
                                          Matrix(A(indices(2), indices(0))));
    diagonal(indices(0)) = (left * squares.cwiseInverse().asDiagonal())
                               .cwiseProduct(right.transpose())
                               .rowwise()
                               .sum();
  }
  return diagonal;
}

/// The matrix in which outliers are searched for, the goal, and limits.
struct Search {
  const Matrix& A;
  const Goal& goal;
  std::uint64_t seed;
  double least;  ///< threshold
  Index most;    ///< outliers
};

/// Separates A for one rank, and returns the spectrum of the matrix of low rank; nothing if A has
/// no more than that rank.
std::optional<Spectrum> separate_for_rank(const Search& search,
                                          Index rank,
                                          SubspaceIterations& subspace,
                                          Split& split) {
  const double typical = 1 / std::sqrt(std::sqrt(static_cast<double>(search.A.rows()) *
                                                 static_cast<double>(search.A.cols())));
  if (split.kind == Separated::kDiagonal) {
    const auto diagonal = diagonal_of_low_rank(search.A, rank, search.seed);
    if (!diagonal) return std::nullopt;
    split.rest.diagonal() = *diagonal;
  }
  Spectrum spectrum;
  Index count = -1;
  for (int round = 0; round < kMaxRounds; ++round) {
    const ScaledTriplets triplets = subspace.leading(split.rest, rank + 1);
    if (triplets.sigma.size() <= rank) return std::nullopt;
    const double threshold = kStandsOut * typical *
                             (triplets.sigma(rank) + std::ldexp(triplets.sigma(rank - 1), -round));
    spectrum = {triplets.sigma.head(rank),
                separate(search.A,
                         triplets,
                         rank,
                         std::max(threshold, search.least),
                         search.goal.symmetric,
                         search.most,
                         split)};
    // The next thresholds are lower.
    const Index before = std::exchange(count, split.count);
    if (count == before || count > search.most) break;
  }
  return spectrum;
}

/// True if a matrix of the largest rank is much nearer to A without its diagonal.
bool diagonal_stands_out(const Search& search, Index max_rank) {
  const Matrix& A = search.A;
  const auto diagonal = diagonal_of_low_rank(A, max_rank, search.seed);
  if (!diagonal) return false;
  Matrix rest = A;
  rest.diagonal() = *diagonal;
  const auto tail = [&](const Matrix& M) {
    return M.squaredNorm() -
           SubspaceIterations(search.seed).leading(M, max_rank).sigma.squaredNorm();
  };
  const double with_diagonal = tail(A);
  return with_diagonal > kRoundingOfTail * A.squaredNorm() &&
         tail(rest) < kMuchNearer * kMuchNearer * with_diagonal;
}

/// The best split for a goal, by alternating projections [NNSAJ14]: a matrix of low rank is fitted
/// to the rest, and entries are separated from it, for ranks 1, 2, 4, ... and thresholds that
/// decrease with the singular values not fitted yet. Nothing if no entry stands out, or too many.
std::optional<std::pair<Split, Expected>> find_outliers(const Matrix& A,
                                                        const Goal& goal,
                                                        std::uint64_t seed) {
  const double bytes_per_rank =
      kMinNumberBytes * static_cast<double>(goal.symmetric ? goal.rows : goal.rows + goal.cols);
  const double stored_rank = goal.tolerance > 0 ? kMaxRank : goal.bytes / bytes_per_rank;
  const auto max_rank = static_cast<Index>(
      std::min({static_cast<double>(kMaxRank),
                kMaxRankShare * static_cast<double>(std::min(A.rows(), A.cols())),
                stored_rank}));
  if (max_rank == 0) return std::nullopt;
  const Search search{A,
                      goal,
                      seed,
                      kRoundingOfEntries * A.cwiseAbs().maxCoeff(),
                      static_cast<Index>(kMaxShare * static_cast<double>(A.size()))};
  std::optional<std::pair<Split, Expected>> best;
  for (const Separated kind : {Separated::kStandingOut, Separated::kDiagonal}) {
    if (kind == Separated::kDiagonal &&
        (goal.rows != goal.cols || !diagonal_stands_out(search, max_rank)))
      break;
    Split split{A, std::vector<std::vector<Outlier>>(static_cast<std::size_t>(A.cols())), 0, kind};
    SubspaceIterations subspace(seed);
    for (Index rank = 1; rank <= max_rank; rank *= 2) {
      const std::optional<Spectrum> spectrum = separate_for_rank(search, rank, subspace, split);
      if (!spectrum) break;
      // Entries of the low-rank part stand out if the rank is too low.
      if (split.count > 0 && split.count <= search.most) {
        const Expected expected = expected_of(split, *spectrum, goal);
        if (expected.bits > 0 && (!best || expected.beats(best->second, goal)))
          best.emplace(split, expected);
      }
      if (spectrum->tail <= kRoundingOfEntries * spectrum->sigma(0)) break;
    }
  }
  return best;
}

/// The outliers, in units of the blocks, as a leaf of the whole matrix.
EncodedLeaf leaf_of_outliers(const Split& split, bool symmetric, double unit, int bits) {
  Matrix S = Matrix::Zero(split.rest.rows(), split.rest.cols());
  for (Index j = 0; j < S.cols(); ++j) {
    for (const Outlier& outlier : split.columns[static_cast<std::size_t>(j)])
      S(outlier.row, j) = outlier.value / unit;
  }
  EncodedLeaf leaf;
  leaf.leaf = {0, S.rows(), 0, S.cols(), LeafKind::kSparse, 0};
  encode_sparse(S, symmetric, std::numeric_limits<double>::denorm_min(), bits, leaf);
  return leaf;
}

/// Upper bound of the bytes that a leaf and a layer add.
double bytes_of(const EncodedLeaf& leaf) {
  constexpr std::size_t kLeafNumbers = std::size_t{6} * 4;
  constexpr std::size_t kLayerNumbers = std::size_t{2} * 8;
  return static_cast<double>(leaf.bits.size() + 2 * leaf.scales.size() + leaf.data.size() +
                             kLeafNumbers + kLayerNumbers);
}

/// The blocks of the rest, and the outliers as a further layer.
BlockMatrix with_layer(const BlockMatrix& blocks, const EncodedLeaf& outliers) {
  BlockMatrix::Content content = copied_content(blocks);
  if (content.layers.empty()) content.layers = {static_cast<Index>(content.leaves.size())};
  content.layers.push_back(1);
  append_leaf(outliers, content);
  return BlockMatrix(std::move(content));
}

/// |rest + outliers - B|_F.
double distance(const Split& split, const BlockMatrix& B) {
  double squares = 0;
  for (Index first = 0; first < B.cols(); first += kSplitPanel) {
    const Index count = std::min(kSplitPanel, B.cols() - first);
    Matrix difference = B.columns(index_range(first, count)) - split.rest.middleCols(first, count);
    for (Index j = 0; j < count; ++j) {
      for (const Outlier& outlier : split.columns[static_cast<std::size_t>(first + j)])
        difference(outlier.row, j) -= outlier.value;
    }
    // The outliers below the diagonal of a symmetric matrix are mirror images of those above.
    if (B.symmetric()) {
      for (Index j = 0; j < count; ++j) {
        auto above = difference.col(j).head(first + j);
        squares += 2 * above.squaredNorm() + std::pow(difference(first + j, j), 2);
      }
    } else {
      squares += difference.squaredNorm();
    }
  }
  return std::sqrt(squares);
}

/// A dense matrix that is not taken as symmetric even if it is, since its outliers are not.
class GeneralView final : public LinearOperator {
 public:
  explicit GeneralView(const Matrix& A)
      : view_({A.data(), A.rows(), A.cols(), A.rows(), MemoryOrder::kColumns}, nullptr) {}
  Index rows() const override { return view_.rows(); }
  Index cols() const override { return view_.cols(); }
  Cost cost() const override { return view_.cost(); }
  std::string description() const override { return view_.description(); }
  KnownFacts known_facts() const override {
    KnownFacts facts = view_.known_facts();
    facts.symmetric = false;
    facts.averaged_asymmetry = 0;
    return facts;
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { view_.apply(X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    view_.apply_transpose(X, Y);
  }
  void do_columns_at(std::span<const Index> J, Block Y) const override { view_.columns_at(J, Y); }

  DenseView view_;
};

/// Limits of a result, in the units of the split.
struct Limits {
  double bytes = 0;      ///< infinity: none
  double tolerance = 0;  ///< 0: none
};

/// Fits the rest until the sum is within the limits: the errors of both may add up, although they
/// are orthogonal as a rule, and the outliers may widen the table of leaves. Nothing if that fails.
std::optional<Approximation> fit_rest(const Split& split,
                                      const EncodedLeaf& outliers,
                                      int bits,
                                      const Limits& limits,
                                      bool symmetric,
                                      HierarchicalOptions options,
                                      const RunControl& control) {
  constexpr int kMaxFits = 6;
  constexpr double kSafety = 0.98;
  constexpr double kMaxTolerance = 0.999;
  const double tolerance = limits.tolerance;
  const double norm = split.rest.norm();
  const Matrix& rest = split.rest;
  const DenseView view({rest.data(), rest.rows(), rest.cols(), rest.rows(), MemoryOrder::kColumns},
                       nullptr);
  const GeneralView general(rest);
  double aim = std::sqrt(std::max(tolerance * tolerance - outliers.squared_error, 0.0));
  double left = limits.bytes - bytes_of(outliers);
  for (int fit = 0; fit < kMaxFits; ++fit) {
    if (left <= 0) return std::nullopt;
    if (tolerance > 0)
      options.frobenius_tolerance = norm > 0 ? std::min(aim / norm, kMaxTolerance) : kMaxTolerance;
    if (std::isfinite(left)) options.budget = {StorageBudget::Unit::kBytes, left};
    Approximation fitted = [&] {
      return symmetric ? hierarchical(view, options, control)
                       : hierarchical(general, options, control);
    }();
    const auto& blocks = std::get<BlockMatrix>(*fitted.factors().front().value);
    BlockMatrix sum =
        with_layer(blocks, leaf_of_outliers(split, symmetric, blocks.content().unit, bits));
    const auto stored = static_cast<double>(sum.storage().bytes);
    const double error = tolerance > 0 ? distance(split, sum) : 0;
    const bool missed =
        error > tolerance && fitted.summary.termination == Termination::kTargetReached;
    // The number of leaves, and so the excess, changes from fit to fit.
    if (stored > limits.bytes) left -= (1 + fit) * (stored - limits.bytes);
    if (missed) aim *= kSafety * tolerance / error;
    if (stored > limits.bytes || missed) continue;
    Summary summary = fitted.summary;
    forget_bounds(summary);
    return Approximation{{make_factor("H", std::move(sum))}, std::move(summary)};
  }
  return std::nullopt;
}

/// The sum of rest and outliers; nothing if there are none, or if it is not within the limits.
std::optional<Approximation> sum_of_both(const LinearOperator& A,
                                         const HierarchicalOptions& options,
                                         double bytes,
                                         const RunControl& control) {
  require_memory(24.0 * static_cast<double>(A.rows()) * static_cast<double>(A.cols()),
                 "hierarchical: the matrix without outliers");
  const bool symmetric = is_symmetric(A);
  Matrix values = dense_matrix(A, kOutliers, control);
  const double scale = unit_scale(values);
  if (1 / scale < kMinUnit) return std::nullopt;  // hierarchical() refuses A
  values *= scale;
  const double tolerance = options.frobenius_tolerance * values.norm();
  const bool limited = options.budget.is_set() || tolerance == 0;
  const auto found =
      find_outliers(values, {bytes, tolerance, A.rows(), A.cols(), symmetric}, options.seed);
  if (!found) return std::nullopt;
  values.resize(0, 0);
  const Split& split = found->first;
  int bits = found->second.bits;
  EncodedLeaf leaf = leaf_of_outliers(split, symmetric, 1, bits);
  // At most half of the squared error is that of the outliers.
  for (const int wider : kOutlierWidths) {
    if (tolerance == 0 || 2 * leaf.squared_error <= tolerance * tolerance) break;
    if (wider <= bits) continue;
    bits = wider;
    leaf = leaf_of_outliers(split, symmetric, 1, bits);
  }
  const Limits limits{limited ? bytes : std::numeric_limits<double>::infinity(), tolerance};
  try {
    auto sum = fit_rest(split, leaf, bits, limits, symmetric, options, control);
    if (!sum) return std::nullopt;
    BlockMatrix::Content content =
        copied_content(std::get<BlockMatrix>(*sum->factors().front().value));
    content.unit /= scale;
    Summary summary = sum->summary;
    summary.form += split.kind == Separated::kDiagonal
                        ? ", diagonal apart"
                        : fmt::format(", {} outliers", leaf.leaf.count);
    return Approximation{{make_factor("H", BlockMatrix(std::move(content)))}, std::move(summary)};
  } catch (const BudgetTooSmall&) {
    return std::nullopt;
  }
}

}  // namespace

Approximation with_outliers(const LinearOperator& A,
                            const HierarchicalOptions& options,
                            double bytes,
                            const RunControl& control) {
  require(options.order == BlockOrder::kAuto || options.order == BlockOrder::kNatural,
          "{}: outliers can only be separated in the natural order",
          kOutliers);
  HierarchicalOptions inner = options;
  inner.outliers = false;
  inner.order = BlockOrder::kNatural;
  auto sum = sum_of_both(A, inner, bytes, control);
  Approximation result = sum ? std::move(*sum) : hierarchical(A, inner, control);
  if (!sum) result.summary.form += ", no outliers";
  result.summary.options = list_options(options);
  return result;
}

}  // namespace blocks

double outlier_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed) {
  const HeldEntries held(A, "hierarchical", {});
  const auto drawn = [&](Index size, std::uint64_t sequence) {
    std::vector<Index> all = index_range(0, size);
    const Index count = std::min(size, blocks::kOutlierSampleSide);
    for (Index k = 0; k < count; ++k) {
      const Index other =
          k + random_index(seed, RandomStream::kMeasureColumns, sequence, k, size - k);
      std::swap(all[static_cast<std::size_t>(k)], all[static_cast<std::size_t>(other)]);
    }
    all.resize(static_cast<std::size_t>(count));
    std::sort(all.begin(), all.end());
    return all;
  };
  // A square sample has its part of the diagonal.
  Matrix sample = held.values()(drawn(A.rows(), 0), drawn(A.cols(), A.rows() == A.cols() ? 0 : 1));
  sample *= unit_scale(sample);
  const double norm = sample.norm();
  if (norm == 0) return 1;
  const blocks::Goal goal{bytes, 0, A.rows(), A.cols(), false};
  const auto found = blocks::find_outliers(sample, goal, seed);
  const double ratio = static_cast<double>(A.rows()) * static_cast<double>(A.cols()) /
                       static_cast<double>(sample.size());
  return found ? found->second.error / (std::sqrt(ratio) * norm) : 1;
}

}  // namespace matapprox
