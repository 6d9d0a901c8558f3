#include "methods/cur/columns.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "factors/factor_value.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/checkpoints.hpp"
#include "methods/finite.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "methods/weighted_sample.hpp"

namespace matapprox {
namespace {

constexpr Index kCopiedColumns = 64;

}  // namespace

void ChosenColumns::fetch(const std::vector<Index>& J, Index count, const RunControl& control) {
  columns_.clear();
  nonzeros_.assign(1, 0);
  const std::span<const Index> chosen(J.data(), static_cast<std::size_t>(count));
  for (Index first = 0; first < count; first += kCopiedColumns) {
    control.throw_if_stopped("cur");
    const Index width = std::min(kCopiedColumns, count - first);
    const Matrix panel = A_.columns_at(
        chosen.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(width)));
    require_finite(panel, "cur");
    for (Index c = 0; c < width; ++c) {
      const auto values = panel.col(c);
      const Index nonzeros = (values.array() != 0.0).count();
      nonzeros_.push_back(nonzeros_.back() + nonzeros);
      Column column;
      if (2 * nonzeros > values.size()) {
        column.values.assign(values.begin(), values.end());
      } else {
        for (Index i = 0; i < values.size(); ++i) {
          if (values(i) == 0.0) continue;
          column.rows.push_back(i);
          column.values.push_back(values(i));
        }
      }
      columns_.push_back(std::move(column));
    }
  }
}

bool ChosenColumns::is_sparse(Index k) const {
  return 2 * nonzeros_[static_cast<std::size_t>(k)] <= A_.rows() * k;
}

Storage ChosenColumns::storage(Index k, Precision precision) const {
  const Index nonzeros = nonzeros_[static_cast<std::size_t>(k)];
  if (is_sparse(k)) return {nonzeros, sparse_bytes(k, A_.rows(), nonzeros, precision)};
  return {A_.rows() * k, A_.rows() * k * bytes_per_value(precision)};
}

Matrix ChosenColumns::dense(Index k) const {
  Matrix result = Matrix::Zero(A_.rows(), k);
  for (Index c = 0; c < k; ++c) {
    const Column& column = columns_[static_cast<std::size_t>(c)];
    for (std::size_t t = 0; t < column.values.size(); ++t) {
      result(column.rows.empty() ? static_cast<Index>(t) : column.rows[t], c) = column.values[t];
    }
  }
  return result;
}

NonzeroRows ChosenColumns::nonzero_rows(Index k) const {
  std::vector<Index> place(static_cast<std::size_t>(A_.rows()), -1);  // row in the result, or -1
  Index count = 0;
  const auto take = [&](Index row) {
    Index& at = place[static_cast<std::size_t>(row)];
    if (at < 0) at = count++;
  };
  for (Index c = 0; c < k; ++c) {
    const Column& column = columns_[static_cast<std::size_t>(c)];
    for (std::size_t t = 0; t < column.values.size(); ++t) {
      if (column.values[t] != 0.0)
        take(column.rows.empty() ? static_cast<Index>(t) : column.rows[t]);
    }
  }
  Index padding = 0;
  while (count < k) take(padding++);

  NonzeroRows result;
  result.rows.reserve(static_cast<std::size_t>(count));
  for (Index row = 0; row < A_.rows(); ++row) {
    Index& at = place[static_cast<std::size_t>(row)];
    if (at < 0) continue;
    at = static_cast<Index>(result.rows.size());
    result.rows.push_back(row);
  }
  result.values = Matrix::Zero(count, k);
  for (Index c = 0; c < k; ++c) {
    const Column& column = columns_[static_cast<std::size_t>(c)];
    for (std::size_t t = 0; t < column.values.size(); ++t) {
      const std::size_t row = column.rows.empty() ? t : static_cast<std::size_t>(column.rows[t]);
      if (column.values[t] != 0.0) result.values(place[row], c) = column.values[t];
    }
  }
  return result;
}

/// Returns C^T, which has one row pointer per chosen column instead of one per row of A.
SparseMatrix ChosenColumns::sparse_rows(Index k) const {
  SparseMatrix result(k, A_.rows());
  result.reserve(nonzeros_[static_cast<std::size_t>(k)]);
  for (Index c = 0; c < k; ++c) {
    result.startVec(c);
    const Column& column = columns_[static_cast<std::size_t>(c)];
    for (std::size_t t = 0; t < column.values.size(); ++t) {
      const Index row = column.rows.empty() ? static_cast<Index>(t) : column.rows[t];
      if (column.values[t] != 0.0) result.insertBack(c, row) = column.values[t];
    }
  }
  result.finalize();
  return result;
}

