#include "matapprox/methods/kronecker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "factors/low_rank.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/factors/kronecker_sum.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

using Shape = KroneckerSum::Shape;

constexpr const char* kKronecker = "kronecker";
/// Rows and columns of a rearranged matrix that are sampled, and triplets of the sample.
constexpr Index kSampled = 512;
constexpr Index kSampledTriplets = 24;
/// Sides of the parts of a rearranged matrix that may rule it out before that, and their number.
constexpr Index kPartSide = 64;
constexpr Index kParts = 4;
/// Largest number of pairs of divisors that are compared; a square matrix has fewer.
constexpr std::size_t kMaxShapes = 64;
/// Bytes per value of a term at the smallest width, and bytes per term besides its values.
constexpr double kMinValueBytes = 3.0 / 8;
constexpr double kBesideTerm = 10;
/// Parts of a tolerance that leaving out terms and rounding may use: together 97 %.
constexpr double kTruncationShare = 0.5;
constexpr double kRoundingShare = 0.83;
/// Relative error that is rounding: no bytes are spent on a smaller one.
constexpr double kExactError = 1e-14;
/// Entries of symmetric terms may differ from their mirror images by this part of the largest
/// entry of A.
constexpr double kMirrorTolerance = 16 * std::numeric_limits<double>::epsilon();
/// Estimated errors below this count as equal: the sum of the squares of the singular values that
/// are not computed is known to about eps |A|^2.
constexpr double kEstimateError = 1e-7;
/// Estimates of the fewest bytes are found up to this factor.
constexpr double kSameBytes = 1.01;
/// Number of terms that are computed first.
constexpr Index kFirstTerms = 16;
/// Least side of the factors that are chosen: with fewer rows, a term has about as many numbers as
/// A.
constexpr Index kMinSide = 4;

/// Divisors d of n with d >= kMinSide and n / d >= kMinSide, ascending.
std::vector<Index> useful_divisors(Index n) {
  std::vector<Index> divisors;
  for (Index d = kMinSide; d * d <= n; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d * d != n) divisors.push_back(n / d);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

Shape shape_of(const LinearOperator& A, Index left_rows, Index left_cols) {
  return {left_rows, left_cols, A.rows() / left_rows, A.cols() / left_cols};
}

/// The absolute logarithm of the ratio of the sides of the rearranged matrix, which has as many
/// terms as its shorter side.
double imbalance(const Shape& shape) {
  return std::abs(std::log(static_cast<double>(shape.left_rows * shape.left_cols)) -
                  std::log(static_cast<double>(shape.right_rows * shape.right_cols)));
}

/// The sizes to compare, the most balanced first.
std::vector<Shape> shapes_of(const LinearOperator& A, Index left_rows, Index left_cols) {
  const auto options = [](Index n, Index given) {
    return given > 0 ? std::vector<Index>{given} : useful_divisors(n);
  };
  std::vector<Shape> shapes;
  for (const Index rows : options(A.rows(), left_rows)) {
    for (const Index cols : options(A.cols(), left_cols)) {
      const bool both_free = left_rows == 0 && left_cols == 0;
      if (both_free && A.rows() == A.cols() && rows != cols) continue;
      shapes.push_back(shape_of(A, rows, cols));
    }
  }
  // A row times a column: low rank.
  if (shapes.empty()) {
    shapes.push_back(
        shape_of(A, left_rows > 0 ? left_rows : 1, left_cols > 0 ? left_cols : A.cols()));
  }
  std::stable_sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return imbalance(a) < imbalance(b);
  });
  if (shapes.size() > kMaxShapes) shapes.resize(kMaxShapes);
  return shapes;
}

