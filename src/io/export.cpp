#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/overloaded.hpp"
#include "factors/factor_value.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {

namespace {

struct NamedMatrix {
  std::string name;
  FileMatrix matrix;
};

/// W_m of a Chord chain as compressed rows, columns ascending.
SparseMatrix chord_factor(const ChordFactors& chain, Index m) {
  const Index n = chain.pattern.order;
  const auto& offsets = chain.pattern.offsets[static_cast<std::size_t>(m)];
  const auto links = static_cast<Index>(offsets.size());
  const double* values = chain.values.data() + chain.pattern.first_value(m);
  SparseMatrix W(n, n);
  W.reserve(Eigen::Matrix<Index, Eigen::Dynamic, 1>::Constant(n, links));
  std::vector<std::pair<Index, double>> row(offsets.size());
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < links; ++k) {
      row[static_cast<std::size_t>(k)] = {(i + offsets[static_cast<std::size_t>(k)]) % n,
                                          values[i * links + k]};
    }
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) W.insert(i, column) = value;
  }
  W.makeCompressed();
  return W;
}

SparseMatrix diagonal_matrix(const Vector& d) {
  SparseMatrix D(d.size(), d.size());
  D.reserve(Eigen::Matrix<Index, Eigen::Dynamic, 1>::Constant(d.size(), 1));
  for (Index i = 0; i < d.size(); ++i) D.insert(i, i) = d(i);
  D.makeCompressed();
  return D;
}

SparseMatrix permutation_matrix(const Permutation& permutation) {
  SparseMatrix P(permutation.rows(), permutation.cols());
  P.reserve(Eigen::Matrix<Index, Eigen::Dynamic, 1>::Constant(P.rows(), 1));
  for (Index i = 0; i < P.rows(); ++i)
    P.insert(i, permutation.sources()[static_cast<std::size_t>(i)]) = 1;
  P.makeCompressed();
  return P;
}

FileMatrix transposed(const FileMatrix& matrix) {
  return std::visit(
      [](const auto& A) -> FileMatrix { return std::decay_t<decltype(A)>(A.transpose()); }, matrix);
}

std::vector<FileMatrix> factors_of(const ChordFactors& chain) {
  std::vector<FileMatrix> result;
  for (Index m = 0; m < chain.pattern.factors(); ++m) result.emplace_back(chord_factor(chain, m));
  return result;
}

/// Returns a factor's value as matrices: one, or all factors of a chain. Kinds without an overload
/// are written out as dense matrices.
std::vector<FileMatrix> matrices_of(const FactorValue& value, const std::string& name) {
  using Matrices = std::vector<FileMatrix>;
  return std::visit(
      Overloaded{[](const Matrix& A) -> Matrices { return {A}; },
                 [](const PlacedMatrix& A) -> Matrices { return {A.middle_rows(0, A.rows())}; },
                 [](const SparseMatrix& A) -> Matrices { return {A}; },
                 [](const Vector& d) -> Matrices { return {diagonal_matrix(d)}; },
                 [](const Permutation& P) -> Matrices { return {permutation_matrix(P)}; },
                 [](const PackedSparse& A) -> Matrices { return {A.unpacked()}; },
                 [](const ChordFactors& chain) { return factors_of(chain); },
                 [](const PackedChord& chain) { return factors_of(chain.unpacked()); },
                 [](const PlacedChord& chain) { return factors_of(chain.to_host()); },
                 [&](const auto& A) -> Matrices {
                   require_memory(
                       8.0 * static_cast<double>(A.rows()) * static_cast<double>(A.cols()),
                       fmt::format("factor {}, written out", name));
                   return {value_columns(value, false, index_range(0, A.cols()))};
                 }},
      value);
}

/// Returns F_1 ... F_p with chains split into their factors and transposes formed explicitly.
std::vector<NamedMatrix> plain_factors(const FactorProduct& product) {
  std::vector<NamedMatrix> result;
  for (const Factor& factor : product.factors()) {
    std::vector<FileMatrix> parts = matrices_of(*factor.value, factor.name);
    if (factor.transposed) {
      std::reverse(parts.begin(), parts.end());
      for (FileMatrix& part : parts) part = transposed(part);
    }
    const bool many = parts.size() > 1;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::string name = many ? fmt::format("{}_{}", factor.name, k + 1) : factor.name;
      result.push_back({name, std::move(parts[k])});
    }
  }
  return result;
}

using Triplets = std::vector<Eigen::Triplet<double, Index>>;

void add_entries(Triplets& entries, const FileMatrix& matrix, Index row, Index col, double scale) {
  if (const auto* A = std::get_if<Matrix>(&matrix)) {
    for (Index j = 0; j < A->cols(); ++j) {
      for (Index i = 0; i < A->rows(); ++i)
        entries.emplace_back(row + i, col + j, scale * (*A)(i, j));
    }
    return;
  }
  const auto& A = std::get<SparseMatrix>(matrix);
  for (Index i = 0; i < A.outerSize(); ++i) {
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      entries.emplace_back(row + i, col + entry.col(), scale * entry.value());
    }
  }
}

Index rows_of(const FileMatrix& matrix) {
  return std::visit([](const auto& A) -> Index { return A.rows(); }, matrix);
}
Index cols_of(const FileMatrix& matrix) {
  return std::visit([](const auto& A) -> Index { return A.cols(); }, matrix);
}