Factor ChosenColumns::factor(std::string name, Index k, bool transposed) const {
  if (is_sparse(k)) return make_factor(std::move(name), sparse_rows(k), !transposed);
  return make_factor(std::move(name), dense(k), transposed);
}

namespace {

constexpr const char* kSelection = "cur";
constexpr Index kOversampling = 10;
constexpr Index kScoredColumns = 64;
enum SelectionDraw : Index { kColumnDraw = 5, kRowDraw = 6 };

/// Orders columns by column-pivoted QR of a Gaussian sketch of `count` + 10 rows [VM17].
std::vector<Index> pivoted_order(const LinearOperator& A,
                                 Index count,
                                 std::uint64_t seed,
                                 RandomStream stream) {
  const Index rows = std::min(A.rows(), count + kOversampling);
  Matrix sketch = A.apply_transpose(random_normal_matrix(seed, stream, A.rows(), rows));
  require_finite(sketch, kSelection);
  sketch *= unit_scale(sketch);
  return kernels::pivoted_qr_order(sketch.transpose());
}

/// Orders indices by discrete empirical interpolation of singular vectors [SE16]: Gaussian
/// elimination with row pivoting. The j-th index depends on the first j vectors only.
std::vector<Index> deim_order(Matrix V) {
  std::vector<Index> order;
  for (Index j = 0; j < V.cols(); ++j) {
    throw_if_stop_requested();
    Index pivot = 0;
    const double largest = V.col(j).cwiseAbs().maxCoeff(&pivot);
    if (largest == 0.0) break;
    order.push_back(pivot);
    const Vector column = V.col(j) / V(pivot, j);
    const Index later = V.cols() - j - 1;
    const Eigen::RowVectorXd row = V.row(pivot).tail(later);
    V.rightCols(later).noalias() -= column * row;
    V.row(pivot).setZero();
  }
  return order;
}

/// Appends the indices missing from `order`.
std::vector<Index> completed(std::vector<Index> order, Index n) {
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  for (const Index i : order) seen[static_cast<std::size_t>(i)] = true;
  for (Index i = 0; i < n; ++i) {
    if (!seen[static_cast<std::size_t>(i)]) order.push_back(i);
  }
  return order;
}

Vector squared_column_norms(const LinearOperator& A, const RunControl& control) {
  Vector logs(A.cols());
  for (Index first = 0; first < A.cols(); first += kScoredColumns) {
    control.throw_if_stopped(kSelection);
    const auto J = index_range(first, std::min(kScoredColumns, A.cols() - first));
    const Matrix panel = A.columns_at(J);
    require_finite(panel, kSelection);
    const double scale = unit_scale(panel);
    logs.segment(first, panel.cols()) =
        ((panel * scale).colwise().squaredNorm().array().log() - 2 * std::log(scale)).transpose();
  }
  const double largest = logs.maxCoeff();
  if (!std::isfinite(largest)) return Vector::Zero(A.cols());
  return (logs.array() - largest).exp();
}

CurOrder from_singular_vectors(const LinearOperator& A,
                               Index count,
                               const CurOptions& options,
                               const RunControl& control) {
  TruncatedSvdOptions svd_options;
  svd_options.power_iterations = 2;
  svd_options.seed = options.seed;
  SvdCheckpoints none;
  const kernels::Svd found =
      host_triplets(randomized_svd(A, is_symmetric(A), count, svd_options, control, none));
  const Matrix& U = found.U;
  const Matrix& V = found.V;
  if (options.sampling == CurSampling::kDeim) {
    return {completed(deim_order(V), A.cols()), completed(deim_order(U), A.rows())};
  }
  return {weighted_order(row_squared_norms(V), options.seed, kColumnDraw),
          weighted_order(row_squared_norms(U), options.seed, kRowDraw)};
}

}  // namespace

CurOrder cur_order(const LinearOperator& A,
                   Index count,
                   const CurOptions& options,
                   const RunControl& control) {
  const auto At = transpose(std::shared_ptr<const LinearOperator>(std::shared_ptr<void>(), &A));
  const std::uint64_t seed = options.seed;
  control.throw_if_stopped(kSelection);
  switch (options.sampling) {
    case CurSampling::kPivotedQr:
      return {pivoted_order(A, count, seed, RandomStream::kSketch),
              pivoted_order(*At, count, seed, RandomStream::kCoSketch)};
    case CurSampling::kDeim:
    case CurSampling::kLeverage:
      return from_singular_vectors(A, count, options, control);
    case CurSampling::kNorms:
      return {weighted_order(squared_column_norms(A, control), seed, kColumnDraw),
              weighted_order(squared_column_norms(*At, control), seed, kRowDraw)};
    default:
      return {weighted_order(Vector::Ones(A.cols()), seed, kColumnDraw),
              weighted_order(Vector::Ones(A.rows()), seed, kRowDraw)};
  }
}

