#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

/// A as one of the types T, the first that it is.
template <class First, class... Others>
StoredAs first_of(const LinearOperator& A) {
  if (const auto* found = dynamic_cast<const First*>(&A)) return found;
  if constexpr (sizeof...(Others) > 0) return first_of<Others...>(A);
  return std::monostate();
}

/// A without its wrappers as a T, or null.
template <class T>
const T* underlying_as(const LinearOperator& A) {
  const StoredAs stored = stored_as(A.underlying());
  const auto* found = std::get_if<const T*>(&stored);
  return found == nullptr ? nullptr : *found;
}

}  // namespace

StoredAs stored_as(const LinearOperator& A) {
  return first_of<DenseOperator,
                  DenseView,
                  SparseOperator,
                  KernelOperator,
                  CovarianceOperator,
                  FactorProduct>(A);
}

const Matrix* dense_values(const LinearOperator& A) {
  const auto* dense = underlying_as<DenseOperator>(A);
  return dense == nullptr ? nullptr : &dense->values();
}

const SparseMatrix* sparse_values(const LinearOperator& A) {
  const auto* sparse = underlying_as<SparseOperator>(A);
  return sparse == nullptr ? nullptr : &sparse->values();
}

const KernelOperator* kernel_matrix(const LinearOperator& A) {
  return underlying_as<KernelOperator>(A);
}

bool has_entries_in_memory(const LinearOperator& A) {
  return dense_values(A) != nullptr || sparse_values(A) != nullptr ||
         underlying_as<DenseView>(A) != nullptr;
}

}  // namespace matapprox
