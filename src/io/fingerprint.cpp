#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {

namespace {

constexpr Index kNumbers = 4;
constexpr std::uint64_t kSeed = 1;
/// If a product takes more multiplications than this, a few rows replace the whole matrix.
constexpr double kCheapProduct = 5e8;

/// Returns a matrix with random_normal(1, kFingerprint, i, first + k) in row i and column k.
Matrix probes(Index size, Index first) {
  Matrix X(size, kNumbers);
  fill_normal(kSeed, RandomStream::kFingerprint, X, 0, first);
  return X;
}

/// Scale of probes that are small enough for any matrix. With probes near 1, products of a matrix
/// with entries near 1e308 leave the range of doubles, and numbers that are not finite cannot
/// distinguish matrices.
constexpr double kSmallProbes = 0x1p-200;

constexpr double kComparable = 1e300;  ///< up to this size, norms and differences are finite

bool all_comparable(const std::vector<double>& values) {
  return std::all_of(
      values.begin(), values.end(), [](double x) { return std::abs(x) <= kComparable; });
}

std::vector<double> inner_products(const Matrix& X, const Matrix& Y) {
  std::vector<double> result;
  for (Index k = 0; k < kNumbers; ++k) result.push_back(X.col(k).dot(Y.col(k)));
  return result;
}

/// Fingerprint of a matrix of few entries; computes only the probe entries that meet one of them.
std::vector<double> fingerprint_of_entries(const SparseMatrix& A, double scale) {
  const auto probe = [](Index i, Index column) {
    return random_normal(kSeed, RandomStream::kFingerprint, i, column);
  };
  std::vector<double> result(kNumbers, 0.0);
  for (Index i = 0; i < A.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      for (Index k = 0; k < kNumbers; ++k) {
        result[static_cast<std::size_t>(k)] +=
            entry.value() * (probe(entry.col(), k) * scale) * probe(i, kNumbers + k);
      }
    }
  }
  return result;
}

std::vector<double> fingerprint_of(const LinearOperator& A, double scale) {
  const SparseMatrix* sparse = sparse_values(A);
  if (sparse != nullptr && 4 * sparse->nonZeros() < A.rows() + A.cols())
    return fingerprint_of_entries(*sparse, scale);
  const Matrix X = probes(A.cols(), 0) * scale;
  if (A.cost().multiplications_per_apply <= kCheapProduct) {
    return inner_products(A.apply(X), probes(A.rows(), kNumbers));
  }
  std::vector<Index> rows;
  for (Index k = 0; k < kNumbers; ++k) {
    rows.push_back(random_index(kSeed, RandomStream::kFingerprint, k, 2 * kNumbers, A.rows()));
  }
  return inner_products(A.rows_at(rows), X);
}

}  // namespace

std::vector<double> fingerprint(const LinearOperator& A) {
  std::vector<double> numbers = fingerprint_of(A, 1);
  return all_comparable(numbers) ? numbers : fingerprint_of(A, kSmallProbes);
}

bool same_fingerprint(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  double difference = 0;
  double size = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    difference = std::hypot(difference, a[k] - b[k]);
    size = std::hypot(size, a[k]);
  }
  return difference <= 1e-9 * size;
}

}  // namespace matapprox
