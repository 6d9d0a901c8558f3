#include "mpi/operations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mpi/sparse_rows.hpp"

namespace matapprox::mpi {
namespace {

MultiVectorView own(Store& store, const Part& part) {
  return store.blocks.at(part.block).own.columns(part.first, part.cols);
}

Index size_of(const MultiVectorView& X) { return X.rows * X.cols; }

const Layout& layout_of(const Store& store, const Part& part) {
  return store.layouts.at(store.blocks.at(part.block).layout);
}

/// Rows of each process as MPI counts them.
struct Counts {
  explicit Counts(const Layout& layout) {
    for (std::size_t p = 0; p + 1 < layout.begins().size(); ++p) {
      firsts.push_back(static_cast<int>(layout.first(static_cast<int>(p))));
      rows.push_back(static_cast<int>(layout.count(static_cast<int>(p))));
    }
  }
  std::vector<int> firsts;
  std::vector<int> rows;
};

}  // namespace

void AddLayout::perform(const Process& process, Store& store) const {
  std::vector<Index> numbers(static_cast<std::size_t>(process.size()) + 1);
  if (process.leads()) std::copy_n(begins, numbers.size(), numbers.begin());
  process.broadcast(numbers.data(), std::ssize(numbers) * Index{sizeof(Index)});
  store.layouts.emplace(layout, Layout(std::move(numbers)));
}

void RemoveLayout::perform(const Process& /*process*/, Store& store) const {
  store.layouts.erase(layout);
}

void Allocate::perform(const Process& process, Store& store) const {
  MultiVector rows;
  process.agree([&] {
    rows = MultiVector(host_space(), store.layouts.at(layout).count(process.rank()), cols);
  });
  store.blocks.emplace(block, Store::Block{layout, std::move(rows)});
}

void Release::perform(const Process& /*process*/, Store& store) const { store.blocks.erase(block); }

void Write::perform(const Process& process, Store& store) const {
  const Layout& layout = layout_of(store, to);
  const Counts counts(layout);
  const MultiVectorView rows = own(store, to);
  for (Index c = 0; c < to.cols; ++c) {
    MPI_Scatterv(process.leads() ? host + c * layout.rows() : nullptr,
                 counts.rows.data(),
                 counts.firsts.data(),
                 MPI_DOUBLE,
                 rows.data + c * rows.rows,
                 static_cast<int>(rows.rows),
                 MPI_DOUBLE,
                 0,
                 process.comm());
  }
}

void Read::perform(const Process& process, Store& store) const {
  const Layout& layout = layout_of(store, from);
  const Counts counts(layout);
  const MultiVectorView rows = own(store, from);
  for (Index c = 0; c < from.cols; ++c) {
    MPI_Gatherv(rows.data + c * rows.rows,
                static_cast<int>(rows.rows),
                MPI_DOUBLE,
                process.leads() ? host + c * layout.rows() : nullptr,
                counts.rows.data(),
                counts.firsts.data(),
                MPI_DOUBLE,
                0,
                process.comm());
  }
}

void ReadRows::perform(const Process& process, Store& store) const {
  const Layout& layout = layout_of(store, from);
  const MultiVectorView rows = own(store, from);
  std::vector<int> firsts;
  std::vector<int> counts;
  for (int p = 0; p < process.size(); ++p) {
    const Index begin = std::clamp(layout.first(p), first, first + count);
    const Index end = std::clamp(layout.first(p + 1), first, first + count);
    firsts.push_back(static_cast<int>(begin - first));
    counts.push_back(static_cast<int>(end - begin));
  }
  const auto rank = static_cast<std::size_t>(process.rank());
  const Index own_first = first + firsts[rank] - layout.first(process.rank());
  for (Index c = 0; c < from.cols; ++c) {
    MPI_Gatherv(counts[rank] > 0 ? rows.data + c * rows.rows + own_first : nullptr,
                counts[rank],
                MPI_DOUBLE,
                process.leads() ? host + c * count : nullptr,
                counts.data(),
                firsts.data(),
                MPI_DOUBLE,
                0,
                process.comm());
  }
}

void Copy::perform(const Process& /*process*/, Store& store) const {
  copy(own(store, from), own(store, to));
}

void Zero::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, X);
  host_space()->zero(rows.data, size_of(rows));
}

void FillNormal::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, X);
  fill_normal(seed, stream, on_host(rows), layout_of(store, X).first(process.rank()), first_column);
}

void TransposeProduct::perform(const Process& process, Store& store) const {
  Matrix sum = transpose_product(own(store, A), own(store, B));
  process.sum_to_leader(sum.data(), sum.size());
  if (process.leads()) std::copy_n(sum.data(), sum.size(), result);
}

void AddProduct::perform(const Process& process, Store& store) const {
  Matrix factor(A.cols, Y.cols);
  if (process.leads()) std::copy_n(S, factor.size(), factor.data());
  process.broadcast(factor.data(), factor.size() * Index{sizeof(double)});
  add_product(alpha, own(store, A), factor, beta, own(store, Y));
}

// For one process the root of a square gives the norm itself.
void ColumnNorms::perform(const Process& process, Store& store) const {
  Vector squares = column_norms(own(store, A)).cwiseAbs2();
  process.sum_to_leader(squares.data(), squares.size());
  if (process.leads()) Eigen::Map<Vector>(norms, squares.size()) = squares.cwiseSqrt();
}

void Largest::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, X);
  double largest = host_space()->largest(rows.data, size_of(rows));
  // MPI's maximum may lose a NaN.
  if (std::isnan(largest)) largest = std::numeric_limits<double>::infinity();
  double all = 0;
  MPI_Reduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, 0, process.comm());
  if (process.leads()) *result = all;
}

void Scale::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, X);
  host_space()->scale(rows.data, size_of(rows), factor);
}

void AdamStep::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, x);
  host_space()->adam(step,
                     own(store, gradient).data,
                     size_of(rows),
                     own(store, mean).data,
                     own(store, square).data,
                     rows.data);
}

void AddSparse::perform(const Process& process, Store& store) const {
  const Layout& row_layout = store.layouts.at(rows);
  const Layout& column_layout = store.layouts.at(cols);
  auto by_rows =
      std::make_unique<OwnRows>(process, column_layout, deal_rows(process, row_layout, values));
  std::unique_ptr<OwnRows> by_columns;
  if (!symmetric) {
    by_columns = std::make_unique<OwnRows>(
        process, row_layout, deal_rows(process, column_layout, transposed));
  }
  store.matrices.emplace(matrix,
                         std::make_unique<SparseRows>(std::move(by_rows), std::move(by_columns)));
}

void RemoveMatrix::perform(const Process& /*process*/, Store& store) const {
  store.matrices.erase(matrix);
}

void Multiply::perform(const Process& process, Store& store) const {
  store.matrices.at(matrix)->multiply(process, transposed, own(store, X), own(store, Y));
}

}  // namespace matapprox::mpi
