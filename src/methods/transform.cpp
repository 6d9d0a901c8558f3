#include "matapprox/methods/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "factors/wavelet_coding.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/factors/transform_matrix.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/methods/exact.hpp"
#include "matapprox/methods/wavelet.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kTransform = "transform";
/// Columns of coefficients in a sample.
constexpr Index kSampledCoefficientColumns = 16;
/// Rows of a sample that bits and errors are estimated from.
constexpr Index kSampledCoefficientRows = 128;
/// Coefficients below this part of the largest one are rounding errors of the transforms.
constexpr double kRoundingOfCoefficients = 1e-13;
/// Coefficients are stored to 49 bits of the largest one: those that are equal but for rounding
/// become equal, and so a short list of values.
constexpr int kStoredBits = 49;
/// Bytes of a coefficient in a list, for estimates.
constexpr double kListedBytes = 10;
/// A list of more than this part of all coefficients is no short one.
constexpr double kMaxListedShare = 0.5;
/// Relative error of listed coefficients, for estimates.
constexpr double kListedError = 1e-15;

/// A basis, or none.
using Side = std::optional<TransformKind>;

constexpr std::array kBases{std::pair{Basis::kCosine, TransformKind::kCosine},
                            std::pair{Basis::kSine, TransformKind::kSine},
                            std::pair{Basis::kFourier, TransformKind::kFourier},
                            std::pair{Basis::kHadamard, TransformKind::kHadamard}};

/// The bases that an option admits for vectors of length n: all that exist, or the one named.
std::vector<Side> admitted(Basis basis, Index n) {
  std::vector<Side> sides;
  if (basis == Basis::kAuto || basis == Basis::kNone) sides.emplace_back(std::nullopt);
  for (const auto& [each, kind] : kBases) {
    if (basis == Basis::kAuto ? TransformMatrix::exists(kind, n) : basis == each)
      sides.emplace_back(TransformMatrix(kind, n).kind());  // throws if there is none
  }
  return sides;
}

struct Bases {
  Side left;
  Side right;
};

std::string_view name_of(const Side& side) { return side ? enum_name(*side) : "none"; }

/// T^T X, or X without a basis.
Matrix analyzed(const Side& side, const Matrix& X) {
  return side ? TransformMatrix(*side, X.rows()).apply_transpose(X) : X;
}

/// Columns of C, and how many columns each of them stands for.
struct SampledColumns {
  std::vector<Index> indices;
  Vector weights;
};

/// A random column from each of kSampledCoefficientColumns ranges. In a basis that is ordered by
/// frequency their ends are in geometric progression, because low frequencies have most of a smooth
/// matrix.
SampledColumns sampled_columns(const Side& side, Index n, std::uint64_t seed) {
  const bool by_frequency = side && *side != TransformKind::kHadamard;
  const Index count = std::min(n, kSampledCoefficientColumns);
  const auto end_of = [&](Index k) {
    const double part = static_cast<double>(k) / static_cast<double>(count);
    const auto size = static_cast<double>(n);
    return static_cast<Index>(by_frequency ? std::pow(size, part) : part * size);
  };
  SampledColumns sample;
  sample.weights.resize(count);
  Index first = 0;
  for (Index k = 0; k < count; ++k) {
    const Index end =
        k + 1 == count ? n : std::clamp(end_of(k + 1), first + 1, n - (count - 1 - k));
    sample.weights(k) = static_cast<double>(end - first);
    sample.indices.push_back(first +
                             random_index(seed, RandomStream::kTransform, 0, k, end - first));
    first = end;
  }
  return sample;
}

/// Columns J of A T for each right basis T, times a power of two, side by side: A is read once.
std::vector<Matrix> times_bases(const Matrix& A,
                                double scale,
                                const std::vector<Side>& rights,
                                const std::vector<SampledColumns>& samples) {
  std::vector<Matrix> products(rights.size());
  Matrix bases(A.cols(), 0);
  for (std::size_t k = 0; k < rights.size(); ++k) {
    const std::vector<Index>& J = samples[k].indices;
    if (rights[k]) {
      append_columns(bases, scale * TransformMatrix(*rights[k], A.cols()).columns(false, J));
    } else {
      products[k] = scale * A(Eigen::all, J);
    }
  }
  const Matrix all = kernels::product(A, bases);
  Index first = 0;
  for (std::size_t k = 0; k < rights.size(); ++k) {
    if (!rights[k]) continue;
    const auto count = static_cast<Index>(samples[k].indices.size());
    products[k] = all.middleCols(first, count);
    first += count;
  }
  return products;
}

/// The goal of a fit: the least error within bytes, or the fewest bytes for an error.
struct CoefficientGoal {
  double bytes = 0;
  double error = 0;  ///< absolute; 0: the bytes count
  bool symmetric = false;
};

/// Expected bytes and absolute error of coefficients.
struct ExpectedCoefficients {
  double error = std::numeric_limits<double>::infinity();
  double bytes = std::numeric_limits<double>::infinity();
  bool beats(const ExpectedCoefficients& other, const CoefficientGoal& goal) const {
    return goal.error > 0 ? bytes < other.bytes : error < other.error;
  }
};

