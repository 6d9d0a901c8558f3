#include "matapprox/methods/nystrom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/forms.hpp"
#include "methods/nystrom/landmarks.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace {

constexpr const char* kNystrom = "nystrom";

void check(const LinearOperator& A, const NystromOptions& options) {
  const Index n = A.rows();
  require(n == A.cols(), "{}: the matrix is {} x {}; it must be square", kNystrom, n, A.cols());
  require(n >= 1, "{}: the matrix is 0 x 0; it needs at least one row", kNystrom);
  require(options.pseudo_inverse_tolerance >= 1e-16 && options.pseudo_inverse_tolerance <= 0.1,
          "{}: pseudo_inverse_tolerance {:g} is outside 1e-16..0.1",
          kNystrom,
          options.pseudo_inverse_tolerance);
  require(options.oversampling >= 1 && options.oversampling <= 10,
          "{}: oversampling {:g} is outside 1..10",
          kNystrom,
          options.oversampling);
  std::set<Index> seen;
  for (const Index j : options.landmarks) {
    require(j >= 0 && j < n, "{}: landmark {} is outside 0..{}", kNystrom, j, n - 1);
    require(seen.insert(j).second, "{}: landmark {} is given twice", kNystrom, j);
  }
  const auto landmarks = static_cast<Index>(options.landmarks.size());
  require(landmarks == 0 || options.rank == 0 || options.rank == landmarks,
          "{}: rank {} and {} landmarks contradict each other",
          kNystrom,
          options.rank,
          landmarks);
  require(options.landmarks.empty() || options.form != NystromForm::kGeneralized,
          "{}: landmarks apply to the psd form only; the generalized form uses random sketches",
          kNystrom);
}

Index resolve(const LinearOperator& A, const NystromOptions& options, bool psd) {
  if (psd && !options.landmarks.empty()) return static_cast<Index>(options.landmarks.size());
  return resolve_rank(kNystrom,
                      options.rank,
                      options.budget,
                      A.rows(),
                      A.cols(),
                      A.rows(),
                      [&](Index k) -> Storage {
                        const Index numbers = (psd ? 1 : 2) * A.rows() * k + k * k;
                        return {numbers, numbers * bytes_per_value(options.budget.precision)};
                      });
}

/// Returns why A cannot have the psd form, as far as its diagonal shows; empty if it can.
std::string diagonal_objection(const LinearOperator& A, const Vector& diagonal) {
  const double largest = diagonal.cwiseAbs().maxCoeff();
  if (diagonal.minCoeff() < -kNegative * largest) {
    return fmt::format("its diagonal has the entry {:.6g}", diagonal.minCoeff());
  }
  if (largest > 0) return {};
  const Matrix x = random_normal_matrix(1, RandomStream::kSketch, A.cols(), 1);
  const Matrix y = A.apply(x);
  require_finite(y, kNystrom);
  return y.isZero(0) ? std::string() : "its diagonal is zero, but the matrix is not";
}

Summary summary_of(const NystromOptions& options, const NystromFactors& found, const char* form) {
  Summary summary;
  summary.method = kNystrom;
  summary.form = form;
  summary.rank = found.rank;
  summary.iterations = found.iterations;
  summary.seed = options.seed;
  summary.options = list_options(options);
  summary.message = found.message;
  summary.chosen_columns = summary.chosen_rows = found.landmarks;
  return summary;
}

}  // namespace

void NystromOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "number of landmarks, 1..N; 0: as many as the budget admits");
  v.visit("budget", budget, "storage limit: numbers, a share (10%) or bytes (4MB)");
  v.visit_enum("form", form, "psd: C W^+ C^T; generalized: two sketches, for any square matrix");
  v.visit_enum("sampling", sampling, "how landmarks are chosen (psd form)");
  v.visit("landmarks",
          landmarks,
          "indices of the landmarks, counted from 0; replace rank and sampling");
  v.visit("pseudo_inverse_tolerance",
          pseudo_inverse_tolerance,
          "eigenvalues of W up to this fraction of the largest are treated as zero");
  v.visit("oversampling",
          oversampling,
          "generalized: width of the second sketch relative to the first");
  v.visit("seed", seed, "seed of the landmarks or sketches");
}

Approximation nystrom(const LinearOperator& A,
                      const NystromOptions& options,
                      const RunControl& control) {
  check(A, options);
  const StopScope scope(control, kNystrom);
  std::string objection;
  if (options.form != NystromForm::kGeneralized) {
    if (!is_symmetric(A)) objection = why_not_symmetric(A);
    if (objection.empty()) {
      const Vector diagonal = A.diagonal();
      require_finite(diagonal, kNystrom);
      objection = diagonal_objection(A, diagonal);
      if (objection.empty()) {
        const Index k = resolve(A, options, true);
        const auto checkpoint = [&](const NystromFactors& so_far, const ResumeState& state) {
          control.checkpoint({so_far.factors, summary_of(options, so_far, "psd")}, state);
        };
        NystromFactors found = psd_nystrom(A, diagonal, k, options, control, checkpoint);
        objection = found.objection;
        if (objection.empty()) {
          return {std::move(found.factors), summary_of(options, found, "psd")};
        }
      }
    }
    if (options.form == NystromForm::kPsd || !options.landmarks.empty()) {
      throw NumericalError(
          fmt::format("{}: the psd form needs a symmetric positive semidefinite matrix: {}",
                      kNystrom,
                      objection));
    }
  }
  const Index k = resolve(A, options, false);
  NystromFactors found = generalized_nystrom(A, k, options, control);
  if (!objection.empty()) {
    found.message =
        fmt::format("generalized, because the matrix is not positive semidefinite: {}", objection);
  }
  return {std::move(found.factors), summary_of(options, found, "generalized")};
}

}  // namespace matapprox
