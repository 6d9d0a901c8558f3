#include "methods/cur/chosen_columns.hpp"

#include <algorithm>
#include <span>

#include "methods/finite.hpp"

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

}  // namespace matapprox