/// Expects the bytes and the error of coefficients of which S has some columns. Of a symmetric C
/// half the coefficients are stored.
ExpectedCoefficients expected_of(const Matrix& S,
                                 const SampledColumns& sample,
                                 const CoefficientGoal& goal,
                                 bool halved,
                                 std::uint64_t seed) {
  const double largest = S.cwiseAbs().maxCoeff();
  if (largest == 0) return {};
  const double stored = halved ? 0.5 : 1;
  double listed = 0;
  for (Index c = 0; c < S.cols(); ++c) {
    const auto count = (S.col(c).array().abs() > kRoundingOfCoefficients * largest).count();
    listed += stored * sample.weights(c) * static_cast<double>(count);
  }
  const double list_bytes = kListedBytes * listed;
  if (goal.error == 0 && list_bytes <= goal.bytes)
    return {kListedError * largest * std::sqrt(listed), list_bytes};
  // A random row of each of these ranges: evenly spaced ones would all be even, or all sines.
  const Index count = std::min(S.rows(), kSampledCoefficientRows);
  std::vector<Index> rows;
  for (Index k = 0; k < count; ++k) {
    const Index first = k * S.rows() / count;
    const Index end = (k + 1) * S.rows() / count;
    rows.push_back(first + random_index(seed, RandomStream::kTransform, 1, k, end - first));
  }
  const double each = static_cast<double>(S.rows()) / static_cast<double>(count);
  const double entries = sample.weights.sum() * static_cast<double>(S.rows());
  wavelets::SizeHistogram sizes(largest);
  for (Index c = 0; c < S.cols(); ++c) sizes.add(S(rows, c), each * sample.weights(c));
  const auto rate_at = [&](double step) {
    wavelets::Rate all = sizes.rate(step);
    // The places of k nonzeros among N take about k log2(e N / k) bits; log2(9) of them count
    // above.
    constexpr double kCounted = 3.17;
    if (all.nonzeros > 0) {
      const double place = std::log2(std::numbers::e * entries / all.nonzeros);
      all.bits += all.nonzeros * std::max(place - kCounted, 0.0);
    }
    all.bits *= stored;
    return all;
  };
  if (goal.error > 0) {
    return {goal.error,
            std::min(list_bytes, rate_at(goal.error * std::sqrt(12 / entries)).bits / 8)};
  }
  const double step =
      wavelets::step_for_bits(largest, 8 * goal.bytes, [&](double at) { return rate_at(at).bits; });
  // Coefficients have at most kMaxBits bits.
  const double least = std::ldexp(largest, -wavelets::kMaxBits) * std::sqrt(entries / 12);
  return {std::max(std::sqrt(rate_at(step).squared_error), least), goal.bytes};
}

struct BasesChoice {
  Bases bases;
  ExpectedCoefficients expected;
};

/// The pair of bases that is expected to serve the goal of A times `scale` best; none on both sides
/// only if nothing else is admitted.
BasesChoice best_bases(const Matrix& A,
                       double scale,
                       const std::vector<Side>& lefts,
                       const std::vector<Side>& rights,
                       const CoefficientGoal& goal,
                       std::uint64_t seed) {
  BasesChoice best{{lefts.front(), rights.front()}, {}};
  std::vector<SampledColumns> samples;
  samples.reserve(rights.size());
  for (const Side& right : rights) samples.push_back(sampled_columns(right, A.cols(), seed));
  const std::vector<Matrix> products = times_bases(A, scale, rights, samples);
  for (std::size_t k = 0; k < rights.size(); ++k) {
    const Side& right = rights[k];
    for (const Side& left : lefts) {
      throw_if_stop_requested();
      const bool is_plain = !left && !right;
      if (is_plain && lefts.size() * rights.size() > 1) continue;
      const bool halved = goal.symmetric && left == right;
      const ExpectedCoefficients expected =
          expected_of(analyzed(left, products[k]), samples[k], goal, halved, seed);
      if (expected.beats(best.expected, goal)) best = {{left, right}, expected};
    }
  }
  return best;
}

/// C = T_m^T A T_n; symmetric if A is and both bases are the same.
Matrix coefficients_of(const Matrix& A, const Bases& bases, bool symmetric) {
  Matrix C = analyzed(bases.left, A);
  if (bases.right) C = analyzed(bases.right, C.transpose()).transpose().eval();
  if (symmetric) C = (0.5 * (C + C.transpose())).eval();
  return C;
}

/// The coefficients above rounding, in a multiple of a power of two, if they are few.
std::optional<SparseMatrix> listed(const Matrix& C) {
  const double largest = C.cwiseAbs().maxCoeff();
  const double least = kRoundingOfCoefficients * largest;
  const auto count = static_cast<double>((C.array().abs() > least).count());
  if (count > kMaxListedShare * static_cast<double>(C.size())) return std::nullopt;
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double unit = std::ldexp(1.0, exponent - kStoredBits);
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (Index j = 0; j < C.cols(); ++j) {
    for (Index i = 0; i < C.rows(); ++i) {
      if (std::abs(C(i, j)) > least) entries.emplace_back(i, j, std::round(C(i, j) / unit) * unit);
    }
  }
  SparseMatrix list(C.rows(), C.cols());
  list.setFromTriplets(entries.begin(), entries.end());
  return list;
}

