#include "methods/nystrom/landmarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/large_pages.hpp"
#include "device/partial_cholesky.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/checkpoints.hpp"
#include "methods/finite.hpp"
#include "methods/weighted_sample.hpp"

namespace matapprox {
// ----------------------------------------------------------------- Uniform and leverage scores

namespace {

enum LandmarkDraw : Index { kUniformDraw = 1, kLeverageDraw = 2 };

std::vector<Index> first_ascending(std::vector<Index> order, Index k) {
  order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<Index> uniform_landmarks(Index n, Index k, std::uint64_t seed) {
  return first_ascending(weighted_order(Vector::Ones(n), seed, kUniformDraw), k);
}

std::vector<Index> leverage_landmarks(const LinearOperator& A,
                                      const Vector& diagonal,
                                      Index k,
                                      std::uint64_t seed,
                                      const RunControl& control) {
  const std::vector<Index> screening_run = uniform_landmarks(A.rows(), k, seed);
  control.throw_if_stopped("nystrom");
  const Matrix C = A.columns_at(screening_run);
  require_finite(C, "nystrom");
  const Matrix W = C(screening_run, Eigen::all);
  // A ~ B B^T from the preliminary sample; `missed` is the diagonal of the remainder.
  const Matrix B = kernels::product(C, inverse_root((W + W.transpose()) / 2, 1e-10).T);
  const Vector missed = (diagonal - row_squared_norms(B)).cwiseMax(0.0);
  const double min_ridge = 1e-12 * diagonal.sum() / static_cast<double>(A.rows());
  const double ridge = std::max(missed.sum() / static_cast<double>(k), min_ridge);
  // Score of row b: b (B^T B + ridge I)^-1 b^T + missed / ridge, at most 1.
  const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(kernels::transpose_product(B, B));
  const Vector weights = (eigen.values.cwiseMax(0.0).array() + ridge).rsqrt();
  const Matrix rotated = kernels::product(B, eigen.vectors * weights.asDiagonal());
  const Vector scores = (row_squared_norms(rotated) + missed / ridge).cwiseMin(1.0);
  return first_ascending(weighted_order(scores, seed, kLeverageDraw), k);
}

InverseRoot inverse_root(const Matrix& W, double tolerance) {
  const Vector scaling =
      W.diagonal().unaryExpr([](double w) { return w > 0 ? 1.0 / std::sqrt(w) : 1.0; });
  const kernels::SymmetricEigen eigen =
      kernels::symmetric_eigen(scaling.asDiagonal() * W * scaling.asDiagonal());
  const Index k = W.rows();
  const double largest = eigen.values(k - 1);
  Index rank = 0;
  while (rank < k && eigen.values(k - 1 - rank) > tolerance * largest) ++rank;
  if (!(largest > 0)) return {Matrix::Zero(k, k), largest < 0 || eigen.values(0) < 0 ? -1.0 : 0.0};
  // Zero columns keep T square, k x k as stored.
  Matrix T = Matrix::Zero(k, k);
  T.leftCols(rank) = scaling.asDiagonal() * eigen.vectors.rightCols(rank) *
                     eigen.values.tail(rank).cwiseSqrt().cwiseInverse().asDiagonal();
  return {std::move(T), eigen.values(0) / largest};
}

// ------------------------------------------------------------------------------------- k-means

namespace {

constexpr Index kPointsAtOnce = 2048;
constexpr Index kMaxRounds = 20;
enum KmeansDraw : Index { kStartDraw = 3, kFillDraw = 4 };

/// Calls body(first, count) for stretches of 0..n-1 that do not depend on the thread count.
void for_stretches(Index n, const std::function<void(Index, Index)>& body) {
  parallel_for((n + kPointsAtOnce - 1) / kPointsAtOnce, [&](Index s) {
    body(s * kPointsAtOnce, std::min(kPointsAtOnce, n - s * kPointsAtOnce));
  });
}

/// Draws k rows of `points` as initial centers, each with probability proportional to the squared
/// distance to the nearest center so far [AV07].
Matrix plus_plus_start(const Matrix& points, Index k, std::uint64_t seed) {
  const Index n = points.rows();
  Matrix centers(k, points.cols());
  Vector nearest = Vector::Ones(n);  // uniform for the first draw
  for (Index c = 0; c < k; ++c) {
    double target = nearest.sum() * random_uniform(seed, RandomStream::kSampling, kStartDraw, c);
    Index chosen = 0;
    while (chosen + 1 < n && target >= nearest(chosen)) target -= nearest(chosen++);
    centers.row(c) = points.row(chosen);
    for_stretches(n, [&](Index first, Index count) {
      const Vector distances =
          (points.middleRows(first, count).rowwise() - centers.row(c)).rowwise().squaredNorm();
      auto part = nearest.segment(first, count);
      part = c == 0 ? distances : Vector(part.cwiseMin(distances));
    });
  }
  return centers;
}

/// Computes |p - c|^2 - |p|^2 for a stretch of points (rows) and all centers (columns).
Matrix partial_distances(const Matrix& points, const Matrix& centers, Index first, Index count) {
  Matrix distances = centers.rowwise().squaredNorm().transpose().replicate(count, 1);
  kernels::gemm(kernels::Trans::kNo,
                points.middleRows(first, count),
                kernels::Trans::kYes,
                centers,
                distances,
                -2.0,
                1.0);
  return distances;
}

std::vector<Index> assign(const Matrix& points, const Matrix& centers) {
  std::vector<Index> owner(static_cast<std::size_t>(points.rows()));
  for_stretches(points.rows(), [&](Index first, Index count) {
    const Matrix distances = partial_distances(points, centers, first, count);
    for (Index i = 0; i < count; ++i) {
      distances.row(i).minCoeff(&owner[static_cast<std::size_t>(first + i)]);
    }
  });
  return owner;
}

/// Returns the means of the points of each center; a center without points is unchanged.
Matrix means(const Matrix& points, const std::vector<Index>& owner, const Matrix& centers) {
  Matrix sums = Matrix::Zero(centers.rows(), centers.cols());
  Vector counts = Vector::Zero(centers.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    const Index c = owner[static_cast<std::size_t>(i)];
    sums.row(c) += points.row(i);
    counts(c) += 1;
  }
  for (Index c = 0; c < centers.rows(); ++c) {
    sums.row(c) = counts(c) > 0 ? (sums.row(c) / counts(c)).eval() : centers.row(c).eval();
  }
  return sums;
}

/// Returns the point nearest to its own center, for every center that has points.
std::vector<Index> nearest_points(const Matrix& points,
                                  const Matrix& centers,
                                  const std::vector<Index>& owner) {
  Vector best = Vector::Constant(centers.rows(), std::numeric_limits<double>::infinity());
  std::vector<Index> nearest(static_cast<std::size_t>(centers.rows()), -1);
  for (Index i = 0; i < points.rows(); ++i) {
    const Index c = owner[static_cast<std::size_t>(i)];
    const double distance = (points.row(i) - centers.row(c)).squaredNorm();
    if (distance < best(c)) {
      best(c) = distance;
      nearest[static_cast<std::size_t>(c)] = i;
    }
  }
  std::erase(nearest, Index{-1});
  return nearest;
}

}  // namespace

std::vector<Index> kmeans_landmarks(const Matrix& points,
                                    Index k,
                                    std::uint64_t seed,
                                    const RunControl& control) {
  Matrix centers = plus_plus_start(points, k, seed);
  std::vector<Index> owner;
  for (Index round = 0; round < kMaxRounds; ++round) {
    control.throw_if_stopped("nystrom");
    std::vector<Index> next = assign(points, centers);
    if (next == owner) break;
    owner = std::move(next);
    centers = means(points, owner, centers);
  }
  std::vector<Index> chosen = nearest_points(points, centers, owner);
  // Equal points leave centers empty; the remaining landmarks are drawn uniformly.
  std::vector<bool> taken(static_cast<std::size_t>(points.rows()), false);
  for (const Index i : chosen) taken[static_cast<std::size_t>(i)] = true;
  for (const Index i : weighted_order(Vector::Ones(points.rows()), seed, kFillDraw)) {
    if (static_cast<Index>(chosen.size()) == k) break;
    if (!taken[static_cast<std::size_t>(i)]) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// ------------------------------------------------------------------- Randomly pivoted Cholesky

namespace {

constexpr Index kSmallestBlock = 8;
constexpr Index kLargestBlock = 96;
constexpr Index kStretch = 4096;
/// Limit on the number of rounds in a state to resume.
constexpr Index kMaxSavedRounds = Index{1} << 40;
/// The residual diagonal is rounding once its sum is this fraction of the trace.
constexpr double kNothingLeft = 1e-14;

/// Draws `count` indices with replacement, with probability proportional to d. Returns each
/// distinct one once, in the order of the draws.
std::vector<Index> propose(const Vector& d, Index count, std::uint64_t seed, Index round) {
  Vector sums(d.size());
  double sum = 0;
  for (Index i = 0; i < d.size(); ++i) sums(i) = sum += d(i);
  std::vector<Index> chosen;
  for (Index t = 0; t < count; ++t) {
    const double target = sum * random_uniform(seed, RandomStream::kSampling, 2 * round, t);
    const double* at = std::upper_bound(sums.data(), sums.data() + sums.size(), target);
    Index index = std::min<Index>(at - sums.data(), d.size() - 1);
    while (index > 0 && d(index) <= 0) --index;
    if (std::find(chosen.begin(), chosen.end(), index) == chosen.end()) chosen.push_back(index);
  }
  return chosen;
}

struct Accepted {
  std::vector<Index> positions;  ///< indices into the list of proposals
  Matrix lower;                  ///< Cholesky factor of the residual at the accepted ones
};

/// Accepts each proposal in turn with probability (residual now) / (residual when proposed). H is
/// the residual matrix at the proposals.
Accepted reject(Matrix H, Index at_most, std::uint64_t seed, Index round) {
  const Vector proposed = H.diagonal();
  const Index b = H.rows();
  Matrix eliminated(b, 0);
  Accepted result;
  for (Index i = 0; i < b && static_cast<Index>(result.positions.size()) < at_most; ++i) {
    const double u = random_uniform(seed, RandomStream::kSampling, 2 * round + 1, i);
    const double floor = 1e-12 * proposed(i);
    if (!(H(i, i) > floor) || !(u * proposed(i) < H(i, i))) continue;
    const Vector l = H.col(i) / std::sqrt(H(i, i));
    H.noalias() -= l * l.transpose();
    eliminated.conservativeResize(Eigen::NoChange, eliminated.cols() + 1);
    eliminated.rightCols(1) = l;
    result.positions.push_back(i);
  }
  result.lower = eliminated(result.positions, Eigen::all);
  return result;
}

Matrix inverse_transpose(const Matrix& lower) {
  const Index n = lower.rows();
  return lower.transpose().triangularView<Eigen::Upper>().solve(Matrix::Identity(n, n));
}

/// Subtracts |G(i,:)|^2 from each d(i) and returns the smallest result.
double subtract_row_norms(const ConstBlock& G, Vector& d) {
  const Index stretches = (d.size() + kStretch - 1) / kStretch;
  Vector least(stretches);
  parallel_for(stretches, [&](Index s) {
    const Index first = s * kStretch;
    const Index count = std::min(kStretch, d.size() - first);
    d.segment(first, count) -= G.middleRows(first, count).rowwise().squaredNorm();
    least(s) = d.segment(first, count).minCoeff();
  });
  return least.minCoeff();
}

class HostCholesky final : public PartialCholesky {
 public:
  HostCholesky(const LinearOperator& A, Index k)
      : A_(A), kept_columns_(A.rows(), k), factor_(A.rows(), k) {
    const auto bytes = static_cast<std::size_t>(factor_.size()) * sizeof(double);
    prefer_large_pages(kept_columns_.data(), bytes);
    prefer_large_pages(factor_.data(), bytes);
  }

  Matrix propose(std::span<const Index> S) override {
    proposed_ = A_.columns_at(S);
    require_finite(proposed_, "nystrom");
    return proposed_(S, Eigen::all);
  }
  Matrix factor_rows(std::span<const Index> S) const override {
    return factor_.leftCols(kept_)(S, Eigen::all);
  }
  double accept(const std::vector<Index>& positions,
                const Matrix& F_T,
                const Matrix& inverse_transpose,
                Vector& d) override {
    const auto fresh = static_cast<Index>(positions.size());
    Matrix G = proposed_(Eigen::all, positions);
    kept_columns_.middleCols(kept_, fresh) = G;
    if (kept_ > 0) {
      kernels::gemm(
          kernels::Trans::kNo, factor_.leftCols(kept_), kernels::Trans::kYes, F_T, G, -1.0, 1.0);
    }
    Block grown = factor_.middleCols(kept_, fresh);
    kernels::gemm(kernels::Trans::kNo, G, kernels::Trans::kNo, inverse_transpose, grown);
    const JoinStopScope nobody_stops(nullptr);  // all or nothing from here on
    kept_ += fresh;
    return subtract_row_norms(grown, d);
  }
  Matrix take_columns() override {
    kept_columns_.conservativeResize(Eigen::NoChange, kept_);
    return std::move(kept_columns_);
  }

  bool is_resumable() const override { return true; }
  Matrix copy_of_columns() const override { return kept_columns_.leftCols(kept_); }
  void save(ResumeState& state) const override {
    state.add_matrix("columns", kept_columns_.leftCols(kept_));
    state.add_matrix("factor", factor_.leftCols(kept_));
  }
  void load(const ResumeState& state) override {
    const Matrix columns = state.matrix("columns");
    const Matrix factor = state.matrix("factor");
    require_consistent(columns.rows() == factor_.rows() && factor.rows() == factor_.rows() &&
                           columns.cols() == factor.cols() && factor.cols() <= factor_.cols() &&
                           columns.allFinite() && factor.allFinite(),
                       "nystrom");
    kept_ = factor.cols();
    kept_columns_.leftCols(kept_) = columns;
    factor_.leftCols(kept_) = factor;
  }

 private:
  const LinearOperator& A_;
  Matrix kept_columns_;
  Matrix factor_;
  Matrix proposed_;
  Index kept_ = 0;
};

class PivotedSampling {
 public:
  PivotedSampling(const LinearOperator& A,
                  const Vector& diagonal,
                  Index k,
                  std::uint64_t seed,
                  const RunControl& control,
                  const LandmarksCheckpoint& checkpoint)
      : seed_(seed),
        k_(k),
        trace_(diagonal.sum()),
        largest_(diagonal.maxCoeff()),
        control_(control),
        checkpoint_(checkpoint),
        clock_(control),
        tall_(make_gpu_cholesky(A, k)),
        d_(diagonal.cwiseMax(0.0)),
        block_(std::clamp(k / 8, kSmallestBlock, kLargestBlock)) {
    if (tall_ == nullptr) tall_ = std::make_unique<HostCholesky>(A, k);
    found_.rounds = 0;
    if (control.resume != nullptr) load(*control.resume);
  }

  Landmarks run() {
    while (taken() < k_ && d_.sum() > kNothingLeft * trace_ && found_.negative.empty()) {
      try {
        control_.throw_if_stopped("nystrom");
        take_block();
      } catch (const Interrupted&) {
        if (is_wanted()) write_checkpoint();
        throw;
      }
      if (control_.progress) {
        control_.progress(
            {found_.rounds, -1, static_cast<double>(taken()) / static_cast<double>(k_)});
      }
      if (found_.negative.empty() && tall_->is_resumable() && clock_.is_due(numbers()))
        write_checkpoint();
    }
    found_.columns = tall_->take_columns();
    found_.residual_diagonal = d_;
    return std::move(found_);
  }

 private:
  Index taken() const { return std::ssize(found_.indices); }
  Index numbers() const { return 2 * d_.size() * taken(); }
  bool is_wanted() const {
    return tall_->is_resumable() && taken() > 0 && clock_.is_wanted(numbers());
  }

  /// Leaves the state unchanged if it is stopped.
  void take_block() {
    const std::vector<Index> S =
        propose(d_, std::min(block_, 2 * (k_ - taken())), seed_, found_.rounds);
    Matrix H = tall_->propose(S);
    const Matrix F_S = tall_->factor_rows(S);
    if (taken() > 0) {
      kernels::gemm(kernels::Trans::kNo, F_S, kernels::Trans::kYes, F_S, H, -1.0, 1.0);
    }
    H.diagonal() = d_(S);
    const Accepted accepted = reject(std::move(H), k_ - taken(), seed_, found_.rounds);
    const auto fresh = static_cast<Index>(accepted.positions.size());
    const double least = tall_->accept(accepted.positions,
                                       F_S(accepted.positions, Eigen::all),
                                       inverse_transpose(accepted.lower),
                                       d_);
    ++found_.rounds;
    for (const Index position : accepted.positions) {
      const Index landmark = S[static_cast<std::size_t>(position)];
      found_.indices.push_back(landmark);
      d_(landmark) = 0;
    }
    if (least < -kNegative * largest_) {
      found_.negative = fmt::format(
          "a residual diagonal entry fell to {:.3g} after {} landmarks", least, taken());
      return;
    }
    d_ = d_.cwiseMax(0.0);
    const bool many = 10 * fresh > 7 * static_cast<Index>(S.size());
    const bool few = 10 * fresh < 4 * static_cast<Index>(S.size());
    if (many) block_ = std::min(2 * block_, kLargestBlock);
    if (few) block_ = std::max(block_ / 2, kSmallestBlock);
  }

  void write_checkpoint() {
    if (!checkpoint_) return;
    ResumeState state;
    tall_->save(state);
    Vector indices(taken());
    for (Index i = 0; i < taken(); ++i)
      indices(i) = static_cast<double>(found_.indices[static_cast<std::size_t>(i)]);
    state.arrays.emplace_back("landmarks", std::move(indices));
    state.arrays.emplace_back("diagonal", d_);
    state.counters.emplace_back("rounds", found_.rounds);
    state.counters.emplace_back("block", block_);
    Landmarks so_far;
    so_far.indices = found_.indices;
    so_far.rounds = found_.rounds;
    so_far.columns = tall_->copy_of_columns();
    so_far.residual_diagonal = d_;
    checkpoint_(std::move(so_far), state);
    clock_.restart();
  }

  void load(const ResumeState& state) {
    if (!tall_->is_resumable())
      throw NotAvailable("nystrom: a run saved on the CPU must be resumed on the CPU");
    tall_->load(state);
    const Vector& indices = state.array("landmarks");
    const auto n = static_cast<double>(d_.size());
    require_consistent(indices.size() == state.counter("columns_cols") &&
                           (indices.array() >= 0).all() && (indices.array() < n).all(),
                       "nystrom");
    for (const double index : indices) found_.indices.push_back(static_cast<Index>(index));
    require_consistent(state.array("diagonal").size() == d_.size() &&
                           (state.array("diagonal").array() >= 0).all() &&
                           state.array("diagonal").allFinite(),
                       "nystrom");
    d_ = state.array("diagonal");
    found_.rounds = state.counter("rounds");
    block_ = state.counter("block");
    require_consistent(found_.rounds >= 0 && found_.rounds < kMaxSavedRounds &&
                           block_ >= kSmallestBlock && block_ <= kLargestBlock,
                       "nystrom");
  }

  std::uint64_t seed_;
  Index k_;
  double trace_;
  double largest_;  ///< largest entry of the diagonal
  const RunControl& control_;
  const LandmarksCheckpoint& checkpoint_;
  CheckpointClock clock_;
  std::unique_ptr<PartialCholesky> tall_;
  Vector d_;  ///< diagonal of A - F F^T
  Index block_;
  Landmarks found_;
};

}  // namespace

Landmarks pivoted_cholesky_landmarks(const LinearOperator& A,
                                     const Vector& diagonal,
                                     Index k,
                                     std::uint64_t seed,
                                     const RunControl& control,
                                     const LandmarksCheckpoint& checkpoint) {
  return PivotedSampling(A, diagonal, k, seed, control, checkpoint).run();
}

}  // namespace matapprox
