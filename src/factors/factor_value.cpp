#include "factors/factor_value.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/small_float.hpp"
#include "core/unit_columns.hpp"
#include "kernels/sparse.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

/// Bytes of an index below `count`.
Index index_bytes(Index count) { return count > std::numeric_limits<std::int32_t>::max() ? 8 : 4; }

Matrix sparse_product(const SparseMatrix& A, const ConstBlock& X) {
  Matrix Y(A.rows(), X.cols());
  kernels::sparse_apply(A, X, Y);
  return Y;
}

/// A^T X by scattering rows, one column of X at a time: no transposed copy is stored.
Matrix sparse_transpose_product(const SparseMatrix& A, const ConstBlock& X) {
  Matrix Y = Matrix::Zero(A.cols(), X.cols());
  parallel_for(X.cols(), [&](Index c) {
    for (Index i = 0; i < A.rows(); ++i) {
      const double x = X(i, c);
      for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry)
        Y(entry.col(), c) += entry.value() * x;
    }
  });
  return Y;
}

Matrix chord_value_product(const ChordFactors& chain, bool transposed, const ConstBlock& X) {
  Matrix Y(X.rows(), X.cols());
  if (transposed) {
    kernels::chord_apply_transpose(chain.pattern, chain.values.data(), X, Y);
  } else {
    kernels::chord_apply(chain.pattern, chain.values.data(), X, Y);
  }
  return Y;
}

/// Storage of a chain: its values, an integer for each offset and one for each factor's number of
/// links.
Storage chain_storage(const ChordPattern& pattern, Index width) {
  const Index numbers = pattern.stored_numbers();
  return {numbers, numbers * width + 8 * (numbers / pattern.order + pattern.factors())};
}

Matrix dense_columns(const Matrix& F, bool transposed, std::span<const Index> J) {
  Matrix columns(transposed ? F.cols() : F.rows(), static_cast<Index>(J.size()));
  for (std::size_t c = 0; c < J.size(); ++c) {
    if (transposed) {
      columns.col(static_cast<Index>(c)) = F.row(J[c]).transpose();
    } else {
      columns.col(static_cast<Index>(c)) = F.col(J[c]);
    }
  }
  return columns;
}

/// F(:, J), or F^T(:, J) if `transposed`, in one pass over the entries or over the chosen rows: a
/// product with unit columns would read all of their zeros.
Matrix sparse_columns(const SparseMatrix& F, bool transposed, std::span<const Index> J) {
  const auto count = static_cast<Index>(J.size());
  Matrix columns = Matrix::Zero(transposed ? F.cols() : F.rows(), count);
  if (transposed) {
    kernels::gather_rows(F, J, columns);
    return columns;
  }
  // Sorted by column: an array with a place for each column could be far larger than the result.
  std::vector<std::pair<Index, Index>> places;
  places.reserve(J.size());
  for (Index c = 0; c < count; ++c) places.emplace_back(J[static_cast<std::size_t>(c)], c);
  std::sort(places.begin(), places.end());
  if (places.empty()) return columns;
  for (Index i = 0; i < F.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(F, i); entry; ++entry) {
      const Index j = entry.col();
      if (j < places.front().first || j > places.back().first) continue;
      auto place = std::lower_bound(places.begin(), places.end(), std::pair(j, Index{0}));
      for (; place != places.end() && place->first == j; ++place)
        columns(i, place->second) = entry.value();
    }
  }
  return columns;
}

/// R(:, J); consecutive columns are generated together.
Matrix projection_columns(const RandomProjection& R, std::span<const Index> J) {
  Matrix columns(R.rows(), static_cast<Index>(J.size()));
  for (std::size_t c = 0; c < J.size();) {
    std::size_t run = 1;
    while (c + run < J.size() && J[c + run] == J[c] + static_cast<Index>(run)) ++run;
    columns.middleCols(static_cast<Index>(c), static_cast<Index>(run)) =
        R.columns(J[c], static_cast<Index>(run));
    c += run;
  }
  return columns;
}

}  // namespace

Index value_rows(const FactorValue& value) {
  return std::visit(Overloaded{[](const Vector& v) { return Index{v.size()}; },
                               [](const ChordFactors& v) { return v.pattern.order; },
                               [](const auto& v) { return Index{v.rows()}; }},
                    value);
}

Index value_cols(const FactorValue& value) {
  return std::visit(Overloaded{[](const Vector& v) { return Index{v.size()}; },
                               [](const ChordFactors& v) { return v.pattern.order; },
                               [](const auto& v) { return Index{v.cols()}; }},
                    value);
}

Storage value_storage(const FactorValue& value, Precision precision) {
  const Index width = bytes_per_value(precision);
  return std::visit(
      Overloaded{
          [&](const SparseMatrix& v) {
            return Storage{v.nonZeros(), sparse_bytes(v.rows(), v.cols(), v.nonZeros(), precision)};
          },
          [&](const ChordFactors& v) { return chain_storage(v.pattern, width); },
          [&](const PlacedChord& v) { return chain_storage(v.pattern(), width); },
          [](const RandomProjection&) {
            return Storage{0, 0};
          },
          [](const Permutation& v) {
            return Storage{v.rows(), permutation_bytes(v.rows())};
          },
          [](const PackedMatrix& v) { return v.storage(); },
          [](const BlockMatrix& v) { return v.storage(); },
          [](const PackedChord& v) { return v.storage(); },
          [](const PackedSparse& v) { return v.storage(); },
          [&](const auto& v) {
            return Storage{v.size(), v.size() * width};
          }},
      value);
}

