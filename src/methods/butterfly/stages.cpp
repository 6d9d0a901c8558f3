#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "factors/quantizer.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/butterfly/plan.hpp"
#include "methods/finite.hpp"

namespace matapprox::butterflies {
namespace {

/// Rotations of columns whose cosine is below this change nothing.
constexpr double kOrthogonal = std::numeric_limits<double>::epsilon();
constexpr int kMaxSweeps = 30;
/// Stands for the norm of zero.
constexpr double kTiny = std::numeric_limits<double>::min();

/// Left singular vectors, and squared singular values in the same order, descending.
struct LeftVectors {
  Matrix vectors;
  Vector squares;
};

/// One-sided Jacobi [Hes58] rotates the columns of the triangular factor of W^T, which keeps small
/// singular values accurate. W has few rows.
LeftVectors left_vectors(const Matrix& W) {
  Matrix R = W.transpose();
  const Index s = W.rows();
  if (R.rows() > s) {
    const Eigen::HouseholderQR<Matrix> qr(R);
    R = qr.matrixQR().topRows(s).triangularView<Eigen::Upper>();
  }
  Matrix V = Matrix::Identity(s, s);
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (Index i = 0; i < s; ++i) {
      for (Index j = i + 1; j < s; ++j) {
        const double a = R.col(i).squaredNorm();
        const double b = R.col(j).squaredNorm();
        const double c = R.col(i).dot(R.col(j));
        if (std::abs(c) <= kOrthogonal * std::sqrt(a * b)) continue;
        rotated = true;
        const double zeta = (b - a) / (2 * c);
        const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const Eigen::JacobiRotation<double> rotation(1 / std::hypot(1.0, t),
                                                     t / std::hypot(1.0, t));
        R.applyOnTheRight(i, j, rotation);
        V.applyOnTheRight(i, j, rotation);
      }
    }
  }
  const Vector squares = R.colwise().squaredNorm();
  std::vector<Index> order = index_range(0, s);
  std::stable_sort(
      order.begin(), order.end(), [&](Index i, Index j) { return squares(i) > squares(j); });
  return {V(Eigen::all, order), squares(order)};
}

PackedMatrix rounded_values(const Matrix& values, const std::vector<int>& bits, Index group) {
  return PackedMatrix::rounded(values, std::vector<std::uint8_t>(bits.begin(), bits.end()), group);
}

/// The rest of the matrix between two stages.
class Rest {
 public:
  Rest(Matrix arranged, double squared_norm) : norm_(squared_norm) {
    parts_.push_back(std::move(arranged));
  }
  /// Squared part of the norm that the stages left out.
  double left_out() const { return norm_ > 0 ? left_out_ / norm_ : 0.0; }
  const std::vector<Matrix>& parts() const { return parts_; }

