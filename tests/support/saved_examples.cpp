#include "support/saved_examples.hpp"

#include "matapprox/core/random.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {

namespace {

ChordFactors chain(Index n) {
  ChordFactors factors;
  factors.pattern.order = n;
  factors.pattern.offsets = {{0, 1, 2}, {0, 5}, {3, 0, 1, 7}};
  for (Index k = 0; k < factors.pattern.stored_numbers(); ++k) {
    factors.values.push_back(random_normal(9, RandomStream::kGenerator, k, 0));
  }
  return factors;
}

}  // namespace

std::vector<SavedExample> saved_examples() {
  const Matrix U = random_matrix(37, 5, 1);
  const Matrix V = random_matrix(29, 5, 2);
  const Vector sigma = random_matrix(5, 1, 3).col(0);
  const Factor C = make_factor("C", U);
  const SparseMatrix S = random_sparse(37, 29, 4, 4);
  std::vector<SavedExample> examples;
  examples.push_back(
      {"Svd",
       Approximation({make_factor("U", U), make_factor("sigma", sigma), make_factor("V", V, true)},
                     {})});
  examples.push_back(
      {"Nystrom",
       Approximation({C, make_factor("W", random_matrix(5, 5, 7)), {"C", C.value, true}}, {})});
  examples.push_back({"Sparse", Approximation({make_factor("S", S)}, {})});
  examples.push_back(
      {"SparseWithEmptyRows", Approximation({make_factor("S", SparseMatrix(6, 3))}, {})});
  examples.push_back({"Chord", Approximation({make_factor("W", chain(11))}, {})});
  examples.push_back({"ChordSymmetrized", Approximation({make_factor("W", chain(16))}, {}, true)});
  const Factor P = make_factor("P", Permutation({3, 0, 10, 1, 9, 2, 4, 8, 7, 5, 6}));
  const Factor Q = make_factor("Q", Permutation({10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  examples.push_back(
      {"Permuted", Approximation({{"P", P.value, true}, make_factor("W", chain(11)), Q}, {})});
  examples.push_back(
      {"PermutedSymmetrized",
       Approximation({{"P", P.value, true}, make_factor("W", chain(11)), P}, {}, true)});
  for (const auto kind : {ProjectionKind::kGaussian,
                          ProjectionKind::kRademacher,
                          ProjectionKind::kSparse,
                          ProjectionKind::kSrht}) {
    examples.push_back(
        {"Projection_" + std::string(enum_name(kind)),
         Approximation(
             {make_factor("B", U), make_factor("R", RandomProjection(kind, ~0ULL, 5, 23))}, {})});
  }
  examples.push_back(
      {"Packed",
       Approximation(
           {make_factor("U", PackedMatrix::rounded(U, std::vector<std::uint8_t>{4, 8, 0, 16, 64})),
            make_factor(
                "V", PackedMatrix::rounded(V, std::vector<std::uint8_t>{3, 4, 5, 1, 32}), true)},
           {})});
  examples.push_back(
      {"Blocks",
       hierarchical(DenseOperator(random_matrix(37, 29, 8)), {.frobenius_tolerance = 0.1})});
  examples.push_back({"BlocksSymmetric",
                      hierarchical(DenseOperator(Matrix(grid_laplacian(7))),
                                   {.frobenius_tolerance = 0.01, .order = BlockOrder::kSpectral})});
  examples.push_back({"Float",
                      Approximation(round_factors({make_factor("U", U), make_factor("V", V, true)},
                                                  Precision::kFloat),
                                    {},
                                    false,
                                    Precision::kFloat)});
  const ChordPattern alternating = chord_alternating_pattern(29);
  const Matrix links = random_matrix(alternating.stored_numbers(), 1, 9);
  const ChordFactors chain{alternating, {links.data(), links.data() + links.size()}};
  examples.push_back(
      {"PackedChord", Approximation({make_factor("W", PackedChord::rounded(chain, 8))}, {})});
  SparseMatrix sparse = random_matrix(31, 23, 10).sparseView(1.0, 0.9);
  examples.push_back(
      {"PackedSparse", Approximation({make_factor("A", PackedSparse::packed(sparse))}, {})});
  examples.push_back(
      {"PackedSparseSymmetric",
       Approximation({make_factor("A", PackedSparse::packed(grid_laplacian(6)))}, {})});
  for (const Precision precision : {Precision::kFloat16, Precision::kBfloat16}) {
    examples.push_back(
        {std::string(enum_name(precision)),
         Approximation(round_factors({make_factor("U", U), make_factor("V", V, true)}, precision),
                       {},
                       false,
                       precision)});
  }
  examples.push_back(
      {"OneByOne", Approximation({make_factor("A", Matrix(Matrix::Ones(1, 1)))}, {})});
  return examples;
}

}  // namespace matapprox::test
