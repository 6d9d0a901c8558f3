#include "support/operator_list.hpp"

#include <Eigen/LU>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/inverse.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/dense_formulas.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/saved_files.hpp"

namespace matapprox::test {

namespace {

std::shared_ptr<const LinearOperator> dense(const Matrix& A) {
  return std::make_shared<DenseOperator>(A);
}

OperatorCase stored_case(const Matrix& A) { return {"", dense(A), A}; }

/// A view of a block within a larger matrix.
OperatorCase view_case(MemoryOrder order) {
  auto memory = std::make_shared<const Matrix>(random_matrix(81, 57, 3));
  const bool by_rows = order == MemoryOrder::kRows;
  const Matrix block = memory->block(7, 2, 70, 40);
  const DenseView::Entries entries{
      &(*memory)(7, 2), by_rows ? 40 : 70, by_rows ? 70 : 40, 81, order};
  return {"",
          std::make_shared<DenseView>(entries, memory),
          by_rows ? Matrix(block.transpose()) : block};
}

OperatorCase sparse_case(const SparseMatrix& A) {
  return {"", std::make_shared<SparseOperator>(A), Matrix(A)};
}

/// A symmetric matrix with one zero entry that is stored on one side of the diagonal only.
SparseMatrix sparse_symmetric_with_zero() {
  SparseMatrix A = random_sparse(90, 90, 4, 5);
  A = SparseMatrix(A + SparseMatrix(A.transpose()));
  for (Index j = 1; j < 90; ++j) {
    if (A.coeff(0, j) != 0) continue;
    A.insert(0, j) = 0;
    break;
  }
  A.makeCompressed();
  return A;
}

SparseMatrix ring_with_isolated_node() {
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < 40; ++i) {
    entries.emplace_back(i, (i + 1) % 40, 1.0 + static_cast<double>(i));
    entries.emplace_back((i + 1) % 40, i, 1.0 + static_cast<double>(i));
  }
  SparseMatrix A(41, 41);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

Matrix dense_laplacian(const Matrix& A) { return Matrix(A.rowwise().sum().asDiagonal()) - A; }

OperatorCase kernel_case(KernelFunction function, Index points, Index dimension) {
  Matrix P = random_matrix(points, dimension, 7);
  P.row(3) = P.row(points - 1);  // two equal points
  if (function == KernelFunction::kCosine) P.row(5).setZero();
  const KernelOptions options{function, 1.7, 3, 0.5};
  return {"", std::make_shared<KernelOperator>(P, options), kernel_matrix(P, options), 2e-13};
}

OperatorCase covariance_case(bool correlation) {
  Matrix samples = random_matrix(70, 33, 9);
  samples.col(4).array() += 1e4;
  return {"",
          std::make_shared<CovarianceOperator>(samples, correlation),
          covariance_matrix(samples, correlation),
          1e-12};
}

OperatorCase inverse_case(const SparseMatrix& A) {
  return {"", inverse_operator(A), Matrix(A).inverse(), 1e-12};
}

SparseMatrix regular_unsymmetric() {
  SparseMatrix A = random_sparse(60, 60, 4, 11);
  for (Index i = 0; i < 60; ++i) A.coeffRef(i, i) += 8;
  A.makeCompressed();
  return A;
}

OperatorCase hdf5_case(const DatasetLayout& layout, Index panel_bytes) {
  const std::string path = temporary_dir() + "/matrix.h5";
  const Matrix A = random_matrix(75, 52, 13);
  write_dataset(path, "A", A, layout);
  return {"", std::make_shared<Hdf5Operator>(path, "A", panel_bytes), A};
}

/// Keeps the operators that a lazy operator refers to alive as long as the lazy operator.
template <class Lazy, class... Inner>
std::shared_ptr<const LinearOperator> keeping(std::shared_ptr<Inner>... inner) {
  auto* lazy = new Lazy(*inner...);
  return {lazy, [lazy, inner...](const LinearOperator*) { delete lazy; }};
}

OperatorCase transpose_case() {
  const Matrix A = random_matrix(31, 47, 17);
  return {"", transpose(dense(A)), A.transpose()};
}

OperatorCase difference_case() {
  const Matrix A = random_matrix(40, 28, 19);
  const SparseMatrix B = random_sparse(40, 28, 3, 20);
  return {"",
          keeping<Difference>(
              dense(A), std::shared_ptr<const LinearOperator>(std::make_shared<SparseOperator>(B))),
          A - Matrix(B)};
}

OperatorCase counted_case() {
  const Matrix A = random_matrix(29, 37, 23);
  return {"", keeping<CountedOperator>(dense(A)), A};
}

/// Dense, diagonal and dense factors, as in a singular value decomposition.
OperatorCase low_rank_case() {
  const Matrix U = random_matrix(44, 6, 29);
  const Vector s = random_matrix(6, 1, 30);
  const Matrix V = random_matrix(36, 6, 31);
  return {"",
          std::make_shared<FactorProduct>(std::vector<Factor>{
              make_factor("U", U), make_factor("S", s), make_factor("V", V, true)}),
          U * s.asDiagonal() * V.transpose()};
}

OperatorCase chord_case(bool symmetrized) {
  const Index n = 37;
  ChordFactors chord{chord_reference_pattern(n), {}};
  const Matrix values = random_matrix(chord.pattern.stored_numbers(), 1, 37);
  chord.values.assign(values.data(), values.data() + values.size());
  Matrix expected = chord_matrix(chord);
  if (symmetrized) expected = ((expected + expected.transpose()) / 2).eval();
  return {
      "",
      std::make_shared<FactorProduct>(std::vector<Factor>{make_factor("W", chord)}, symmetrized),
      expected};
}

/// P^T W Q, each permutation with stride 7, one of them backward.
OperatorCase permuted_case() {
  const Index n = 37;
  const Matrix W = random_matrix(n, n, 43);
  std::vector<Index> forward;
  std::vector<Index> backward;
  Matrix expected(n, n);
  for (Index i = 0; i < n; ++i) {
    forward.push_back(7 * i % n);
    backward.push_back((n - i) * 7 % n);
  }
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      expected(forward[static_cast<std::size_t>(i)], backward[static_cast<std::size_t>(j)]) =
          W(i, j);
    }
  }
  return {"",
          std::make_shared<FactorProduct>(
              std::vector<Factor>{make_factor("P", Permutation(forward), true),
                                  make_factor("W", W),
                                  make_factor("Q", Permutation(backward))}),
          expected};
}

