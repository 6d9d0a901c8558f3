#include "factors/factor_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/overloaded.hpp"
#include "core/small_float.hpp"
#include "core/unit_columns.hpp"
#include "kernels/sparse.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

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

/// R(:, J); consecutive columns are generated together, so many that their copy stays small.
Matrix projection_columns(const RandomProjection& R, std::span<const Index> J) {
  constexpr std::size_t kMost = 512;
  Matrix columns(R.rows(), static_cast<Index>(J.size()));
  for (std::size_t c = 0; c < J.size();) {
    std::size_t run = 1;
    while (run < kMost && c + run < J.size() && J[c + run] == J[c] + static_cast<Index>(run)) ++run;
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
          [](const DictionaryMatrix& v) { return v.storage(); },
          [](const CompressedMatrix& v) { return v.storage(); },
          [](const KroneckerSum& v) { return v.storage(); },
          [](const KroneckerSparse& v) { return v.storage(); },
          [](const WaveletMatrix& v) { return v.storage(); },
          [](const SumMatrix& v) { return v.storage(); },
          [&](const auto& v) {
            return Storage{v.size(), v.size() * width};
          }},
      value);
}

std::string value_description(const FactorValue& value) {
  using Text = std::string;
  return std::visit(
      Overloaded{
          [](const Matrix&) -> Text { return "dense"; },
          [](const SparseMatrix&) -> Text { return "sparse"; },
          [](const Vector&) -> Text { return "diagonal"; },
          [](const ChordFactors& v) {
            return fmt::format("chord chain of {}", v.pattern.factors());
          },
          [](const RandomProjection& v) {
            return fmt::format("{} projection from seed {}", enum_name(v.kind()), v.seed());
          },
          [](const Permutation&) -> Text { return "permutation"; },
          [](const PackedMatrix&) -> Text { return "packed"; },
          [](const BlockMatrix& v) { return fmt::format("{} blocks", v.content().leaves.size()); },
          [](const PackedChord& v) {
            return fmt::format("packed chord chain of {}", v.pattern().factors());
          },
          [](const PackedSparse& v) { return "packed sparse, " + v.description(); },
          [](const Circulant&) -> Text { return "circulant"; },
          [](const ToeplitzMatrix& v) { return v.description(); },
          [](const DictionaryMatrix& v) { return "dictionary, " + v.description(); },
          [](const CompressedMatrix& v) { return v.description(); },
          [](const KroneckerSum& v) { return v.description(); },
          [](const KroneckerSparse& v) { return v.description(); },
          [](const WaveletMatrix& v) { return v.description(); },
          [](const TransformMatrix& v) { return v.description(); },
          [](const SumMatrix& v) { return v.description(); },
          [](const PlacedMatrix&) -> Text { return "dense, on several processes"; },
          [](const PlacedChord& v) {
            return fmt::format("chord chain of {}, on several processes", v.pattern().factors());
          }},
      value);
}

double value_multiplications(const FactorValue& value) {
  return std::visit(
      Overloaded{[](const RandomProjection& v) { return v.multiplications(); },
                 [](const Permutation&) { return 0.0; },
                 [](const BlockMatrix& v) { return v.multiplications(); },
                 [](const PackedSparse& v) { return static_cast<double>(v.nonzeros()); },
                 [](const Circulant& v) { return v.multiplications(); },
                 [](const ToeplitzMatrix& v) { return v.multiplications(); },
                 [](const KroneckerSum& v) { return v.multiplications(); },
                 [](const KroneckerSparse& v) { return v.multiplications(); },
                 [](const WaveletMatrix& v) { return v.multiplications(); },
                 [](const TransformMatrix& v) { return v.multiplications(); },
                 [](const SumMatrix& v) { return v.multiplications(); },
                 [](const DictionaryMatrix& v) {
                   return static_cast<double>(v.rows()) * static_cast<double>(v.cols());
                 },
                 [](const CompressedMatrix& v) {
                   return static_cast<double>(v.rows()) * static_cast<double>(v.cols());
                 },
                 [&](const auto&) {
                   return static_cast<double>(value_storage(value, Precision::kDouble).numbers);
                 }},
      value);
}

bool is_packed(const FactorValue& value) {
  return std::visit(Overloaded{[](const PackedMatrix&) { return true; },
                               [](const BlockMatrix&) { return true; },
                               [](const PackedChord&) { return true; },
                               [](const PackedSparse&) { return true; },
                               [](const DictionaryMatrix&) { return true; },
                               [](const CompressedMatrix&) { return true; },
                               [](const KroneckerSum&) { return true; },
                               [](const KroneckerSparse&) { return true; },
                               [](const WaveletMatrix&) { return true; },
                               [](const SumMatrix& v) {
                                 return std::any_of(
                                     v.terms().begin(), v.terms().end(), [](const Factor& term) {
                                       return is_packed(*term.value);
                                     });
                               },
                               [](const auto&) { return false; }},
                    value);
}

