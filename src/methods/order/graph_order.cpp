#include "methods/order/graph_order.hpp"

#include <fmt/format.h>

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox::node_order {

// ------------------------------------------------------------- Entries that determine an order

namespace {

constexpr Index kEntriesPerColumn = 32;
constexpr Index kPanelColumns = 64;

using SizesOfColumn = std::vector<std::pair<Index, double>>;  ///< rows and sizes of the entries

SizesOfColumn nonzeros(const Eigen::Ref<const Vector>& values) {
  SizesOfColumn column;
  for (Index i = 0; i < values.size(); ++i) {
    if (values(i) != 0) column.emplace_back(i, std::abs(values(i)));
  }
  return column;
}

void keep_largest(SizesOfColumn& column) {
  if (static_cast<Index>(column.size()) <= kEntriesPerColumn) return;
  const auto last = column.begin() + kEntriesPerColumn;
  std::nth_element(column.begin(), last, column.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  column = SizesOfColumn(column.begin(), last);  // releases the rest of the memory
}

/// Collects the entries of a matrix from its columns, one after the other.
class EntryCollector {
 public:
  explicit EntryCollector(Index n) : n_(n), by_distance_(Vector::Zero(n)) {
    columns_.reserve(static_cast<std::size_t>(n));
  }

  void add(SizesOfColumn column) {
    const auto j = static_cast<Index>(columns_.size());
    for (const auto& [row, size] : column) {
      if (!std::isfinite(size)) {
        throw NumericalError(fmt::format(
            "chord: entry ({}, {}) of the matrix, counted from 0, is not finite", row, j));
      }
      by_distance_(j < row ? j - row + n_ : j - row) += size;
    }
    const auto count = static_cast<Index>(column.size());
    found_ += count;
    if (!trimmed_ && held_ + count > 2 * kEntriesPerColumn * n_) trim();
    if (trimmed_) keep_largest(column);
    held_ += static_cast<Index>(column.size());
    columns_.push_back(std::move(column));
  }

  Entries take() {
    const bool sparse = found_ <= kEntriesPerColumn * n_;
    if (!sparse && !trimmed_) trim();
    std::vector<Eigen::Triplet<double, Index>> triplets;
    triplets.reserve(static_cast<std::size_t>(std::min(held_, 2 * kEntriesPerColumn * n_)));
    for (Index j = 0; j < n_; ++j) {
      for (const auto& [row, size] : columns_[static_cast<std::size_t>(j)])
        triplets.emplace_back(row, j, size);
    }
    Entries entries{SparseMatrix(n_, n_), sparse, std::move(by_distance_)};
    entries.sizes.setFromTriplets(triplets.begin(), triplets.end());
    return entries;
  }

 private:
  void trim() {
    for (SizesOfColumn& column : columns_) keep_largest(column);
    trimmed_ = true;
  }

  Index n_;
  Vector by_distance_;
  std::vector<SizesOfColumn> columns_;
  Index found_ = 0;
  Index held_ = 0;
  bool trimmed_ = false;
};

/// Returns A as a sparse matrix in memory if it is one, else null.
const SparseMatrix* stored_sparse(const LinearOperator& A) {
  const SparseMatrix* sparse = sparse_values(A);
  if (sparse == nullptr) return nullptr;
  if (const CountedOperator* counted = counter_of(A)) counted->add_columns(A.cols());
  return sparse;
}

void add_columns(const SparseMatrix& A, EntryCollector& collector) {
  const SparseMatrix columns = A.transpose();
  for (Index j = 0; j < columns.rows(); ++j) {
    SizesOfColumn column;
    for (SparseMatrix::InnerIterator entry(columns, j); entry; ++entry) {
      if (entry.value() != 0) column.emplace_back(entry.col(), std::abs(entry.value()));
    }
    collector.add(std::move(column));
  }
}

void add_columns(const LinearOperator& A, const RunControl& control, EntryCollector& collector) {
  for (Index first = 0; first < A.cols(); first += kPanelColumns) {
    control.throw_if_stopped("chord");
    const Matrix panel =
        A.columns_at(index_range(first, std::min(kPanelColumns, A.cols() - first)));
    for (Index c = 0; c < panel.cols(); ++c) collector.add(nonzeros(panel.col(c)));
  }
}

}  // namespace

bool is_quick_to_read(const LinearOperator& A) {
  constexpr Index kQuickOrder = 16384;
  return A.cols() <= kQuickOrder || sparse_values(A) != nullptr;
}

Entries largest_entries(const LinearOperator& A, const RunControl& control) {
  const StopScope scope(control, "chord");
  EntryCollector collector(A.cols());
  if (const SparseMatrix* sparse = stored_sparse(A)) {
    add_columns(*sparse, collector);
  } else {
    add_columns(A, control, collector);
  }
  return collector.take();
}

SparseMatrix joined(const Entries& entries) {
  SparseMatrix both = entries.sizes + SparseMatrix(entries.sizes.transpose());
  both.prune([](Index row, Index col, double) { return row != col; });
  both.makeCompressed();
  return both;
}

// -------------------------------------------------------------- Orders of the nodes of a graph

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

}  // namespace matapprox::node_order
