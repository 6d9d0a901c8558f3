#include "matapprox/methods/exact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "factors/factor_value.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/exact/dense_tiles.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kExact = "exact";
/// Largest fraction of nonzeros at which A is also considered as a sparse matrix.
constexpr double kWorthSparse = 0.6;

/// A in memory: dense, sparse or both.
struct Entries {
  const Matrix* dense = nullptr;  ///< the operator's own matrix, or `made`
  std::unique_ptr<const Matrix> made;
  std::optional<SparseMatrix> sparse;
};

/// Counts the nonzeros. Throws NumericalError for NaN or Inf.
double count_nonzeros(const Matrix& A) {
  Vector counts(A.cols());
  parallel_for(A.cols(), [&](Index j) {
    require_finite(A.col(j), kExact);
    counts(j) = static_cast<double>((A.col(j).array() != 0).count());
  });
  return counts.sum();
}

double entries_of(const LinearOperator& A) {
  return static_cast<double>(A.rows()) * static_cast<double>(A.cols());
}

Entries entries(const LinearOperator& A, ExactForm form, const RunControl& control) {
  require(A.rows() >= 1 && A.cols() >= 1,
          "{}: the matrix is {} x {}; it needs at least one row and column",
          kExact,
          A.rows(),
          A.cols());
  Entries found;
  const auto* sparse = dynamic_cast<const SparseOperator*>(&A.underlying());
  if (sparse != nullptr) found.sparse = sparse->values();
  const double nonzeros = sparse != nullptr ? static_cast<double>(sparse->values().nonZeros()) : 0;
  const bool wants_dense = form == ExactForm::kDense || form == ExactForm::kIntegers;
  if (sparse != nullptr && !wants_dense && nonzeros < kWorthSparse / 10 * entries_of(A))
    return found;
  const auto* dense = dynamic_cast<const DenseOperator*>(&A.underlying());
  if (dense == nullptr) {
    found.made = std::make_unique<const Matrix>(dense_matrix(A, kExact, control));
    found.dense = found.made.get();
  } else {
    found.dense = &dense->values();
  }
  const double count = count_nonzeros(*found.dense);
  if (sparse == nullptr && (form == ExactForm::kSparse || count <= kWorthSparse * entries_of(A))) {
    found.sparse = SparseMatrix(found.dense->sparseView(0.0, 0.0));
  }
  return found;
}

Approximation result_of(FactorValue value, std::string form, const ExactOptions& options) {
  Summary summary;
  summary.method = kExact;
  summary.form = std::move(form);
  summary.options = list_options(options);
  return {{make_factor("A", std::move(value))}, std::move(summary)};
}

/// A form in which A can be stored.
struct Store {
  ExactSize size;
  exact_store::DenseTiles tiles;       ///< format of a dense form, built only when chosen
  std::optional<PackedSparse> sparse;  ///< already packed, because its size is not known before
};

/// All forms, smallest first.
std::vector<Store> stores(const Entries& found) {
  std::vector<Store> all;
  if (found.dense != nullptr) {
    for (const exact_store::DenseTiles& tiles : exact_store::dense_forms(*found.dense)) {
      const ExactForm form = tiles.bits > 16 ? ExactForm::kDense : ExactForm::kIntegers;
      all.push_back({{form, exact_store::bytes_of(tiles), exact_store::description_of(tiles)},
                     tiles,
                     std::nullopt});
    }
  } else {
    const double values =
        static_cast<double>(found.sparse->rows()) * static_cast<double>(found.sparse->cols());
    all.push_back({{ExactForm::kDense, 8 * values, "dense, doubles"}, {}, std::nullopt});
  }
  if (found.sparse) {
    PackedSparse packed = PackedSparse::packed(*found.sparse);
    const auto bytes = static_cast<double>(packed.storage().bytes);
    std::string description = "sparse, " + packed.description();
    all.push_back({{ExactForm::kSparse, bytes, std::move(description)}, {}, std::move(packed)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Store& a, const Store& b) {
    return a.size.bytes < b.size.bytes;
  });
  return all;
}

}  // namespace

void ExactOptions::visit(OptionVisitor& v) {
  v.visit_enum("form",
               form,
               "dense: all entries, one triangle if symmetric; integers: in 1 to 16 bits; sparse: "
               "nonzero entries only; auto: the smallest of these");
  v.visit("budget", budget, "storage limit: bytes (4MB), a share (10%) or numbers");
}

std::vector<ExactSize> exact_sizes(const LinearOperator& A, const RunControl& control) {
  std::vector<ExactSize> sizes;
  const StopScope scope(control, kExact);
  for (Store& store : stores(entries(A, ExactForm::kAuto, control))) {
    sizes.push_back(std::move(store.size));
  }
  return sizes;
}

Approximation exact(const LinearOperator& A,
                    const ExactOptions& options,
                    const RunControl& control) {
  const StopScope scope(control, kExact);
  const Entries found = entries(A, options.form, control);
  std::vector<Store> all = stores(found);
  const auto chosen = std::find_if(all.begin(), all.end(), [&](const Store& store) {
    return options.form == ExactForm::kAuto || store.size.form == options.form;
  });
  require(chosen != all.end(),
          "{}: form {} is not possible: the entries are not integers within 2^31 and 2^16 of each "
          "other",
          kExact,
          enum_name(options.form));
  if (options.budget.is_set() && chosen->size.bytes > options.budget.bytes(A.rows(), A.cols())) {
    throw BudgetTooSmall(
        fmt::format("{}: the matrix takes {:.0f} bytes at least ({}), more than the budget of {}",
                    kExact,
                    chosen->size.bytes,
                    chosen->size.description,
                    options.budget.text()),
        chosen->size.bytes);
  }
  if (chosen->sparse) {
    return result_of(std::move(*chosen->sparse), chosen->size.description, options);
  }
  return result_of(
      exact_store::tiled(*found.dense, chosen->tiles), chosen->size.description, options);
}

}  // namespace matapprox