/// (Z + Z^T) / 2 as a plain product: [F_1/2  F_p^T/2] diag(F_2, F_{p-1}^T) ... [F_p; F_1^T], and
/// (F_1 + F_1^T) / 2 for a single factor.
std::vector<NamedMatrix> symmetrized_factors(const std::vector<NamedMatrix>& factors) {
  const std::size_t p = factors.size();
  std::vector<NamedMatrix> result;
  for (std::size_t k = 0; k < p; ++k) {
    const FileMatrix& left = factors[k].matrix;
    const FileMatrix right = transposed(factors[p - 1 - k].matrix);
    const bool first = k == 0;
    const bool last = k + 1 == p;
    const Index row = first ? 0 : rows_of(left);
    const Index col = last ? 0 : cols_of(left);
    const double scale = first ? 0.5 : 1.0;
    Triplets entries;
    add_entries(entries, left, 0, 0, scale);
    add_entries(entries, right, row, col, scale);
    SparseMatrix both(row + rows_of(right), col + cols_of(right));
    both.setFromTriplets(entries.begin(), entries.end());
    result.push_back({fmt::format("symmetrized_{}", k + 1), std::move(both)});
  }
  return result;
}

std::vector<NamedMatrix> exported_factors(const Approximation& approximation) {
  std::vector<NamedMatrix> factors = plain_factors(approximation);
  return approximation.symmetrized() ? symmetrized_factors(factors) : factors;
}

void export_mat(const std::string& path, std::vector<NamedMatrix> factors) {
  std::vector<FileMatrix> matrices;
  matrices.reserve(factors.size());
  for (NamedMatrix& factor : factors) matrices.push_back(std::move(factor.matrix));
  write_mat_factors(path, matrices);
}

void add_arrays(std::vector<NpzArray>& arrays,
                const std::string& prefix,
                const FileMatrix& matrix) {
  if (const auto* A = std::get_if<Matrix>(&matrix)) {
    arrays.push_back({prefix, *A});
    return;
  }
  const auto& A = std::get<SparseMatrix>(matrix);
  const auto stored = A.nonZeros();
  arrays.push_back({prefix + "_data", Vector(Eigen::Map<const Vector>(A.valuePtr(), stored))});
  arrays.push_back(
      {prefix + "_indices", std::vector<Index>(A.innerIndexPtr(), A.innerIndexPtr() + stored)});
  arrays.push_back({prefix + "_indptr",
                    std::vector<Index>(A.outerIndexPtr(), A.outerIndexPtr() + A.rows() + 1)});
  arrays.push_back({prefix + "_shape", std::vector<Index>{A.rows(), A.cols()}});
}

void export_npz(const std::string& path,
                const std::vector<NamedMatrix>& factors,
                const std::string& method) {
  std::vector<NpzArray> arrays;
  arrays.push_back({"method", method});
  arrays.push_back({"factors", std::vector<Index>{static_cast<Index>(factors.size())}});
  for (std::size_t k = 0; k < factors.size(); ++k) {
    add_arrays(arrays, fmt::format("factor_{}", k + 1), factors[k].matrix);
  }
  write_npz(path, arrays);
}

void export_matrix_market(const std::vector<std::string>& files,
                          const std::vector<NamedMatrix>& factors) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    std::visit([&](const auto& A) { write_matrix_market(files[k], A); }, factors[k].matrix);
  }
}

/// Number of matrices that plain_factors returns; symmetrized_factors returns as many.
std::size_t count_plain_factors(const FactorProduct& product) {
  std::size_t count = 0;
  for (const Factor& factor : product.factors()) {
    const Index parts =
        std::visit(Overloaded{[](const ChordFactors& chain) { return chain.pattern.factors(); },
                              [](const PackedChord& chain) { return chain.pattern().factors(); },
                              [](const PlacedChord& chain) { return chain.pattern().factors(); },
                              [](const auto&) { return Index{1}; }},
                   *factor.value);
    count += static_cast<std::size_t>(parts);
  }
  return count;
}

}  // namespace

std::vector<std::string> exported_files(const std::string& path,
                                        const Approximation& approximation) {
  const std::filesystem::path whole(path);
  const std::string extension = whole.extension().string();
  require(extension == ".mat" || extension == ".npz" || extension == ".mtx",
          "{}: cannot export to '{}'; .mat, .npz and .mtx are written",
          path,
          extension);
  if (extension != ".mtx") return {path};
  const std::string stem = (whole.parent_path() / whole.stem()).string();
  std::vector<std::string> files;
  const std::size_t count = count_plain_factors(approximation);
  for (std::size_t k = 0; k < count; ++k) files.push_back(fmt::format("{}_{}.mtx", stem, k + 1));
  return files;
}

std::vector<std::string> export_approximation(const std::string& path,
                                              const Approximation& approximation) {
  std::vector<std::string> files = exported_files(path, approximation);
  std::vector<NamedMatrix> factors = exported_factors(approximation);
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".mat") {
    export_mat(path, std::move(factors));
  } else if (extension == ".npz") {
    export_npz(path, factors, approximation.summary.method);
  } else {
    export_matrix_market(files, factors);
  }
  return files;
}

}  // namespace matapprox