namespace {

constexpr const char* kMiddle = "cur";
constexpr double kDoubleRounding = std::numeric_limits<double>::epsilon();
/// One factor is used if its rounding costs at most this fraction of the error of the best U: the
/// sum of both squares is then at most 1.01 of the best.
constexpr double kSmallShare = 0.1;

/// Largest relative error of rounding a number to that precision.
double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::kFloat:
      return std::ldexp(1.0, -24);
    case Precision::kFloat16:
      return std::ldexp(1.0, -11);
    case Precision::kBfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -53);
  }
}

Matrix rounded(const Matrix& X, Precision precision) {
  return X.unaryExpr([precision](double x) { return rounded_number(x, precision); });
}

/// The exponent of a power of two.
int exponent_of(double power) { return std::ilogb(power); }

/// 2^exponent C = Q S Y^T D, where D are the lengths of the columns and S the p singular values
/// above rounding of C with columns of length 1. Q omits the rows where C is zero.
struct Decomposed {
  Matrix Q;  ///< |rows| x p, orthonormal columns
  Vector S;  ///< p
  Matrix Y;  ///< k x p
  Vector D;  ///< k
  int exponent = 0;
};

/// Returns the number of basis directions to keep. A direction contributes its part of the core,
/// whatever its singular value s, and loses a fraction of that to rounding: S and products with Y
/// S^-1 are known to about sqrt(k) eps S(0) / s, as sums of k terms with independent rounding
/// errors. So directions pay off down to s of a few sqrt(k) eps S(0), and each one that is left out
/// may be most of the error. Directions from which a stored U1 would be wrong by its own size, even
/// after U2 is fitted to it, are also left out.
Index numerical_rank(const Vector& S, Precision precision) {
  const double unit = precision == Precision::kDouble || precision == Precision::kPacked
                          ? 0.0
                          : unit_roundoff(precision);
  const double tolerance =
      std::max(2 * kDoubleRounding * std::sqrt(static_cast<double>(S.size())), unit * unit);
  Index count = 0;
  while (count < S.size() && S(count) > tolerance * S(0)) ++count;
  return count;
}

Decomposed decompose(const Matrix& values, Precision precision) {
  Matrix C = rounded(values, precision);
  // A factor that is out of range is reported where it is rounded.
  if (!C.allFinite()) C = values;
  const double scale = unit_scale(C);
  C *= scale;
  Decomposed result;
  result.exponent = exponent_of(scale);
  result.D = C.colwise().norm().transpose().unaryExpr([](double d) { return d > 0 ? d : 1.0; });
  C = C * result.D.cwiseInverse().asDiagonal();
  Matrix T;
  const Matrix Q = kernels::thin_qr(std::move(C), &T);
  const kernels::Svd small = kernels::svd(std::move(T));
  const Index p = numerical_rank(small.S, precision);
  result.Q = kernels::product(Q, small.U.leftCols(p));
  result.S = small.S.head(p);
  result.Y = small.V.leftCols(p);
  return result;
}

/// Returns D^-1 Y S^-1, which times Q^T is C^+ for 2^exponent C = Q S Y^T D.
Matrix inverse_part(const Decomposed& C) {
  return C.D.cwiseInverse().asDiagonal() * C.Y * C.S.cwiseInverse().asDiagonal();
}

/// The best core between the bases, which is 2^exponent A in them, and its residual.
struct Core {
  Matrix M;  ///< p x q
  int exponent = 0;
  double residual = 0;  ///< |A Q_R - Q_C M|_F, in the units of M: part of the least error
};

Core core_of(const LinearOperator& A,
             const std::vector<Index>& rows,
             const Decomposed& left,
             const std::vector<Index>& cols,
             const Decomposed& right) {
  Matrix Q = Matrix::Zero(A.cols(), right.Q.cols());
  Q(cols, Eigen::all) = right.Q;
  Matrix AQ = A.apply(Q);
  require_finite(AQ, kMiddle);
  const double scale = unit_scale(AQ);
  AQ *= scale;
  const Matrix chosen = AQ(rows, Eigen::all);
  Core core;
  core.M = kernels::transpose_product(left.Q, chosen);
  core.exponent = exponent_of(scale);
  AQ(rows, Eigen::all) = chosen - kernels::product(left.Q, core.M);
  core.residual = AQ.norm();
  return core;
}