/// C in a few bits, or as a list. With a goal of bytes, the list is taken if it fits.
Approximation stored(const Matrix& C,
                     double scale,
                     const TransformOptions& options,
                     const CoefficientGoal& goal,
                     const RunControl& control) {
  std::optional<Approximation> list;
  if (const auto few = listed(C)) {
    // The squares of what is left out and of the rounding add up to the squared error.
    const bool reaches = goal.error == 0 || (C - Matrix(*few)).norm() <= goal.error;
    if (reaches) list = exact(SparseOperator(SparseMatrix(*few / scale)), {}, control);
  }
  const auto bytes_of = [](const Approximation& B) {
    return static_cast<double>(B.storage().bytes);
  };
  const bool fits = list && bytes_of(*list) <= goal.bytes;
  if (fits && goal.error == 0) return std::move(*list);
  WaveletOptions coding;
  coding.budget = options.budget;
  coding.frobenius_tolerance = options.frobenius_tolerance;
  coding.levels = 0;
  try {
    Approximation coded = wavelet(DenseOperator(Matrix(C / scale)), coding, control);
    const bool reached = coded.summary.termination == Termination::kTargetReached;
    if (!fits || (reached && bytes_of(coded) <= bytes_of(*list))) return coded;
  } catch (const BudgetTooSmall& error) {
    if (!fits) {
      const double coded = error.least_bytes();  // 0: not known
      const double least = list ? bytes_of(*list) : coded;
      throw BudgetTooSmall(fmt::format("{}: the coefficients do not fit into the budget of {}",
                                       kTransform,
                                       options.budget.text()),
                           coded > 0 ? std::min(coded, least) : least);
    }
  }
  list->summary.termination = Termination::kTargetReached;
  return std::move(*list);
}

CoefficientGoal goal_of(const LinearOperator& A, const TransformOptions& options, double norm) {
  CoefficientGoal goal;
  goal.bytes = options.budget.is_set() ? options.budget.bytes(A.rows(), A.cols())
               : options.frobenius_tolerance > 0
                   ? std::numeric_limits<double>::infinity()
                   : default_budget(A.rows(), A.cols()).bytes(A.rows(), A.cols());
  goal.error = options.frobenius_tolerance * norm;
  goal.symmetric = is_symmetric(A);
  return goal;
}

}  // namespace

void TransformOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit_enum("left", left, "basis of the columns of A");
  v.visit_enum("right", right, "basis of the rows of A");
  v.visit("seed", seed, "seed of the sampled coefficients that choose the bases");
}

Approximation transform(const LinearOperator& A,
                        const TransformOptions& options,
                        const RunControl& control) {
  require_not_empty(A, kTransform);
  require_tolerance(options.frobenius_tolerance, kTransform);
  const std::vector<Side> lefts = admitted(options.left, A.rows());
  const std::vector<Side> rights = admitted(options.right, A.cols());
  const StopScope scope(control, kTransform);
  const HeldEntries held(A, kTransform, control);
  const double entries = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  require_memory(40 * entries, fmt::format("{}: the coefficients", kTransform));
  const double scale = unit_scale(held.values());
  Matrix C = scale * held.values();
  const CoefficientGoal goal = goal_of(A, options, C.norm());
  const bool chooses = lefts.size() * rights.size() > 1;
  const Bases bases = chooses ? best_bases(C, 1, lefts, rights, goal, options.seed).bases
                              : Bases{lefts.front(), rights.front()};
  C = coefficients_of(C, bases, goal.symmetric && bases.left == bases.right);
  Approximation inner = stored(C, scale, options, goal, control);

  Summary summary;
  summary.method = kTransform;
  summary.seed = options.seed;
  summary.options = list_options(options);
  summary.termination = inner.summary.termination;
  summary.message = inner.summary.message;
  summary.form = fmt::format("columns {}, rows {}", name_of(bases.left), name_of(bases.right));
  std::vector<Factor> factors;
  if (bases.left) factors.push_back(make_factor("L", TransformMatrix(*bases.left, A.rows())));
  factors.push_back(inner.factors().front());
  factors.back().name = "C";
  if (bases.right)
    factors.push_back(make_factor("R", TransformMatrix(*bases.right, A.cols()), true));
  return {std::move(factors), std::move(summary)};
}

double transform_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed) {
  const HeldEntries held(A, kTransform, {});
  const double scale = unit_scale(held.values());
  const double norm = scaled_norm(scale, held.values());
  if (norm == 0) return 0;
  const BasesChoice choice = best_bases(held.values(),
                                        scale,
                                        admitted(Basis::kAuto, A.rows()),
                                        admitted(Basis::kAuto, A.cols()),
                                        {bytes, 0, is_symmetric(A)},
                                        seed);
  return choice.expected.error / norm;
}

}  // namespace matapprox
