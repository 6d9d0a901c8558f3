#include <algorithm>
#include <cmath>

#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/block_basis.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/forms.hpp"

namespace matapprox {
namespace {

/// Returns A S, in the memory space of A if that keeps results, else on the host.
FactorValue kept_product(const ConstMultiVectorView& A, const Matrix& S) {
  if (A.space->is_distributed()) return PlacedMatrix(product(A, S));
  return product_to_host(A, S);
}

FactorValue kept_basis(BlockBasis basis) {
  if (basis.columns().space->is_distributed()) return PlacedMatrix(std::move(basis).release());
  return to_host(basis.columns());
}

}  // namespace

NystromFactors generalized_nystrom(const LinearOperator& A,
                                   Index k,
                                   const NystromOptions& options,
                                   const RunControl& control) {
  const Index n = A.rows();
  const auto wider = static_cast<Index>(std::ceil(options.oversampling * static_cast<double>(k)));
  const Index l = std::min(n, wider);
  control.throw_if_stopped("nystrom");
  const auto& space = A.memory_space();
  const auto random = [&](RandomStream stream, Index columns) {
    return random_normal_block(space, options.seed, stream, n, columns);
  };
  MultiVector AX = A.apply(random(RandomStream::kSketch, k).columns());
  const double scale = finite_unit_scale(AX, "nystrom");
  control.throw_if_stopped("nystrom");
  const MultiVector Y = random(RandomStream::kCoSketch, l);
  const MultiVector AtY = A.apply_transpose(Y.columns());
  finite_unit_scale(AtY, "nystrom");
  space->scale(AX.data(), AX.size(), scale);

  // Let A X = Q R and Y^T A X = U S V^T; then A ~ Q (R V S^+) (U^T Y^T A). The core R V S^+ is of
  // the size of |A X v| / |Y^T A X v|, so no digits are lost, whatever the conditioning [Nak20].
  const kernels::Svd small = kernels::svd(transpose_product(Y.columns(), AX.columns()));
  const double cut = 4e-16 * static_cast<double>(l) * small.S(0);
  const Vector inverse = small.S.unaryExpr([&](double s) { return s > cut ? 1.0 / s : 0.0; });
  BlockBasis basis(space, n, k, options.seed, RandomStream::kSketch);
  const Matrix R = basis.append(std::move(AX));
  NystromFactors result;
  result.rank = k;
  Matrix core = kernels::product(R, small.V * inverse.asDiagonal());
  result.factors = {make_factor("Q", kept_basis(std::move(basis))),
                    make_factor("M", std::move(core)),
                    make_factor("B", kept_product(AtY.columns(), small.U), true)};
  return result;
}

}  // namespace matapprox
