#include "sparse_matrices.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "matapprox/core/random.hpp"

namespace matapprox::generate {

namespace {

using Triplets = std::vector<Eigen::Triplet<double, Index>>;
using Edges = std::set<std::pair<Index, Index>>;  // smaller node first

constexpr RandomStream kSparseStream = RandomStream::kGenerator;

SparseMatrix from_triplets(Index n, const Triplets& triplets) {
  SparseMatrix A(n, n);
  A.setFromTriplets(triplets.begin(), triplets.end());
  return A;
}

SparseMatrix adjacency(Index n, const Edges& edges) {
  Triplets triplets;
  for (const auto& [u, v] : edges) {
    triplets.emplace_back(u, v, 1.0);
    triplets.emplace_back(v, u, 1.0);
  }
  return from_triplets(n, triplets);
}

std::pair<Index, Index> edge(Index u, Index v) { return {std::min(u, v), std::max(u, v)}; }

}  // namespace

SparseMatrix mesh_laplacian(Index x, Index y, Index z) {
  const Index n = x * y * z;
  const double diagonal = z == 1 ? 4 : 6;
  Triplets triplets;
  for (Index node = 0; node < n; ++node) {
    triplets.emplace_back(node, node, diagonal);
    const auto join = [&](Index other) {
      triplets.emplace_back(node, other, -1.0);
      triplets.emplace_back(other, node, -1.0);
    };
    if (node % x + 1 < x) join(node + 1);
    if (node / x % y + 1 < y) join(node + x);
    if (node / (x * y) + 1 < z) join(node + x * y);
  }
  return from_triplets(n, triplets);
}

SparseMatrix small_world(Index n, Index degree, double rewiring, std::uint64_t seed) {
  Edges edges;
  for (Index u = 0; u < n; ++u) {
    for (Index step = 1; step <= degree / 2; ++step) edges.insert(edge(u, (u + step) % n));
  }
  for (Index u = 0; u < n; ++u) {
    for (Index step = 1; step <= degree / 2; ++step) {
      if (random_uniform(seed, kSparseStream, u, step) >= rewiring) continue;
      for (Index attempt = 0;; ++attempt) {
        const Index v = random_index(seed + 1, kSparseStream, u * degree + step, attempt, n);
        if (v == u || edges.contains(edge(u, v))) continue;
        edges.erase(edge(u, (u + step) % n));
        edges.insert(edge(u, v));
        break;
      }
    }
  }
  return adjacency(n, edges);
}

SparseMatrix scale_free(Index n, Index links, std::uint64_t seed) {
  Edges edges;
  std::vector<Index> ends;  // each node, repeated as often as its degree
  const auto join = [&](Index u, Index v) {
    edges.insert(edge(u, v));
    ends.push_back(u);
    ends.push_back(v);
  };
  for (Index u = 0; u <= links; ++u) {
    for (Index v = 0; v < u; ++v) join(u, v);
  }
  for (Index u = links + 1; u < n; ++u) {
    std::set<Index> chosen;
    for (Index attempt = 0; std::ssize(chosen) < links; ++attempt) {
      chosen.insert(ends[random_index(seed, kSparseStream, u, attempt, std::ssize(ends))]);
    }
    for (const Index v : chosen) join(u, v);
  }
  return adjacency(n, edges);
}

SparseMatrix block_model(Index n, Index blocks, double inside, double outside, std::uint64_t seed) {
  const Index size = n / blocks;
  Edges edges;
  for (Index u = 0; u < n; ++u) {
    for (Index v = 0; v < u; ++v) {
      const double probability = u / size == v / size ? inside : outside;
      if (random_uniform(seed, kSparseStream, u, v) < probability) edges.insert(edge(u, v));
    }
  }
  return adjacency(n, edges);
}

SparseMatrix permutation(Index n, std::uint64_t seed) {
  std::vector<Index> column(n);
  std::iota(column.begin(), column.end(), Index{0});
  for (Index i = n - 1; i > 0; --i) {
    std::swap(column[i], column[random_index(seed, kSparseStream, i, 0, i + 1)]);
  }
  Triplets triplets;
  for (Index i = 0; i < n; ++i) triplets.emplace_back(i, column[i], 1.0);
  return from_triplets(n, triplets);
}

}  // namespace matapprox::generate
