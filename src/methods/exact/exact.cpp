#include "matapprox/methods/exact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "factors/factor_value.hpp"
#include "factors/xz.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/exact/constant_diagonals.hpp"
#include "methods/exact/dense_tiles.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kExact = "exact";
/// Largest fraction of nonzeros at which A is also considered as a sparse matrix.
constexpr double kWorthSparse = 0.6;
/// Largest fraction of the bytes of the other forms at which a dictionary is chosen: products with
/// integers of a few bits take less time.
constexpr double kWorthADictionary = 0.95;
/// The same for those of the sparse form, whose products take a multiplication for each nonzero
/// instead of one for each entry; a SparseOperator with at most this share of nonzeros stays
/// sparse.
constexpr double kWorthADenseProduct = 0.5;
constexpr double kStaysSparse = 0.25;
/// Largest fraction of the bytes of the other forms at which doubles are compressed: products need
/// the whole matrix in memory. Of two matrices, the inverse of a Laplacian is expected to take less
/// and does, a scaled covariance more.
constexpr double kWorthDecompressing = 0.45;
/// If few values have a code that takes more than this part of their bits, they do not repeat in
/// sequences, and doubles are not compressed to less.
constexpr double kRepeatsInSequences = 0.2;

/// A in memory: dense, sparse or both.
struct Entries {
  const Matrix* dense = nullptr;  ///< the operator's own matrix, or `made`
  std::unique_ptr<const Matrix> made;
  std::optional<SparseMatrix> sparse;
  bool from_sparse = false;  ///< the operator is a SparseOperator
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
  require_not_empty(A, kExact);
  Entries found;
  const SparseMatrix* sparse = sparse_values(A);
  if (sparse != nullptr) found.sparse = *sparse;
  found.from_sparse = sparse != nullptr;
  const double nonzeros = sparse != nullptr ? static_cast<double>(sparse->nonZeros()) : 0;
  const bool wants_dense = form != ExactForm::kAuto && form != ExactForm::kSparse;
  if (sparse != nullptr && !wants_dense && nonzeros < kWorthSparse / 10 * entries_of(A))
    return found;
  found.dense = dense_values(A);
  if (found.dense == nullptr) {
    found.made = std::make_unique<const Matrix>(dense_matrix(A, kExact, control));
    found.dense = found.made.get();
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

/// True if each column is the one before it, moved down by one row: to the bit, so that the first
/// column stores the matrix without loss. Most other matrices differ in the second column.
bool is_circulant(const Matrix& A) {
  const Index n = A.rows();
  if (n != A.cols() || n < 2) return false;
  for (Index j = 1; j < n; ++j) {
    const double* before = A.col(j - 1).data();
    const double* column = A.col(j).data();
    if (!exact_store::same_bits(column + 1, before, n - 1) ||
        !exact_store::same_bits(column, before + n - 1, 1))
      return false;
  }
  return true;
}

const char* why_impossible(ExactForm form) {
  if (form == ExactForm::kCirculant)
    return "the columns are not one column that moves down by one row each time";
  if (form == ExactForm::kToeplitz) {
    return "neither diagonals nor antidiagonals, of the matrix or of blocks of equal size, repeat "
           "one value each";
  }
  if (form == ExactForm::kCompressed) {
    return xz::is_available()
               ? "its streams would have more than 2^31 bytes, or less than one for 32 entries of "
                 "more than 2^25: ask for form auto"
               : "this build has no liblzma; configure it with MATAPPROX_WITH_LZMA=ON";
  }
  if (form == ExactForm::kDictionary) return "the entries have more than 4096 different values";
  return "the entries are not integers within 2^31 and 2^16 of each other";
}

/// A form in which A can be stored.
struct Store {
  ExactSize size;
  exact_store::DenseTiles tiles = {};     ///< format of a dense form, built only when chosen
  std::optional<FactorValue> value = {};  ///< any other form, which is built to learn its size
};

bool repeats_in_sequences(const DictionaryMatrix& dictionary) {
  const auto bits = static_cast<double>(dictionary.storage().numbers) * dictionary.content().bits;
  return 8 * static_cast<double>(dictionary.storage().bytes) <= kRepeatsInSequences * bits;
}

/// Appends the forms of a dense matrix but for compressed doubles; a dictionary only if it is much
/// smaller than the forms before it or wanted. Returns false if compressed doubles are not expected
/// to be smaller than these.
bool add_dense_forms(const Matrix& A, ExactForm wanted, std::vector<Store>& all) {
  for (const exact_store::DenseTiles& tiles : exact_store::dense_forms(A)) {
    const ExactForm form = tiles.bits > 16 ? ExactForm::kDense : ExactForm::kIntegers;
    all.push_back(
        {{form, exact_store::bytes_of(tiles), exact_store::description_of(tiles)}, tiles});
  }
  bool may_compress = true;
  if (auto dictionary = DictionaryMatrix::of(A)) {
    may_compress = repeats_in_sequences(*dictionary);
    const auto bytes = static_cast<double>(dictionary->storage().bytes);
    const bool is_worth_it = std::all_of(all.begin(), all.end(), [&](const Store& store) {
      return bytes <= kWorthADictionary * store.size.bytes;
    });
    if (is_worth_it || wanted == ExactForm::kDictionary) {
      all.push_back(
          {.size = {ExactForm::kDictionary, bytes, "dictionary, " + dictionary->description()},
           .value = std::move(*dictionary)});
    }
  }
  if (is_circulant(A)) {
    const double bytes = 8 * static_cast<double>(A.rows());
    all.push_back(
        {.size = {ExactForm::kCirculant, bytes, "circulant"}, .value = Circulant(A.col(0))});
  }
  if (auto toeplitz = exact_store::constant_diagonals(A)) {
    const double bytes = 8 * static_cast<double>(toeplitz->size());
    all.push_back({.size = {ExactForm::kToeplitz, bytes, toeplitz->description()},
                   .value = std::move(*toeplitz)});
    may_compress = false;
  }
  return may_compress;
}

/// All forms, smallest first.
std::vector<Store> stores(const Entries& found, ExactForm wanted, double budget_bytes) {
  std::vector<Store> all;
  bool compresses = wanted == ExactForm::kCompressed;
  if (found.dense != nullptr) {
    const bool may_be_smaller = add_dense_forms(*found.dense, wanted, all);
    compresses = compresses || (may_be_smaller && wanted == ExactForm::kAuto);
  } else {
    const double values =
        static_cast<double>(found.sparse->rows()) * static_cast<double>(found.sparse->cols());
    all.push_back({{ExactForm::kDense, 8 * values, "dense, doubles"}});
  }
  if (found.sparse) {
    PackedSparse packed = PackedSparse::packed(*found.sparse);
    const auto bytes = static_cast<double>(packed.storage().bytes);
    std::string description = "sparse, " + packed.description();
    all.push_back(
        {.size = {ExactForm::kSparse, bytes, std::move(description)}, .value = std::move(packed)});
  }
  const auto is_smaller = [](const Store& a, const Store& b) {
    return a.size.bytes < b.size.bytes;
  };
  if (found.dense != nullptr && compresses) {
    const double smallest = std::min_element(all.begin(), all.end(), is_smaller)->size.bytes;
    const double most = wanted == ExactForm::kCompressed
                            ? std::numeric_limits<double>::infinity()
                            : std::min(budget_bytes, kWorthDecompressing * smallest);
    if (auto compressed = CompressedMatrix::of(*found.dense, most)) {
      const auto bytes = static_cast<double>(compressed->storage().bytes);
      std::string description = compressed->description();
      all.push_back({.size = {ExactForm::kCompressed, bytes, std::move(description)},
                     .value = std::move(*compressed)});
    }
  }
  std::stable_sort(all.begin(), all.end(), is_smaller);
  return all;
}

bool is_worth_a_sparse_product(const Entries& found, const Store& sparse, const Store& dictionary) {
  const double entries =
      static_cast<double>(found.sparse->rows()) * static_cast<double>(found.sparse->cols());
  return dictionary.size.bytes > kWorthADenseProduct * sparse.size.bytes ||
         (found.from_sparse &&
          static_cast<double>(found.sparse->nonZeros()) <= kStaysSparse * entries);
}

}  // namespace

void ExactOptions::visit(OptionVisitor& v) {
  v.visit_enum(
      "form",
      form,
      "dense: all entries, one triangle if symmetric; integers: in 1 to 16 bits; sparse: "
      "nonzero entries only; circulant: the first column; toeplitz: each diagonal, or each "
      "antidiagonal, once, also of blocks; dictionary: a list of the different values, at "
      "most 4096; compressed: doubles in xz streams; auto: the smallest of these, compressed "
      "only where that takes 45 % of the others at most");
  v.visit("budget", budget, "storage limit: bytes (4MB), a share (10%) or numbers");
}

std::vector<ExactSize> exact_sizes(const LinearOperator& A, const RunControl& control) {
  std::vector<ExactSize> sizes;
  const StopScope scope(control, kExact);
  for (Store& store : stores(entries(A, ExactForm::kAuto, control),
                             ExactForm::kAuto,
                             std::numeric_limits<double>::infinity())) {
    sizes.push_back(std::move(store.size));
  }
  return sizes;
}

Approximation exact(const LinearOperator& A,
                    const ExactOptions& options,
                    const RunControl& control) {
  const StopScope scope(control, kExact);
  const Entries found = entries(A, options.form, control);
  const double budget_bytes = options.budget.is_set() ? options.budget.bytes(A.rows(), A.cols())
                                                      : std::numeric_limits<double>::infinity();
  std::vector<Store> all = stores(found, options.form, budget_bytes);
  const auto of_form = [&](ExactForm form) {
    return std::find_if(
        all.begin(), all.end(), [&](const Store& store) { return store.size.form == form; });
  };
  auto chosen = options.form == ExactForm::kAuto ? all.begin() : of_form(options.form);
  if (options.form == ExactForm::kAuto && chosen->size.form == ExactForm::kDictionary) {
    const auto sparse = of_form(ExactForm::kSparse);
    if (sparse != all.end() && is_worth_a_sparse_product(found, *sparse, *chosen) &&
        sparse->size.bytes <= budget_bytes)
      chosen = sparse;
  }
  require(chosen != all.end(),
          "{}: form {} is not possible: {}",
          kExact,
          enum_name(options.form),
          why_impossible(options.form));
  if (chosen->size.bytes > budget_bytes) {
    throw BudgetTooSmall(
        fmt::format("{}: the matrix takes {:.0f} bytes at least ({}), more than the budget of {}",
                    kExact,
                    chosen->size.bytes,
                    chosen->size.description,
                    options.budget.text()),
        chosen->size.bytes);
  }
  if (chosen->value) {
    return result_of(std::move(*chosen->value), chosen->size.description, options);
  }
  return result_of(
      exact_store::tiled(*found.dense, chosen->tiles), chosen->size.description, options);
}

}  // namespace matapprox