/// About `count` of the numbers 0 .. n - 1, each as likely as any other, or all of them; ascending.
std::vector<Index> sampled_indices(Index n, Index count, std::uint64_t seed, Index which) {
  if (n <= count) return index_range(0, n);
  std::vector<Index> chosen;
  for (Index k = 0; k < count; ++k)
    chosen.push_back(random_index(seed, RandomStream::kKronecker, k, which, n));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

/// Entries of the rearranged matrix, which is not formed, in about `side` rows and columns.
/// `which` tells samples apart.
Matrix sample_of(const Matrix& A, const Shape& shape, Index side, std::uint64_t seed, Index which) {
  const std::vector<Index> rows =
      sampled_indices(shape.left_rows * shape.left_cols, side, seed, 2 * which);
  const std::vector<Index> cols =
      sampled_indices(shape.right_rows * shape.right_cols, side, seed, 2 * which + 1);
  Matrix sample(static_cast<Index>(rows.size()), static_cast<Index>(cols.size()));
  for (Index q = 0; q < sample.cols(); ++q) {
    const Index col = cols[static_cast<std::size_t>(q)];
    for (Index p = 0; p < sample.rows(); ++p) {
      const Index row = rows[static_cast<std::size_t>(p)];
      sample(p, q) = A(row % shape.left_rows * shape.right_rows + col % shape.right_rows,
                       row / shape.left_rows * shape.right_cols + col / shape.right_rows);
    }
  }
  return sample;
}

/// Symmetries of the terms, each of which halves the numbers to store.
struct TermSymmetry {
  bool terms = false;  ///< every B_k and C_k is symmetric
  bool equal = false;  ///< C_k is a multiple of B_k
};

/// The symmetries of A, whose largest absolute entry is known.
TermSymmetry symmetry_of(const Matrix& A, double largest, const Shape& shape) {
  const Index m = shape.left_rows;
  const Index k = shape.right_rows;
  if (m != shape.left_cols || k != shape.right_cols) return {};
  const double tolerance = kMirrorTolerance * largest;
  const auto entry = [&](Index i1, Index i2, Index j1, Index j2) {
    return A(i1 * k + i2, j1 * k + j2);
  };
  TermSymmetry found{true, m == k};
  // Most matrices without the symmetry show it in their first columns.
  for (Index j1 = 0; j1 < m && (found.terms || found.equal); ++j1) {
    for (Index j2 = 0; j2 < k && (found.terms || found.equal); ++j2) {
      for (Index i1 = 0; i1 < m; ++i1) {
        for (Index i2 = 0; i2 < k; ++i2) {
          const double x = entry(i1, i2, j1, j2);
          const auto differs = [&](double y) { return std::abs(x - y) > tolerance; };
          if (found.terms && i1 < j1 && differs(entry(j1, i2, i1, j2))) found.terms = false;
          if (found.terms && i2 < j2 && differs(entry(i1, j2, j1, i2))) found.terms = false;
          if (found.equal && i1 < i2 && differs(entry(i2, i1, j2, j1))) found.equal = false;
        }
      }
    }
  }
  return found;
}

/// Rows and columns of the matrix that the terms are computed from.
std::pair<Index, Index> sides_of(const Shape& shape, const TermSymmetry& symmetry) {
  if (symmetry.terms) {
    return {triangle_entries(shape.left_rows), triangle_entries(shape.right_rows)};
  }
  return {shape.left_rows * shape.left_cols, shape.right_rows * shape.right_cols};
}

/// Expected relative error of a sum, and its bytes.
struct Estimate {
  double error = std::numeric_limits<double>::infinity();
  double bytes = std::numeric_limits<double>::infinity();
};

bool is_better(const Estimate& one, const Estimate& other) {
  return std::tie(one.error, one.bytes) < std::tie(other.error, other.bytes);
}

/// A matrix, and what samples of it are compared with.
struct Sampled {
  explicit Sampled(const Matrix& entries)
      : A(entries), largest(largest_entry(A)), unit(unit_scale(A)), norm(scaled_norm(unit, A)) {}

  const Matrix& A;
  double largest;
  double unit;  ///< squares of entries times this power of two neither overflow nor vanish
  double norm;  ///< |unit A|_F
};

/// True if parts of the rearranged matrix show that no sum of so many terms has a relative error of
/// at most `hopeless`. In a part, the sum has at most that rank, so that its error there is at
/// least that of the truncated SVD of the part.
bool is_hopeless(
    const Sampled& all, const Shape& shape, double terms, double hopeless, std::uint64_t seed) {
  if (!std::isfinite(hopeless)) return false;
  double squares = 0;
  for (Index k = 0; k < kParts; ++k) {
    Matrix part = all.unit * sample_of(all.A, shape, kPartSide, seed, k + 1);
    const double share =
        static_cast<double>(kParts * part.size()) / static_cast<double>(all.A.size());
    const Vector sigma = kernels::singular_values(std::move(part));
    const auto kept = static_cast<Index>(std::min(terms, static_cast<double>(sigma.size())));
    squares += sigma.tail(sigma.size() - kept).squaredNorm();
    if (squares > share * hopeless * hopeless * all.norm * all.norm) return true;
  }
  return false;
}

/// Limits of an estimate: bytes, an error that need not be surpassed, and one from which on the
/// estimate is of no interest.
struct Wanted {
  double bytes = 0;
  double enough = 0;
  double hopeless = std::numeric_limits<double>::infinity();
};

/// The sum of this shape that is expected within the bytes, if the rearranged matrix has the
/// singular values of its sample; in the fewest bytes for the error that is enough, if it reaches
/// that. Infinite if no term fits, or if it is hopeless.
Estimate estimate(const Sampled& all,
                  const Shape& shape,
                  const Wanted& wanted,
                  std::uint64_t seed) {
  const TermSymmetry symmetry = symmetry_of(all.A, all.largest, shape);
  const auto [rows, cols] = sides_of(shape, symmetry);
  const Index of_term = symmetry.equal ? rows : rows + cols;
  const double least = static_cast<double>(of_term) * kMinValueBytes + kBesideTerm;
  if (wanted.bytes < least) return {};
  const double terms = std::min(wanted.bytes / least, static_cast<double>(kSampledTriplets));
  if (is_hopeless(all, shape, terms, wanted.hopeless, seed)) return {};
  Matrix sample = sample_of(all.A, shape, kSampled, seed, 0);
  sample *= unit_scale(sample);
  const double norm = sample.stableNorm();
  if (norm == 0) return {wanted.enough, least};
  TruncatedSvdOptions svd;
  svd.rank = std::min({kSampledTriplets, sample.rows(), sample.cols()});
  svd.algorithm = svd.rank < std::min(sample.rows(), sample.cols()) ? SvdAlgorithm::kRandomized
                                                                    : SvdAlgorithm::kDense;
  svd.power_iterations = 1;
  svd.seed = seed;
  const Vector values = low_rank_values(truncated_svd(DenseOperator(sample), svd));
  const auto error_in = [&, rows = rows, cols = cols](double bytes) {
    return packing_error(values, norm, rows, cols, symmetry.equal, bytes).expected;
  };
  // Further terms do not count: noise in a small sample has a lower rank than noise in all of A.
  const double left = std::max(1 - (values / norm).squaredNorm(), 0.0);
  const double error = std::max(error_in(wanted.bytes), std::sqrt(left));
  if (error > wanted.enough) return {error, wanted.bytes};
  double few = least;
  double many = wanted.bytes;
  while (many > kSameBytes * few) {
    const double between = std::sqrt(few * many);
    (error_in(between) <= wanted.enough ? many : few) = between;
  }
  return {wanted.enough, many};
}

struct Choice {
  Shape shape;
  Estimate expected;
};

Choice best_shape(const Matrix& A,
                  const std::vector<Shape>& shapes,
                  const Wanted& wanted,
                  std::uint64_t seed) {
  const Sampled all(A);
  Choice best{shapes.front(), {}};
  for (const Shape& shape : shapes) {
    throw_if_stop_requested();
    const Estimate expected = estimate(all, shape, wanted, seed);
    if (is_better(expected, best.expected)) best = {shape, expected};
  }
  return best;
}

/// The matrix of which L R^T is an approximation.
Matrix reduced(const Matrix& A, const Shape& shape, const TermSymmetry& symmetry) {
  Matrix R = rearranged(A, shape);
  if (symmetry.terms) {
    R = triangles_of(R, shape.left_rows).transpose().eval();
    R = triangles_of(R, shape.right_rows).transpose().eval();
  }
  if (symmetry.equal) R = (0.5 * (R + R.transpose())).eval();
  return R;
}

/// The leading terms of R in a few bits per value, within the bytes.
PackedProduct terms_within_bytes(const DenseOperator& R,
                                 double bytes,
                                 TruncatedSvdOptions svd,
                                 const RunControl& control) {
  const Index of_term = svd.symmetric_storage ? R.rows() : R.rows() + R.cols();
  const double widest = bytes / (static_cast<double>(of_term) * kMinValueBytes);
  const PackingLimit limit{bytes, kExactError * R.values().stableNorm()};
  const auto most = static_cast<Index>(
      std::clamp(widest, 1.0, static_cast<double>(std::min(R.rows(), R.cols()))));
  // There may be more terms while the last one is worth its bytes.
  for (svd.rank = std::min(kFirstTerms, most);; svd.rank = std::min(2 * svd.rank, most)) {
    PackedProduct packed = pack_low_rank(truncated_svd(R, svd, control), limit);
    if (packed.rank < svd.rank || svd.rank == most) return packed;
  }
}

/// The fewest bytes, at most `bytes`, with |R - L R'^T|_F <= tolerance |R|_F.
PackedProduct terms_within_error(const DenseOperator& R,
                                 double tolerance,
                                 double bytes,
                                 TruncatedSvdOptions svd,
                                 const RunControl& control) {
  svd.frobenius_tolerance = kTruncationShare * tolerance;
  const Approximation triplets = truncated_svd(R, svd, control);
  return pack_low_rank(triplets, {bytes, kRoundingShare * tolerance * R.values().stableNorm()});
}

/// The zero matrix as a sum of one product.
Factor zero_sum(const Shape& shape) {
  const auto zero_term = [](Index entries) {
    return PackedMatrix::rounded(Matrix::Zero(entries, 1), std::vector<std::uint8_t>{0});
  };
  return make_factor("K",
                     KroneckerSum({shape,
                                   false,
                                   zero_term(shape.left_rows * shape.left_cols),
                                   zero_term(shape.right_rows * shape.right_cols),
                                   {}}));
}

}  // namespace

void KroneckerOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit("left_rows", left_rows, "rows of the left factors, a divisor of m; 0: chosen");
  v.visit("left_cols", left_cols, "columns of the left factors, a divisor of n; 0: chosen");
  v.visit("seed", seed, "seed of the samples and of the randomized SVD");
}

Approximation kronecker(const LinearOperator& A,
                        const KroneckerOptions& options,
                        const RunControl& control) {
  require_not_empty(A, kKronecker);
  const double tolerance = options.frobenius_tolerance;
  require_tolerance(tolerance, kKronecker);
  require_divisor(options.left_rows, A.rows(), "rows", kKronecker);
  require_divisor(options.left_cols, A.cols(), "columns", kKronecker);
  const StopScope scope(control, kKronecker);
  const HeldEntries held(A, kKronecker, control);
  const Matrix& entries = held.values();
  const double bytes = options.budget.is_set()
                           ? options.budget.bytes(A.rows(), A.cols())
                           : default_budget(A.rows(), A.cols()).bytes(A.rows(), A.cols());
  const std::vector<Shape> shapes = shapes_of(A, options.left_rows, options.left_cols);
  const double all_bytes = 8.0 * static_cast<double>(entries.size());
  const double limit = tolerance > 0 && !options.budget.is_set() ? all_bytes : bytes;
  const double enough = std::max(tolerance, kEstimateError);
  const Shape shape = shapes.size() == 1
                          ? shapes.front()
                          : best_shape(entries, shapes, {limit, enough}, options.seed).shape;

  Summary summary;
  summary.method = kKronecker;
  summary.seed = options.seed;
  summary.options = list_options(options);
  if (entries.isZero(0)) {
    Approximation zero({zero_sum(shape)}, std::move(summary));
    const auto takes = static_cast<double>(zero.storage().bytes);
    if (options.budget.is_set() && takes > bytes) {
      throw BudgetTooSmall(fmt::format("{}: zero takes {:.0f} bytes, more than the budget of {}",
                                       kKronecker,
                                       takes,
                                       options.budget.text()),
                           takes);
    }
    return zero;
  }
  require_memory(2 * all_bytes, fmt::format("{}: the rearranged matrix", kKronecker));
  const TermSymmetry symmetry = symmetry_of(entries, largest_entry(entries), shape);
  const DenseOperator R(reduced(entries, shape, symmetry));
  TruncatedSvdOptions svd;
  svd.seed = options.seed;
  svd.symmetric_storage = symmetry.equal;
  RunControl svd_control = control;
  svd_control.checkpoint = nullptr;
  svd_control.resume = nullptr;
  svd_control.target_error = 0;
  const double most_bytes =
      options.budget.is_set() ? bytes : std::numeric_limits<double>::infinity();
  const PackedProduct packed = tolerance > 0
                                   ? terms_within_error(R, tolerance, most_bytes, svd, svd_control)
                                   : terms_within_bytes(R, bytes, svd, svd_control);
  KroneckerSum::Content content{
      shape, symmetry.terms, std::get<PackedMatrix>(*packed.factors.front().value), {}, {}};
  if (symmetry.equal) {
    content.weights = std::get<Vector>(*packed.factors[1].value);
  } else {
    content.right = std::get<PackedMatrix>(*packed.factors.back().value);
  }
  KroneckerSum sum(std::move(content));
  summary.rank = sum.count();
  summary.form = fmt::format("{} term{}", sum.count(), sum.count() == 1 ? "" : "s");
  return {{make_factor("K", std::move(sum))}, std::move(summary)};
}

double kronecker_error_estimate(const LinearOperator& A,
                                double bytes,
                                double hopeless,
                                std::uint64_t seed) {
  const HeldEntries held(A, kKronecker, {});
  const std::vector<Shape> shapes = shapes_of(A, 0, 0);
  const double error =
      best_shape(held.values(), shapes, {bytes, kEstimateError, hopeless}, seed).expected.error;
  return error <= kEstimateError ? 0 : error;
}

}  // namespace matapprox