double value_multiplications(const FactorValue& value) {
  if (const auto* R = std::get_if<RandomProjection>(&value)) {
    return static_cast<double>(R->rows()) * static_cast<double>(R->cols());
  }
  if (std::holds_alternative<Permutation>(value)) return 0;
  if (const auto* blocks = std::get_if<BlockMatrix>(&value)) return blocks->multiplications();
  if (const auto* sparse = std::get_if<PackedSparse>(&value)) {
    return static_cast<double>(sparse->nonzeros());
  }
  return static_cast<double>(value_storage(value, Precision::kDouble).numbers);
}

void apply_value(const FactorValue& value, bool transposed, const ConstBlock& X, Block Y) {
  using kernels::Trans;
  std::visit(Overloaded{[&](const Matrix& F) {
                          kernels::gemm(transposed ? Trans::kYes : Trans::kNo, F, Trans::kNo, X, Y);
                        },
                        [&](const SparseMatrix& F) {
                          Y = transposed ? sparse_transpose_product(F, X) : sparse_product(F, X);
                        },
                        [&](const Vector& F) { Y = F.asDiagonal() * X; },
                        [&](const ChordFactors& F) { Y = chord_value_product(F, transposed, X); },
                        [&](const BlockMatrix& F) { F.multiply(transposed, X, Y); },
                        [&](const auto& F) { Y = transposed ? F.apply_transpose(X) : F.apply(X); }},
             value);
}

Matrix apply_value(const FactorValue& value, bool transposed, const ConstBlock& X) {
  Matrix Y(transposed ? value_cols(value) : value_rows(value), X.cols());
  apply_value(value, transposed, X, Y);
  return Y;
}

Matrix value_columns(const FactorValue& value, bool transposed, std::span<const Index> J) {
  if (const auto* F = std::get_if<Matrix>(&value)) return dense_columns(*F, transposed, J);
  if (const auto* S = std::get_if<SparseMatrix>(&value)) return sparse_columns(*S, transposed, J);
  if (const auto* R = std::get_if<RandomProjection>(&value); R != nullptr && !transposed) {
    return projection_columns(*R, J);
  }
  if (const auto* P = std::get_if<PackedMatrix>(&value); P != nullptr && !transposed) {
    return P->columns(J);
  }
  if (const auto* B = std::get_if<BlockMatrix>(&value)) {
    return transposed ? B->rows_at(J) : B->columns(J);
  }
  if (const auto* F = std::get_if<PlacedMatrix>(&value)) {
    return transposed ? F->rows_at(J) : F->columns_at(J);
  }
  return apply_value(
      value, transposed, unit_columns(transposed ? value_rows(value) : value_cols(value), J));
}

std::span<const double> stored_values(const FactorValue& value) {
  return std::visit(
      Overloaded{[](const SparseMatrix& v) {
                   return std::span<const double>(v.valuePtr(),
                                                  static_cast<std::size_t>(v.nonZeros()));
                 },
                 [](const ChordFactors& v) { return std::span<const double>(v.values); },
                 [](const Matrix& v) {
                   return std::span<const double>(v.data(), static_cast<std::size_t>(v.size()));
                 },
                 [](const Vector& v) {
                   return std::span<const double>(v.data(), static_cast<std::size_t>(v.size()));
                 },
                 [](const auto&) { return std::span<const double>(); }},
      value);
}

double rounded_number(double x, Precision precision) {
  switch (precision) {
    case Precision::kFloat:
      return static_cast<double>(static_cast<float>(x));
    case Precision::kFloat16:
      return kFloat16.rounded(x);
    case Precision::kBfloat16:
      return kBfloat16.rounded(x);
    default:
      return x;
  }
}

FactorValue rounded_value(const FactorValue& value, Precision precision) {
  const auto round = [precision](double x) { return rounded_number(x, precision); };
  FactorValue result = value;
  std::visit(Overloaded{[&](SparseMatrix& v) {
                          std::transform(
                              v.valuePtr(), v.valuePtr() + v.nonZeros(), v.valuePtr(), round);
                        },
                        [&](ChordFactors& v) {
                          std::transform(v.values.begin(), v.values.end(), v.values.begin(), round);
                        },
                        [&](Matrix& v) { v = v.unaryExpr(round).eval(); },
                        [&](Vector& v) { v = v.unaryExpr(round).eval(); },
                        [](auto&) {}},
             result);
  return result;
}

Index permutation_bytes(Index n) { return n * index_bytes(n); }

Index sparse_bytes(Index rows, Index cols, Index nonzeros, Precision precision) {
  return nonzeros * (bytes_per_value(precision) + index_bytes(cols)) + (rows + 1) * 8;
}

}  // namespace matapprox
