#include "graph.hpp"

#include <cmath>

#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

constexpr std::uint64_t kSeed = 20251;

}  // namespace

std::array<Index, kDistances> graph_distances(Index nodes) {
  std::array<Index, kDistances> distances{};
  for (Index k = 0; k < kDistances; ++k) {
    distances[k] = 1 + random_index(kSeed, RandomStream::kGenerator, k, 0, nodes / 2 - 1);
  }
  return distances;
}

Mat graph_matrix(Index nodes, MPI_Comm comm) {
  const auto strength = [&](Index i) {
    constexpr Index kPrime = 7919;
    return std::pow(1.0 + static_cast<double>((i * kPrime) % nodes), -0.3);
  };
  const auto weight = [&](Index from, Index to, Index k) {
    return random_uniform(kSeed, RandomStream::kGenerator, from, 1 + k) * strength(from) *
           strength(to);
  };
  const auto distances = graph_distances(nodes);
  constexpr PetscInt kPerRow = 2 * kDistances + 1;
  Mat A = nullptr;
  MatCreateAIJ(
      comm, PETSC_DECIDE, PETSC_DECIDE, nodes, nodes, kPerRow, nullptr, kPerRow, nullptr, &A);
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(A, &first, &last);
  for (PetscInt i = first; i < last; ++i) {
    std::array<PetscInt, kPerRow> columns{i};
    std::array<double, kPerRow> weights{std::pow(strength(i), 2)};
    std::size_t at = 1;
    for (Index k = 0; k < kDistances; ++k) {
      const Index d = distances[k];
      const Index ahead = (i + d) % nodes;
      const Index behind = (i + nodes - d) % nodes;
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

}  // namespace matapprox
