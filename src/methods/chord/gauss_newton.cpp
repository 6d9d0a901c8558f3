#include "methods/chord/gauss_newton.hpp"

#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox::chord_fit {
namespace {

FactorPlace place_of(const ChordPattern& chain, Index m, const double* values) {
  const Index n = chain.order;
  const std::vector<Index>& offsets = chain.offsets[static_cast<std::size_t>(m)];
  FactorPlace place{{n, {offsets}}, values, Matrix(n, n), Matrix(n, n), {}, {}};
  for (Index i = 0; i < n; ++i) {
    for (const Index offset : offsets) {
      place.rows.push_back(i);
      place.columns.push_back((i + offset) % n);
    }
  }
  return place;
}

}  // namespace

std::vector<FactorPlace> places_of(const ChordPattern& pattern, const double* values) {
  const Index n = pattern.order;
  std::vector<FactorPlace> places;
  for (Index m = 0; m < pattern.factors(); ++m) {
    places.push_back(place_of(pattern, m, values + pattern.first_value(m)));
  }
  // Computes L_{m+1}^T = W_m^T L_m^T and T_{m-1} = W_m T_m; both are stored transposed.
  Matrix product = Matrix::Identity(n, n);
  Matrix next(n, n);
  for (FactorPlace& place : places) {
    place.left = product.transpose();
    kernels::chord_apply_transpose(place.pattern, place.values, product, next);
    product.swap(next);
  }
  product.setIdentity();
  for (std::size_t m = places.size(); m-- > 0;) {
    FactorPlace& place = places[m];
    place.right = product.transpose();
    kernels::chord_apply(place.pattern, place.values, product, next);
    product.swap(next);
  }
  return places;
}

namespace {

/// Computes the block of J^T J for the numbers of two factors.
void fill_block(const FactorPlace& a, const FactorPlace& b, bool symmetrized, Block result) {
  const Matrix left = kernels::transpose_product(a.left, b.left);
  const Matrix right = kernels::transpose_product(a.right, b.right);
  for (std::size_t q = 0; q < b.rows.size(); ++q) {
    const double* left_column = left.col(b.rows[q]).data();
    const double* right_column = right.col(b.columns[q]).data();
    double* to = result.col(static_cast<Index>(q)).data();
    for (std::size_t p = 0; p < a.rows.size(); ++p) {
      to[p] = left_column[a.rows[p]] * right_column[a.columns[p]];
    }
  }
  if (!symmetrized) return;
  const Matrix left_right = kernels::transpose_product(a.left, b.right);
  const Matrix right_left = kernels::transpose_product(a.right, b.left);
  for (std::size_t q = 0; q < b.rows.size(); ++q) {
    const double* left_column = left_right.col(b.columns[q]).data();
    const double* right_column = right_left.col(b.rows[q]).data();
    double* to = result.col(static_cast<Index>(q)).data();
    for (std::size_t p = 0; p < a.rows.size(); ++p) {
      to[p] = (to[p] + left_column[a.rows[p]] * right_column[a.columns[p]]) / 2;
    }
  }
}

}  // namespace

void gauss_newton_matrix(const Form& form, const double* values, Matrix& result) {
  const ChordPattern& pattern = form.pattern;
  const std::vector<FactorPlace> places = places_of(pattern, values);
  result.resize(pattern.stored_numbers(), pattern.stored_numbers());
  const Index M = pattern.factors();
  parallel_for(M * M, [&](Index pair) {
    const Index m = pair / M;
    const Index q = pair % M;
    if (m < q) return;  // above the diagonal
    const FactorPlace& a = places[static_cast<std::size_t>(m)];
    const FactorPlace& b = places[static_cast<std::size_t>(q)];
    fill_block(
        a,
        b,
        form.symmetrized(),
        result.block(pattern.first_value(m), pattern.first_value(q), a.numbers(), b.numbers()));
  });
}

}  // namespace matapprox::chord_fit
