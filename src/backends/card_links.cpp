#include "backends/card_links.hpp"

#include <algorithm>
#include <map>

#include "factors/factor_value.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox {
namespace {

constexpr Index kDoubleBytes = 8;
/// What an exponential or a root with one counts for, in flops.
constexpr double kFlopsOfAKernelFunction = 30;

cuda::HostDense host_dense(const Matrix& A) { return {A.rows(), A.cols(), A.data()}; }

cuda::HostSparse host_sparse(const SparseMatrix& A) {
  return {A.rows(), A.cols(), A.outerIndexPtr(), A.innerIndexPtr(), A.valuePtr()};
}

/// The matrix and, unless it is symmetric, its transpose, which `links` then keeps.
cuda::HostSparsePair host_sparse_pair(const SparseMatrix& A, bool symmetric, CardLinks& links) {
  const SparseMatrix* compressed = &A;
  if (!A.isCompressed()) {
    SparseMatrix& copy = links.own_sparse.emplace_back(A);
    copy.makeCompressed();
    compressed = &copy;
  }
  cuda::HostSparsePair pair{host_sparse(*compressed), {}};
  if (!symmetric)
    pair.transposed = host_sparse(links.own_sparse.emplace_back(compressed->transpose()));
  return pair;
}

cuda::HostKernel host_kernel(const KernelOperator& A, CardLinks& links) {
  const bool cosine = A.options().function == KernelFunction::kCosine;
  const Matrix& points =
      cosine ? links.own_dense.emplace_back(unit_directions(A.points())) : A.points();
  const TileKernel kernel = tile_kernel(A.options(), points.cols());
  return {points.rows(),
          static_cast<int>(points.cols()),
          points.data(),
          {static_cast<cuda::KernelKind>(kernel.function),
           kernel.scale,
           kernel.offset,
           static_cast<int>(kernel.degree)}};
}

/// One factor's value; a random projection becomes the dense matrix that its seed stands for.
struct HostFactorMaker {
  CardLinks& links;
  cuda::HostFactor operator()(const Matrix& F) const { return host_dense(F); }
  cuda::HostFactor operator()(const SparseMatrix& F) const {
    return host_sparse_pair(F, false, links);
  }
  cuda::HostFactor operator()(const Vector& F) const {
    return cuda::HostDiagonal{F.size(), F.data()};
  }
  cuda::HostFactor operator()(const ChordFactors& F) const {
    return cuda::HostChord{F.pattern.order, F.pattern.offsets, F.values.data()};
  }
  cuda::HostFactor operator()(const RandomProjection& F) const {
    return host_dense(links.own_dense.emplace_back(F.columns(0, F.cols())));
  }
};

void add_factors(const FactorProduct& A, CardLinks& links) {
  std::map<const FactorValue*, Index> seen;
  links.symmetrized = A.symmetrized();
  for (const Factor& factor : A.factors()) {
    const auto place = static_cast<Index>(links.links.size());
    const auto [at, fresh] = seen.emplace(factor.value.get(), place);
    if (fresh) {
      links.links.push_back(
          {std::visit(HostFactorMaker{links}, *factor.value), factor.transposed, -1});
    } else {
      links.links.push_back({cuda::HostFactor{}, factor.transposed, at->second});
    }
  }
}

Index sparse_card_bytes(const SparseMatrix& A, bool symmetric) {
  const Index both = symmetric ? 1 : 2;
  const Index index_bytes = std::max({A.nonZeros(), A.rows(), A.cols()}) < (Index{1} << 31) ? 4 : 8;
  return both * (A.nonZeros() * (kDoubleBytes + index_bytes) + A.rows() * index_bytes);
}

Index value_card_bytes(const FactorValue& value) {
  if (const auto* sparse = std::get_if<SparseMatrix>(&value))
    return sparse_card_bytes(*sparse, false);
  if (const auto* projection = std::get_if<RandomProjection>(&value))
    return projection->rows() * projection->cols() * kDoubleBytes;
  return value_storage(value, Precision::kDouble).bytes;
}

CardWork product_work(const FactorProduct& A, Index columns) {
  CardWork work;
  std::map<const FactorValue*, bool> seen;
  const double times = A.symmetrized() ? 2 : 1;
  for (const Factor& factor : A.factors()) {
    const Index bytes = value_card_bytes(*factor.value);
    if (seen.emplace(factor.value.get(), true).second) work.card_bytes += bytes;
    work.read += times * static_cast<double>(bytes);
    work.flops += times * 2 * value_multiplications(*factor.value) * static_cast<double>(columns);
    work.longest = std::max({work.longest, factor_rows(factor), factor_cols(factor)});
  }
  return work;
}

CardWork kernel_work(const KernelOperator& A, Index columns) {
  const auto n = static_cast<double>(A.rows());
  const auto d = static_cast<double>(A.points().cols());
  const double entry = 3 * d + kFlopsOfAKernelFunction + 2 * static_cast<double>(columns);
  const Index bytes = A.points().size() * kDoubleBytes;
  return {n * n * entry, static_cast<double>(bytes), bytes, A.rows()};
}

CardWork stored_work(const LinearOperator& A, Index columns, Index bytes) {
  return {2 * A.cost().multiplications_per_apply * static_cast<double>(columns),
          static_cast<double>(bytes),
          bytes,
          std::max(A.rows(), A.cols())};
}

}  // namespace

CardLinks card_links(const LinearOperator& A) {
  CardLinks links;
  if (const auto* dense = dynamic_cast<const DenseOperator*>(&A)) {
    links.links.push_back({host_dense(dense->values())});
  } else if (const auto* sparse = dynamic_cast<const SparseOperator*>(&A)) {
    const bool symmetric = sparse->known_facts().symmetric.value_or(false);
    links.links.push_back({host_sparse_pair(sparse->values(), symmetric, links)});
  } else if (const auto* kernel = dynamic_cast<const KernelOperator*>(&A)) {
    links.links.push_back({host_kernel(*kernel, links)});
  } else if (const auto* product = dynamic_cast<const FactorProduct*>(&A)) {
    add_factors(*product, links);
  }
  return links;
}

CardWork card_work(const LinearOperator& A, Index columns) {
  if (dynamic_cast<const DenseOperator*>(&A) != nullptr)
    return stored_work(A, columns, A.rows() * A.cols() * kDoubleBytes);
  if (const auto* sparse = dynamic_cast<const SparseOperator*>(&A)) {
    const bool symmetric = sparse->known_facts().symmetric.value_or(false);
    return stored_work(A, columns, sparse_card_bytes(sparse->values(), symmetric));
  }
  if (const auto* kernel = dynamic_cast<const KernelOperator*>(&A))
    return kernel_work(*kernel, columns);
  return product_work(dynamic_cast<const FactorProduct&>(A), columns);
}

}  // namespace matapprox