/// True if products with one rounded U lose little in the Frobenius norm: an entry of S_C^-1 M
/// S_R^-1 is rounded once in storage, and products with it in doubles lose rounding times |C| |R|.
bool one_factor_is_stable(const Core& core,
                          const Decomposed& left,
                          const Decomposed& right,
                          Precision precision) {
  const double size =
      (left.S.cwiseInverse().asDiagonal() * core.M * right.S.cwiseInverse().asDiagonal()).norm();
  const double in_products = 4 * kDoubleRounding * left.S(0) * right.S(0);
  const double in_storage = unit_roundoff(precision);
  const auto k = static_cast<double>(left.Y.rows());
  const double ordinary = (40 * k * kDoubleRounding + 4 * in_storage) * core.M.norm();
  return std::hypot(in_products, in_storage) * size <=
         std::max(kSmallShare * core.residual, ordinary);
}

/// Returns 2^exponent X, even if that power is out of range.
Matrix scaled(const Matrix& X, int exponent) {
  return X.unaryExpr([exponent](double x) { return std::ldexp(x, exponent); });
}

Matrix one_factor(const Core& core, const Decomposed& left, const Decomposed& right) {
  const Matrix U = kernels::product(kernels::Trans::kNo,
                                    kernels::product(inverse_part(left), core.M),
                                    kernels::Trans::kYes,
                                    inverse_part(right));
  return scaled(U, left.exponent + right.exponent - core.exponent);
}

/// Fits M to the factor as it is stored: returns T^-1 M, where C 2^-exponent `stored` is the basis
/// times T.
Matrix fitted_to(const Matrix& stored, const Decomposed& C, int exponent, const Matrix& M) {
  const Matrix T = C.S.asDiagonal() *
                   kernels::transpose_product(C.Y, C.D.asDiagonal() * scaled(stored, -exponent));
  return Eigen::HouseholderQR<Matrix>(T).solve(M);
}

/// Returns U1, U2 and U3. U2 is fitted to U1 and U3 as they are stored, so that rounding them costs
/// nothing as long as they keep their ranks. Powers of two bring the three to about the same size,
/// at which they and products with them stay within the range of their precision.
std::vector<Factor> three_factors(const Core& core,
                                  const Decomposed& left,
                                  const Decomposed& right,
                                  Precision precision) {
  Matrix U1 = inverse_part(left);
  Matrix U3 = inverse_part(right);
  const int size = std::max(left.exponent - exponent_of(unit_scale(U1)),
                            right.exponent - exponent_of(unit_scale(U3)));
  const int shift = (-core.exponent - size) / 3;
  U1 = rounded(scaled(U1, left.exponent + shift), precision);
  U3 = rounded(scaled(U3, right.exponent + shift), precision);
  Matrix M = core.M;
  if (unit_roundoff(precision) > kDoubleRounding) {
    M = fitted_to(U1, left, left.exponent + shift, M);
    M = fitted_to(U3, right, right.exponent + shift, M.transpose()).transpose().eval();
  }
  return {make_factor("U1", std::move(U1)),
          make_factor("U2", scaled(M, -core.exponent - 2 * shift)),
          make_factor("U3", std::move(U3), true)};
}

}  // namespace

std::vector<Factor> best_middle(const LinearOperator& A,
                                const NonzeroRows& C,
                                const NonzeroRows& Rt,
                                const RunControl& control) {
  const Precision precision = control.stored_precision;
  const Decomposed left = decompose(C.values, precision);
  control.throw_if_stopped(kMiddle);
  const Decomposed right = decompose(Rt.values, precision);
  control.throw_if_stopped(kMiddle);
  const Index k = C.values.cols();
  if (left.S.size() == 0 || right.S.size() == 0) {
    return {make_factor("U", Matrix(Matrix::Zero(k, k)))};
  }
  const Core core = core_of(A, C.rows, left, Rt.rows, right);
  if (one_factor_is_stable(core, left, right, precision)) {
    Matrix U = one_factor(core, left, right);
    if (rounded(U, precision).allFinite()) return {make_factor("U", std::move(U))};
  }
  return three_factors(core, left, right, precision);
}

}  // namespace matapprox