OperatorCase projection_case() {
  const RandomProjection R(ProjectionKind::kSparse, 5, 12, 33);
  const SparseMatrix C = random_sparse(25, 12, 3, 41);
  return {"",
          std::make_shared<FactorProduct>(
              std::vector<Factor>{make_factor("C", C), make_factor("R", R)}),
          Matrix(C) * R.apply(Matrix::Identity(33, 33))};
}

/// The result of `make` under the name of the maker.
OperatorMaker named(const std::string& name, const std::function<OperatorCase()>& make) {
  return {name, [name, make] {
            OperatorCase result = make();
            result.name = name;
            return result;
          }};
}

bool has_sparse_solver() {
  try {
    inverse_operator(grid_laplacian(2));
    return true;
  } catch (const NotAvailable&) {
    return false;
  }
}

std::vector<OperatorMaker> make_list() {
  std::vector<OperatorMaker> list{
      named("dense", [] { return stored_case(random_matrix(70, 133, 1)); }),
      named("dense_view_by_columns", [] { return view_case(MemoryOrder::kColumns); }),
      named("dense_view_by_rows", [] { return view_case(MemoryOrder::kRows); }),
      named("dense_symmetric", [] { return stored_case(with_eigenvalues(harmonic_spectrum(50))); }),
      named("dense_zero", [] { return stored_case(Matrix::Zero(8, 5)); }),
      named("dense_one_by_one", [] { return stored_case(Matrix::Constant(1, 1, -2.5)); }),
      named("sparse", [] { return sparse_case(random_sparse(120, 85, 5, 3)); }),
      named("sparse_symmetric", [] { return sparse_case(sparse_symmetric_with_zero()); }),
      named("sparse_empty", [] { return sparse_case(SparseMatrix(7, 9)); }),
      named("laplacian",
            [] {
              const SparseMatrix A = ring_with_isolated_node();
              OperatorCase result = sparse_case(graph_laplacian(A));
              result.expected = dense_laplacian(Matrix(A));
              return result;
            }),
      named("kernel_gaussian_many_tiles",
            [] { return kernel_case(KernelFunction::kGaussian, 600, 3); }),
      named("covariance", [] { return covariance_case(false); }),
      named("correlation", [] { return covariance_case(true); }),
      named("hdf5_contiguous", [] { return hdf5_case({}, 4096); }),
      named("hdf5_chunked",
            [] {
              return hdf5_case({H5T_NATIVE_DOUBLE, 16, 7, true}, 9000);
            }),
      named("hdf5_column_chunks",
            [] {
              return hdf5_case({H5T_NATIVE_DOUBLE, 75, 1, false}, 2000);
            }),
      named("transpose", transpose_case),
      named("difference", difference_case),
      named("counted", counted_case),
      named("low_rank_product", low_rank_case),
      named("chord_product", [] { return chord_case(false); }),
      named("chord_product_symmetrized", [] { return chord_case(true); }),
      named("permuted_product", permuted_case),
      named("projection_product", projection_case)};
  const auto& kernels = EnumNames<KernelFunction>::values;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    list.push_back(named("kernel_" + std::string(kernels[i]),
                         [i] { return kernel_case(static_cast<KernelFunction>(i), 150, 5); }));
  }
  if (has_sparse_solver()) {
    list.push_back(named("inverse_cholesky", [] { return inverse_case(grid_laplacian(8)); }));
    list.push_back(named("inverse_lu", [] { return inverse_case(regular_unsymmetric()); }));
  }
  return list;
}

}  // namespace

const std::vector<OperatorMaker>& all_operators() {
  static const std::vector<OperatorMaker> list = make_list();
  return list;
}

std::ostream& operator<<(std::ostream& out, const OperatorMaker& maker) {
  return out << maker.name;
}

}  // namespace matapprox::test