  /// Returns the factor of the stage, times `scale`; the rest becomes the next one. `energies`:
  /// what its columns carry.
  KroneckerSparse reduce(const Stage& stage,
                         const std::vector<int>& bits,
                         double scale,
                         Vector& energies) {
    const Index width = stage.cols / stage.splits;
    const Index blocks = stage.parts * stage.splits * stage.groups;
    Matrix values(stage.parts * stage.in_group * stage.groups, stage.splits * stage.rank);
    Matrix squares(stage.in_group, blocks);
    const auto part = [&](Index number) { return number / (stage.splits * stage.groups); };
    const auto split = [&](Index number) { return number / stage.groups % stage.splits; };
    const auto group = [&](Index number) { return number % stage.groups; };
    const auto block = [&](Index number) -> Matrix {
      return parts_[static_cast<std::size_t>(part(number))](
          Eigen::seqN(group(number), stage.in_group, stage.groups),
          Eigen::seqN(split(number) * width, width));
    };
    const auto vectors_at = [&](Matrix& V, Index number) {
      const Index first = part(number) * stage.in_group * stage.groups + group(number);
      return V(Eigen::seqN(first, stage.in_group, stage.groups),
               Eigen::seqN(split(number) * stage.rank, stage.rank));
    };
    parallel_for(blocks, [&](Index number) {
      const LeftVectors left = left_vectors(block(number));
      vectors_at(values, number) = left.vectors.leftCols(stage.rank);
      squares.col(number) = left.squares;
    });
    energies = Vector::Zero(stage.splits * stage.rank);
    for (Index number = 0; number < blocks; ++number) {
      energies.segment(split(number) * stage.rank, stage.rank) +=
          squares.col(number).head(stage.rank);
    }
    if (norm_ > 0) energies /= norm_;
    left_out_ += squares.bottomRows(stage.in_group - stage.rank).sum();
    KroneckerSparse factor(stage.pattern(), rounded_values(scale * values, bits, 0));
    values = factor.values().columns(index_range(0, values.cols())) / scale;
    std::vector<Matrix> next(static_cast<std::size_t>(stage.parts * stage.splits));
    for (Matrix& each : next) each.resize(stage.rank * stage.groups, width);
    parallel_for(blocks, [&](Index number) {
      const Matrix U = vectors_at(values, number);
      // The rounded vectors are nearly orthonormal.
      const Matrix fitted = (U.transpose() * U).ldlt().solve(U.transpose() * block(number));
      next[static_cast<std::size_t>(number / stage.groups)](
          Eigen::seqN(group(number), stage.rank, stage.groups), Eigen::all) = fitted;
    });
    parts_ = std::move(next);
    return factor;
  }

 private:
  std::vector<Matrix> parts_;
  double norm_;
  double left_out_ = 0;
};

}  // namespace

Fit fitted(const Matrix& A,
           const Plan& plan,
           const std::vector<std::vector<int>>& bits,
           double most) {
  const Arrangement& a = plan.arrangement;
  const std::vector<Index> row_at = places_of(A.rows(), a.rows_reversed, a.row_radices);
  const std::vector<Index> col_at = places_of(A.cols(), a.cols_reversed, a.col_radices);
  const double unit = unit_scale(A);
  Matrix arranged = unit * A(row_at, col_at);
  const double squared_norm = arranged.squaredNorm();
  Rest rest(std::move(arranged), squared_norm);
  Fit fit;
  fit.energies.resize(plan.stages.size());
  if (a.rows_reversed) fit.factors.push_back(make_factor("P", Permutation(row_at), true));
  for (std::size_t k = 0; k < plan.stages.size(); ++k) {
    throw_if_stop_requested();
    const double scale = k == 0 ? 1 / unit : 1.0;
    fit.factors.push_back(make_factor(
        fmt::format("X_{}", k + 1), rest.reduce(plan.stages[k], bits[k], scale, fit.energies[k])));
    if (rest.left_out() > most * most) return {{}, {}, rest.left_out()};
  }
  const KroneckerSparse::Pattern pattern = plan.patterns().back();
  Matrix values(pattern.blocks * pattern.rows, pattern.cols);
  for (Index part = 0; part < pattern.blocks; ++part) {
    values.middleRows(part * pattern.rows, pattern.rows) =
        rest.parts()[static_cast<std::size_t>(part)];
  }
  fit.energies.push_back(values.colwise().squaredNorm() / std::max(squared_norm, kTiny));
  if (plan.stages.empty()) {
    values /= unit;
    fit.factors.push_back(make_factor("A", rounded_values(values, bits.back(), kValuesPerScale)));
    return fit;
  }
  fit.factors.push_back(make_factor(
      "C", KroneckerSparse(pattern, rounded_values(values, bits.back(), kValuesPerScale))));
  if (a.cols_reversed) fit.factors.push_back(make_factor("Q", Permutation(col_at)));
  fit.left_out = rest.left_out();
  return fit;
}

Fit fitted_in_doubles(const Matrix& A, const Plan& plan, double most) {
  std::vector<std::vector<int>> bits;
  for (const KroneckerSparse::Pattern& p : plan.patterns())
    bits.emplace_back(static_cast<std::size_t>(p.cols), 64);
  return fitted(A, plan, bits, most);
}

}  // namespace matapprox::butterflies
