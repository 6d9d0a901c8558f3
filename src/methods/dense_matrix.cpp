#include "methods/dense_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr Index kPanelColumns = 256;

void for_each_panel(const LinearOperator& A,
                    const char* method,
                    const RunControl& control,
                    const std::function<void(Index first, const Matrix& panel)>& body) {
  const StopScope scope(control, method);
  for (Index first = 0; first < A.cols(); first += kPanelColumns) {
    control.throw_if_stopped(method);
    const Matrix panel =
        A.columns_at(index_range(first, std::min(kPanelColumns, A.cols() - first)));
    require_finite(panel, method);
    body(first, panel);
  }
}

}  // namespace

Matrix dense_matrix(const LinearOperator& A, const char* method, const RunControl& control) {
  require_memory(8 * A.rows() * A.cols(), fmt::format("{}: the matrix as a dense one", method));
  Matrix values(A.rows(), A.cols());
  for_each_panel(A, method, control, [&](Index first, const Matrix& panel) {
    values.middleCols(first, panel.cols()) = panel;
  });
  return values;
}

Matrix dense_transpose(const LinearOperator& A, const char* method, const RunControl& control) {
  require_memory(8 * A.rows() * A.cols(), fmt::format("{}: the matrix as a dense one", method));
  Matrix values(A.cols(), A.rows());
  for_each_panel(A, method, control, [&](Index first, const Matrix& panel) {
    values.middleRows(first, panel.cols()) = panel.transpose();
  });
  return values;
}

HeldEntries::HeldEntries(const LinearOperator& A, const char* method, const RunControl& control)
    : held_(dense_values(A)) {
  if (held_ == nullptr) {
    copied_ = dense_matrix(A, method, control);
  } else if (!A.known_facts().largest_entry) {  // whoever knows it has refused NaN and Inf
    require_finite(*held_, method);
  }
}

double frobenius_norm(const LinearOperator& A, const char* method, const RunControl& control) {
  if (const auto known = A.known_facts().frobenius_norm) return *known;
  Vector norms((A.cols() + kPanelColumns - 1) / kPanelColumns);
  for_each_panel(A, method, control, [&](Index first, const Matrix& panel) {
    const double scale = unit_scale(panel);
    norms(first / kPanelColumns) = (panel * scale).norm() / scale;
  });
  const double scale = unit_scale(norms);
  return (norms * scale).norm() / scale;
}

}  // namespace matapprox
