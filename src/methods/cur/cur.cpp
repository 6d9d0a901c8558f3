#include "matapprox/methods/cur.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/cur/columns.hpp"

namespace matapprox {
namespace {

constexpr const char* kCur = "cur";

struct Selection {
  CurOrder order;
  ChosenColumns columns;
  ChosenColumns rows;
  Index rank = 0;
};

/// Storage of k columns, k rows and `between` numbers of the middle factors.
Storage storage_of(const Selection& selection, Index k, Index between, Precision precision) {
  const Storage C = selection.columns.storage(k, precision);
  const Storage R = selection.rows.storage(k, precision);
  return {C.numbers + R.numbers + between,
          C.bytes + R.bytes + between * bytes_per_value(precision)};
}

void select(const LinearOperator& A,
            Index count,
            const CurOptions& options,
            const RunControl& control,
            Selection& selection) {
  selection.order = cur_order(A, count, options, control);
  selection.columns.fetch(selection.order.columns, count, control);
  selection.rows.fetch(selection.order.rows, count, control);
}

/// Number of columns and rows that the budget would admit if each had an average number of
/// nonzeros.
Index expected_rank(const LinearOperator& A, const StorageBudget& budget, Index most) {
  const double entries = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  const double nonzeros = static_cast<double>(A.known_facts().nonzeros.value_or(0));
  const double density = nonzeros > 0 && 2 * nonzeros <= entries ? nonzeros / entries : 1.0;
  const double a_pair = density * static_cast<double>(A.rows() + A.cols());
  Index k = 1;
  while (k < most) {
    const auto next = static_cast<double>(k + 1);
    const double numbers = a_pair * next + next * next;
    const double bytes_per_number = density < 1 ? 12 : 8;
    if (!budget.admits(
            {static_cast<Index>(numbers), static_cast<Index>(numbers * bytes_per_number)},
            A.rows(),
            A.cols())) {
      break;
    }
    ++k;
  }
  return k;
}

StorageBudget limit_of(const LinearOperator& A, const StorageBudget& budget) {
  return budget.is_set() ? budget : default_budget(A.rows(), A.cols(), budget.precision);
}

/// Returns the largest rank up to `most` that fits the budget with `matrices` k x k matrices
/// between C and R.
Index admitted_rank(const LinearOperator& A,
                    const StorageBudget& limit,
                    const Selection& selection,
                    Index most,
                    Index matrices) {
  Index k = most;
  while (k > 1 &&
         !limit.admits(
             storage_of(selection, k, matrices * k * k, limit.precision), A.rows(), A.cols())) {
    --k;
  }
  return k;
}

/// Makes the largest selection that fits the budget with one factor between C and R. The storage of
/// the chosen columns and rows is known only once they are fetched, so more are ordered and fetched
/// until one does not fit.
void select_within_budget(const LinearOperator& A,
                          const CurOptions& options,
                          const RunControl& control,
                          Selection& selection) {
  const Index most = std::min(A.rows(), A.cols());
  const StorageBudget limit = limit_of(A, options.budget);
  const auto storage = [&](Index k) { return storage_of(selection, k, k * k, limit.precision); };
  Index count = std::min(most, expected_rank(A, limit, most) + 8);
  for (;; count = std::min(most, 2 * count)) {
    select(A, count, options, control, selection);
    if (count == most || !limit.admits(storage(count), A.rows(), A.cols())) break;
  }
  selection.rank = admitted_rank(A, limit, selection, count, 1);
  // Throws, stating the storage of one column and row, if even they do not fit.
  if (selection.rank == 1) resolve_rank(kCur, 0, limit, A.rows(), A.cols(), 1, storage);
}

std::vector<Factor> middle_of(const LinearOperator& A,
                              const Selection& selection,
                              const RunControl& control) {
  return best_middle(A,
                     selection.columns.nonzero_rows(selection.rank),
                     selection.rows.nonzero_rows(selection.rank),
                     control);
}

/// The same within the budget: if three factors are needed and do not fit, uses fewer columns and
/// rows.
std::vector<Factor> middle_within_budget(const LinearOperator& A,
                                         const CurOptions& options,
                                         const RunControl& control,
                                         Selection& selection) {
  std::vector<Factor> middle = middle_of(A, selection, control);
  const StorageBudget limit = limit_of(A, options.budget);
  const Index between = FactorProduct(middle).storage().numbers;
  if (limit.admits(
          storage_of(selection, selection.rank, between, limit.precision), A.rows(), A.cols())) {
    return middle;
  }
  selection.rank = admitted_rank(A, limit, selection, selection.rank, 3);
  return middle_of(A, selection, control);
}

}  // namespace

void CurOptions::visit(OptionVisitor& v) {
  v.visit(
      "rank", rank, "number of columns and of rows, 1..min(m,n); 0: as many as the budget admits");
  v.visit("budget", budget, "storage limit: numbers, a share (10%) or bytes (4MB)");
  v.visit_enum("sampling", sampling, "how columns and rows are chosen");
  v.visit("seed", seed, "seed of the sketch and of the draws");
}

Approximation cur(const LinearOperator& A, const CurOptions& options, const RunControl& control) {
  const Index most = std::min(A.rows(), A.cols());
  if (options.rank != 0 || most == 0) {  // validates the options
    resolve_rank(kCur, options.rank, options.budget, A.rows(), A.cols(), most, [](Index) {
      return Storage{};
    });
  }
  const StopScope scope(control, kCur);
  const auto At = transpose(std::shared_ptr<const LinearOperator>(std::shared_ptr<void>(), &A));
  Selection selection{{}, ChosenColumns(A), ChosenColumns(*At), options.rank};
  std::vector<Factor> factors;
  if (options.rank == 0) {
    select_within_budget(A, options, control, selection);
    factors = middle_within_budget(A, options, control, selection);
  } else {
    select(A, options.rank, options, control, selection);
    factors = middle_of(A, selection, control);
  }
  const Index k = selection.rank;
  factors.insert(factors.begin(), selection.columns.factor("C", k, false));
  factors.push_back(selection.rows.factor("R", k, true));

  Summary summary;
  summary.method = kCur;
  summary.form = selection.columns.is_sparse(k) && selection.rows.is_sparse(k) ? "sparse" : "dense";
  summary.rank = k;
  summary.seed = options.seed;
  summary.options = list_options(options);
  summary.message = fmt::format("columns and rows by {}", enum_name(options.sampling));
  const auto first = [k](const std::vector<Index>& order) {
    return std::vector<Index>(order.begin(), order.begin() + k);
  };
  summary.chosen_columns = first(selection.order.columns);
  summary.chosen_rows = first(selection.order.rows);
  return {std::move(factors), std::move(summary)};
}

}  // namespace matapprox
