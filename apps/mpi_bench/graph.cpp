#include "graph.hpp"

#include <cmath>

#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

constexpr std::uint64_t kSeed = 20251;

}  // namespace

Graph::Graph(Index nodes) : nodes_(nodes) {
  for (std::size_t k = 0; k < distances_.size(); ++k)
    distances_[k] =
        1 + random_index(kSeed, RandomStream::kGenerator, static_cast<Index>(k), 0, nodes / 2 - 1);
}

Mat Graph::rows_of(MPI_Comm comm) const {
  Mat A = nullptr;
  constexpr PetscInt kPerRow = 2 * kDistances + 1;
  MatCreateAIJ(
      comm, PETSC_DECIDE, PETSC_DECIDE, nodes_, nodes_, kPerRow, nullptr, kPerRow, nullptr, &A);
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(A, &first, &last);
  for (PetscInt i = first; i < last; ++i) {
    std::array<PetscInt, kPerRow> columns{i};
    std::array<double, kPerRow> weights{std::pow(strength(i), 2)};
    std::size_t at = 1;
    for (Index k = 0; k < kDistances; ++k) {
      const Index d = distances_[static_cast<std::size_t>(k)];
      const Index ahead = (i + d) % nodes_;
      const Index behind = (i + nodes_ - d) % nodes_;
      columns[at] = ahead;
      weights[at++] = weight(i, ahead, k);
      columns[at] = behind;
      weights[at++] = weight(behind, i, k);
    }
    // The edges of two equal distances are added.
    MatSetValues(A, 1, &i, kPerRow, columns.data(), weights.data(), ADD_VALUES);
  }
  MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE);
  return A;
}

double Graph::strength(Index i) const {
  constexpr Index kPrime = 7919;  // the number of nodes is not a multiple of it
  return std::pow(1.0 + static_cast<double>((i * kPrime) % nodes_), -0.3);
}

double Graph::weight(Index from, Index to, Index k) const {
  return random_uniform(kSeed, RandomStream::kGenerator, from, 1 + k) * strength(from) *
         strength(to);
}

}  // namespace matapprox
