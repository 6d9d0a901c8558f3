#pragma once

#include <variant>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"

namespace matapprox {

/// An operator as the type that holds its numbers; std::monostate if only its products are known.
/// A backend (CUDA, MPI) has one set of overloads for these types and treats all others alike.
using StoredAs = std::variant<std::monostate,
                              const DenseOperator*,
                              const DenseView*,
                              const SparseOperator*,
                              const KernelOperator*,
                              const CovarianceOperator*,
                              const FactorProduct*>;

/// The only function that distinguishes the types of operators. A wrapper (placed, counted,
/// transposed) counts as an operator of which only the products are known.
StoredAs stored_as(const LinearOperator& A);

// Methods ask these questions instead. They look through wrappers: they examine A.underlying().

/// All entries of A if they are in memory, column by column; else null.
const Matrix* dense_values(const LinearOperator& A);
/// The nonzero entries of A if they are in memory as compressed rows; else null.
const SparseMatrix* sparse_values(const LinearOperator& A);
/// A if it is the kernel matrix of points; else null.
const KernelOperator* kernel_matrix(const LinearOperator& A);
/// True if all entries, or all nonzero ones, are in memory: columns and rows are copied, not
/// computed.
bool has_entries_in_memory(const LinearOperator& A);

}  // namespace matapprox