bool is_placed(const FactorValue& value) {
  return std::visit(Overloaded{[](const PlacedMatrix&) { return true; },
                               [](const PlacedChord&) { return true; },
                               [](const auto&) { return false; }},
                    value);
}

const std::shared_ptr<const MemorySpace>& value_space(const FactorValue& value) {
  using Space = const std::shared_ptr<const MemorySpace>;
  return std::visit(Overloaded{[](const PlacedMatrix& v) -> Space& { return v.space(); },
                               [](const PlacedChord& v) -> Space& { return v.space(); },
                               [](const auto&) -> Space& { return host_space(); }},
                    value);
}

bool equals_transpose(const Matrix& A) {
  if (A.rows() != A.cols()) return false;
  // Tiles are compared, so that each and its mirror image are in the cache.
  constexpr Index kSide = 64;
  std::atomic<bool> equal = true;
  parallel_for((A.cols() + kSide - 1) / kSide, [&](Index panel) {
    const Index end = std::min((panel + 1) * kSide, A.cols());
    for (Index row = 0; row < end && equal; row += kSide) {
      for (Index j = panel * kSide; j < end; ++j) {
        for (Index i = row; i < std::min(row + kSide, j); ++i) {
          if (std::bit_cast<std::uint64_t>(A(i, j)) != std::bit_cast<std::uint64_t>(A(j, i)))
            equal = false;
        }
      }
    }
  });
  return equal;
}

