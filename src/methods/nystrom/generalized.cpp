#include <algorithm>
#include <cmath>

#include "kernels/gemm.hpp"
#include "kernels/lapack.hpp"
#include "matapprox/core/random.hpp"
#include "methods/block_basis.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/forms.hpp"

namespace matapprox {

NystromFactors generalized_nystrom(const LinearOperator& A,
                                   Index k,
                                   const NystromOptions& options,
                                   const RunControl& control) {
  const Index n = A.rows();
  const auto wider = static_cast<Index>(std::ceil(options.oversampling * static_cast<double>(k)));
  const Index l = std::min(n, wider);
  control.throw_if_stopped("nystrom");
  Matrix AX = A.apply(random_normal_matrix(options.seed, RandomStream::kSketch, n, k));
  require_finite(AX, "nystrom");
  control.throw_if_stopped("nystrom");
  const Matrix Y = random_normal_matrix(options.seed, RandomStream::kCoSketch, n, l);
  Matrix AtY = A.apply_transpose(Y);
  require_finite(AtY, "nystrom");
  const double scale = unit_scale(AX);
  AX *= scale;

  // With A X = Q R and Y^T A X = U S V^T: A ~ Q (R V S^+) (U^T Y^T A). The core R V S^+ is of the
  // size of |A X v| / |Y^T A X v|, so no digits are lost, whatever the conditioning [Nak20].
  const kernels::Svd small = kernels::svd(tall_transpose_product(Y, AX));
  const double cut = 4e-16 * static_cast<double>(l) * small.S(0);
  const Vector inverse = small.S.unaryExpr([&](double s) { return s > cut ? 1.0 / s : 0.0; });
  BlockBasis basis(n, k, options.seed, RandomStream::kSketch);
  const Matrix R = basis.append(std::move(AX));
  NystromFactors result;
  result.rank = k;
  Matrix core = kernels::product(R, small.V * inverse.asDiagonal());
  Matrix rows = kernels::product(AtY, small.U);
  result.factors = {make_factor("Q", Matrix(basis.columns())),
                    make_factor("M", std::move(core)),
                    make_factor("B", std::move(rows), true)};
  return result;
}

}  // namespace matapprox
