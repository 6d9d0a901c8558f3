#include "methods/chord/order/graph_order.hpp"

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <utility>
#include <vector>

#include "matapprox/core/stop_scope.hpp"

namespace matapprox::chord_fit {
namespace {

Index links_of(const SparseMatrix& graph, Index node) {
  return graph.outerIndexPtr()[node + 1] - graph.outerIndexPtr()[node];
}

/// Marks the nodes that a walk has visited, for one walk after the other.
class Marks {
 public:
  explicit Marks(Index nodes) : walk_of_(static_cast<std::size_t>(nodes)) {}
  void begin_walk() { ++walk_; }
  /// Marks a node. Returns true if the current walk visits it for the first time.
  bool meet(Index node) {
    return std::exchange(walk_of_[static_cast<std::size_t>(node)], walk_) != walk_;
  }
  bool is_fresh(Index node) const { return walk_of_[static_cast<std::size_t>(node)] == 0; }

 private:
  std::vector<Index> walk_of_;
  Index walk_ = 0;
};

/// Returns the nodes reachable from `start` in breadth-first order, neighbors of low degree first.
std::vector<Index> breadth_first(const SparseMatrix& graph, Index start, Marks& marks) {
  marks.begin_walk();
  marks.meet(start);
  std::vector<Index> order{start};
  std::vector<Index> fresh;
  for (std::size_t at = 0; at < order.size(); ++at) {
    fresh.clear();
    for (SparseMatrix::InnerIterator entry(graph, order[at]); entry; ++entry) {
      if (marks.meet(entry.col())) fresh.push_back(entry.col());
    }
    std::stable_sort(fresh.begin(), fresh.end(), [&](Index a, Index b) {
      return links_of(graph, a) < links_of(graph, b);
    });
    order.insert(order.end(), fresh.begin(), fresh.end());
  }
  return order;
}

/// Returns the nodes of each component in reverse Cuthill-McKee order: breadth first from a
/// peripheral node, which is where such walks end.
std::vector<std::vector<Index>> components(const SparseMatrix& graph) {
  constexpr int kWalks = 5;
  std::vector<std::vector<Index>> result;
  Marks marks(graph.rows());
  for (Index node = 0; node < graph.rows(); ++node) {
    if (!marks.is_fresh(node)) continue;
    std::vector<Index> order = breadth_first(graph, node, marks);
    for (int walk = 0; walk < kWalks && order.size() > 2; ++walk)
      order = breadth_first(graph, order.back(), marks);
    std::reverse(order.begin(), order.end());
    result.push_back(std::move(order));
  }
  return result;
}

using Laplacian = Eigen::SparseMatrix<double, Eigen::ColMajor, Index>;

/// Returns D - W + shift I of the nodes `own`.
Laplacian shifted_laplacian(const SparseMatrix& graph,
                            const std::vector<Index>& own,
                            const std::vector<Index>& place_of) {
  const auto n = static_cast<Index>(own.size());
  std::vector<Eigen::Triplet<double, Index>> entries;
  double sum = 0;
  for (Index p = 0; p < n; ++p) {
    double degree = 0;
    for (SparseMatrix::InnerIterator e(graph, own[static_cast<std::size_t>(p)]); e; ++e) {
      degree += e.value();
      entries.emplace_back(p, place_of[static_cast<std::size_t>(e.col())], -e.value());
    }
    entries.emplace_back(p, p, degree);
    sum += degree;
  }
  constexpr double kTiny = 1e-9;  // shift over the mean degree: avoids a zero pivot
  for (Index p = 0; p < n; ++p) entries.emplace_back(p, p, kTiny * sum / static_cast<double>(n));
  Laplacian L(n, n);
  L.setFromTriplets(entries.begin(), entries.end());
  return L;
}

/// Number of multiplications of a Cholesky factorization whose fill stays between the diagonal and
/// the first entry of each row.
double envelope_work(const Laplacian& L) {
  double work = 0;
  for (Index j = 0; j < L.cols(); ++j) {
    const Index first = L.innerIndexPtr()[L.outerIndexPtr()[j]];
    const auto width = static_cast<double>(std::max<Index>(j - first, 0));
    work += width * width;
  }
  return work;
}

/// Computes the Fiedler vector by inverse iteration on vectors of zero mean, starting from the
/// places themselves. Returns the places if the factorization would take too long or fails.
Vector fiedler_vector(const Laplacian& L, const RunControl& control) {
  constexpr double kMaxWork = 2e9;
  constexpr int kSteps = 50;
  constexpr double kConverged = 1e-8;
  Vector x = Vector::LinSpaced(L.rows(), -1, 1).normalized();
  if (envelope_work(L) > kMaxWork) return x;
  const Eigen::SimplicialLDLT<Laplacian, Eigen::Lower, Eigen::NaturalOrdering<Index>> solver(L);
  if (solver.info() != Eigen::Success) return x;
  for (int step = 0; step < kSteps; ++step) {
    control.throw_if_stopped("chord");
    Vector y = solver.solve(x);
    y.array() -= y.mean();
    const double size = y.norm();
    if (!(size > 0) || !y.allFinite()) return x;
    y /= size;
    const double change = std::min((y - x).norm(), (y + x).norm());
    x = y;
    if (change < kConverged) break;
  }
  return x;
}

}  // namespace

std::vector<Index> reverse_cuthill_mckee(const SparseMatrix& graph) {
  std::vector<Index> order;
  for (const auto& component : components(graph))
    order.insert(order.end(), component.begin(), component.end());
  return order;
}

std::vector<Index> spectral_order(const SparseMatrix& graph, const RunControl& control) {
  const StopScope scope(control, "chord");
  std::vector<Index> order;
  std::vector<Index> place_of(static_cast<std::size_t>(graph.rows()));
  for (auto& component : components(graph)) {
    for (std::size_t p = 0; p < component.size(); ++p)
      place_of[static_cast<std::size_t>(component[p])] = static_cast<Index>(p);
    if (component.size() > 2) {
      const Vector x = fiedler_vector(shifted_laplacian(graph, component, place_of), control);
      std::stable_sort(component.begin(), component.end(), [&](Index a, Index b) {
        return x(place_of[static_cast<std::size_t>(a)]) < x(place_of[static_cast<std::size_t>(b)]);
      });
    }
    order.insert(order.end(), component.begin(), component.end());
  }
  return order;
}

}  // namespace matapprox::chord_fit