FactorValue host_value(const FactorValue& value) {
  return std::visit(
      Overloaded{[](const PlacedMatrix& v) -> FactorValue { return to_host(v.numbers()); },
                 [](const PlacedChord& v) -> FactorValue { return v.to_host(); },
                 [](const auto& v) -> FactorValue { return v; }},
      value);
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
  const auto by_product = [&] {
    const Index n = transposed ? value_rows(value) : value_cols(value);
    return apply_value(value, transposed, unit_columns(n, J));
  };
  return std::visit(
      Overloaded{[&](const Matrix& F) { return dense_columns(F, transposed, J); },
                 [&](const SparseMatrix& F) { return sparse_columns(F, transposed, J); },
                 [&](const RandomProjection& F) {
                   return transposed ? by_product() : projection_columns(F, J);
                 },
                 [&](const PackedMatrix& F) { return transposed ? by_product() : F.columns(J); },
                 [&](const BlockMatrix& F) { return transposed ? F.rows_at(J) : F.columns(J); },
                 [&](const PlacedMatrix& F) { return transposed ? F.rows_at(J) : F.columns_at(J); },
                 [&](const Circulant& F) { return F.columns(transposed, J); },
                 [&](const ToeplitzMatrix& F) { return F.columns(transposed, J); },
                 [&](const DictionaryMatrix& F) { return F.columns(transposed, J); },
                 [&](const CompressedMatrix& F) { return F.columns(transposed, J); },
                 [&](const KroneckerSum& F) { return F.columns(transposed, J); },
                 [&](const WaveletMatrix& F) { return F.columns(transposed, J); },
                 [&](const TransformMatrix& F) { return F.columns(transposed, J); },
                 [&](const SumMatrix& F) { return F.columns(transposed, J); },
                 [&](const auto&) { return by_product(); }},
      value);
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
                 [](const Circulant& v) {
                   return std::span<const double>(v.first_column().data(),
                                                  static_cast<std::size_t>(v.size()));
                 },
                 [](const ToeplitzMatrix& v) {
                   return std::span<const double>(v.content().symbol.data(),
                                                  static_cast<std::size_t>(v.size()));
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
  std::visit(
      Overloaded{[&](SparseMatrix& v) {
                   std::transform(v.valuePtr(), v.valuePtr() + v.nonZeros(), v.valuePtr(), round);
                 },
                 [&](ChordFactors& v) {
                   std::transform(v.values.begin(), v.values.end(), v.values.begin(), round);
                 },
                 [&](Matrix& v) { v = v.unaryExpr(round).eval(); },
                 [&](Vector& v) { v = v.unaryExpr(round).eval(); },
                 [&](Circulant& v) { v = Circulant(v.first_column().unaryExpr(round)); },
                 [&](ToeplitzMatrix& v) {
                   v = ToeplitzMatrix({v.content().levels, v.content().symbol.unaryExpr(round)});
                 },
                 [](auto&) {}},
      result);
  return result;
}

namespace {

PackedMatrix::Content content_of(const PackedMatrix& packed) {
  PackedMatrix::Content content = packed.content();
  content.data.assign(packed.data().begin(), packed.data().end());
  return content;
}

PackedMatrix multiplied(const PackedMatrix& packed, int exponent) {
  PackedMatrix::Content content = content_of(packed);
  content.unit = std::ldexp(content.unit, exponent);
  return PackedMatrix(std::move(content));
}

/// Keeps the size: a matrix that is packed again may take more bytes than it was given.
PackedSparse multiplied(const PackedSparse& packed, int exponent) {
  PackedSparse::Content content = packed.content();
  content.data.assign(packed.data().begin(), packed.data().end());
  if (content.kind == SparseValues::kDictionary) {
    for (double& value : content.dictionary) value = std::ldexp(value, exponent);
  } else {
    content.unit = std::ldexp(content.unit, exponent);
  }
  return PackedSparse(std::move(content));
}

/// All factors of a chain share one unit. Each takes an equal part of the exponent, and the first
/// factor also the remainder.
PackedChord multiplied(const PackedChord& chain, int exponent) {
  PackedMatrix::Content content = content_of(chain.values());
  const auto factors = static_cast<int>(chain.pattern().factors());
  content.unit = std::ldexp(content.unit, exponent / factors);
  const Index groups = 1 + (content.rows - 1) / content.group;
  const auto of_first = static_cast<std::size_t>(groups * chain.pattern().links(0));
  for (std::size_t k = 0; k < of_first; ++k) {
    content.scales[k] = std::ldexp(content.scales[k], exponent % factors);
  }
  return {chain.pattern(), PackedMatrix(std::move(content))};
}

}  // namespace

std::shared_ptr<const FactorValue> multiplied_value(const FactorValue& value, int exponent) {
  FactorValue result = value;
  const bool possible = std::visit(
      Overloaded{[&](Matrix& v) { return multiply_by_power_of_two(v, exponent); },
                 [&](Vector& v) { return multiply_by_power_of_two(v, exponent); },
                 [&](SparseMatrix& v) { return multiply_by_power_of_two(v.coeffs(), exponent); },
                 [&](ChordFactors& v) {
                   // The first factor of the chain.
                   const Index numbers = v.pattern.order * v.pattern.links(0);
                   return multiply_by_power_of_two(Eigen::Map<Vector>(v.values.data(), numbers),
                                                   exponent);
                 },
                 [&](PackedMatrix& v) {
                   v = multiplied(v, exponent);
                   return true;
                 },
                 [&](PackedChord& v) {
                   v = multiplied(v, exponent);
                   return true;
                 },
                 [&](PackedSparse& v) {
                   v = multiplied(v, exponent);
                   return true;
                 },
                 [&](Circulant& v) {
                   Vector column = v.first_column();
                   multiply_by_power_of_two(column, exponent);
                   v = Circulant(std::move(column));
                   return true;
                 },
                 [&](ToeplitzMatrix& v) {
                   ToeplitzMatrix::Content content = v.content();
                   multiply_by_power_of_two(content.symbol, exponent);
                   v = ToeplitzMatrix(std::move(content));
                   return true;
                 },
                 [&](DictionaryMatrix& v) {
                   v = v.multiplied(exponent);
                   return true;
                 },
                 [&](KroneckerSum& v) {
                   KroneckerSum::Content content = v.content();
                   if (content.right) {
                     content.left = multiplied(content.left, exponent);
                   } else {
                     multiply_by_power_of_two(content.weights, exponent);
                   }
                   v = KroneckerSum(std::move(content));
                   return true;
                 },
                 [&](KroneckerSparse& v) {
                   v = KroneckerSparse(v.pattern(), multiplied(v.values(), exponent));
                   return true;
                 },
                 [&](WaveletMatrix& v) {
                   v = v.multiplied(exponent);
                   return true;
                 },
                 [&](SumMatrix& v) {
                   std::vector<Factor> terms;
                   for (const Factor& term : v.terms()) {
                     auto multiplied = multiplied_value(*term.value, exponent);
                     if (!multiplied) return false;
                     terms.push_back({term.name, std::move(multiplied)});
                   }
                   v = SumMatrix(std::move(terms));
                   return true;
                 },
                 [](auto&) { return false; }},
      result);
  return possible ? std::make_shared<const FactorValue>(std::move(result)) : nullptr;
}

Index permutation_bytes(Index n) { return n * index_bytes(n); }

Index sparse_bytes(Index rows, Index cols, Index nonzeros, Precision precision) {
  return nonzeros * (bytes_per_value(precision) + index_bytes(cols)) + (rows + 1) * 8;
}

}  // namespace matapprox
