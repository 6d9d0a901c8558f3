#include "mpi/sparse_rows.hpp"

#include <algorithm>
#include <array>

#include "kernels/sparse.hpp"
#include "mpi/messages.hpp"

namespace matapprox::mpi {
namespace {

constexpr int kGhostRows = 3;

/// Returns the columns of `rows` outside of first .. first + count - 1, ascending and unique.
std::vector<Index> columns_elsewhere(const SparseMatrix& rows, Index first, Index count) {
  std::vector<Index> ghosts;
  const Index* columns = rows.innerIndexPtr();
  std::copy_if(columns, columns + rows.nonZeros(), std::back_inserter(ghosts), [&](Index column) {
    return column < first || column >= first + count;
  });
  std::ranges::sort(ghosts);
  ghosts.erase(std::ranges::unique(ghosts).begin(), ghosts.end());
  return ghosts;
}

/// Returns the same entries in the same order. Columns are counted from `first`; the ghosts follow
/// the `count` own ones.
SparseMatrix renumbered(SparseMatrix rows,
                        Index first,
                        Index count,
                        const std::vector<Index>& ghosts) {
  Index* columns = rows.innerIndexPtr();
  std::for_each(columns, columns + rows.nonZeros(), [&](Index& column) {
    const bool is_own = column >= first && column < first + count;
    column = is_own ? column - first
                    : count + (std::ranges::lower_bound(ghosts, column) - ghosts.begin());
  });
  return Eigen::Map<const SparseMatrix>(rows.rows(),
                                        count + std::ssize(ghosts),
                                        rows.nonZeros(),
                                        rows.outerIndexPtr(),
                                        columns,
                                        rows.valuePtr());
}

constexpr int kDealtRows = 2;

template <class Number>
void send(const Process& process, int to, const Number* numbers, Index count) {
  send(process, to, kDealtRows, numbers, count * Index{sizeof(Number)});
}

template <class Number>
void receive(const Process& process, Number* numbers, Index count) {
  receive(process, 0, kDealtRows, numbers, count * Index{sizeof(Number)});
}

}  // namespace

Halo::Halo(const Process& process, const Layout& layout, const std::vector<Index>& ghosts)
    : ghosts_(std::ssize(ghosts)) {
  std::vector<int> wanted(static_cast<std::size_t>(process.size()), 0);  // rows from each process
  std::vector<int> asked(wanted.size());                                 // rows for each process
  for (const Index row : ghosts) ++wanted[static_cast<std::size_t>(layout.owner(row))];
  MPI_Alltoall(wanted.data(), 1, MPI_INT, asked.data(), 1, MPI_INT, process.comm());
  process.agree([&] {
    Index first = 0;
    for (int p = 0; p < process.size(); ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (wanted[at] > 0) sources_.push_back({p, first, wanted[at]});
      if (asked[at] > 0)
        targets_.push_back({p, std::vector<Index>(static_cast<std::size_t>(asked[at]))});
      first += wanted[at];
    }
  });
  Messages messages(process, kGhostRows);
  for (Target& target : targets_)
    messages.receive(target.process, target.rows.data(), std::ssize(target.rows), MPI_INT64_T);
  for (const Source& source : sources_)
    messages.send(source.process, ghosts.data() + source.first, source.count, MPI_INT64_T);
  messages.wait();
  for (Target& target : targets_) {
    for (Index& row : target.rows) row -= layout.first(process.rank());
  }
}

Matrix Halo::with_ghosts(const Process& process, const ConstMultiVectorView& X) const {
  Matrix all;
  std::vector<Matrix> sent(targets_.size());
  Messages messages(process, kGhostRows);
  process.agree([&] {
    all.resize(X.rows + ghosts_, X.cols);
    for (std::size_t t = 0; t < sent.size(); ++t)
      sent[t].resize(std::ssize(targets_[t].rows), X.cols);
    messages.reserve(sources_.size() + targets_.size());
  });
  for (const Source& source : sources_) {
    const NumberType columns = NumberType::columns(source.count, X.cols, all.rows());
    messages.receive(source.process, all.data() + X.rows + source.first, 1, columns.get());
  }
  const auto own = on_host(X);
  for (std::size_t t = 0; t < sent.size(); ++t) {
    const Target& target = targets_[t];
    sent[t] = own(target.rows, Eigen::all);
    const NumberType columns = NumberType::columns(sent[t].rows(), X.cols, sent[t].rows());
    messages.send(target.process, sent[t].data(), 1, columns.get());
  }
  all.topRows(X.rows) = own;
  messages.wait();
  return all;
}

OwnRows::OwnRows(const Process& process, const Layout& columns, SparseMatrix rows) {
  const Index first = columns.first(process.rank());
  const Index count = columns.count(process.rank());
  std::vector<Index> ghosts;
  process.agree([&] {
    ghosts = columns_elsewhere(rows, first, count);
    rows_ = renumbered(std::move(rows), first, count, ghosts);
  });
  halo_ = std::make_unique<const Halo>(process, columns, ghosts);
}

void OwnRows::multiply(const Process& process,
                       const ConstMultiVectorView& X,
                       const MultiVectorView& Y) const {
  const Matrix all = halo_->with_ghosts(process, X);
  // The product makes a row-major copy of some columns and may run out of memory.
  process.agree([&] { kernels::sparse_apply(rows_, all, on_host(Y)); });
}

void SparseRows::multiply(const Process& process,
                          bool transposed,
                          const ConstMultiVectorView& X,
                          const MultiVectorView& Y) const {
  const OwnRows& side = transposed && transposed_ ? *transposed_ : *matrix_;
  side.multiply(process, X, Y);
}

SparseMatrix deal_rows(const Process& process, const Layout& layout, const SparseMatrix* all) {
  std::array<Index, 2> shape{};  // columns, entries
  SparseMatrix own;
  const auto entries_of = [&](int p) {
    const Index* begins = all->outerIndexPtr();
    return begins[layout.first(p + 1)] - begins[layout.first(p)];
  };
  if (process.leads()) {
    for (int p = 1; p < process.size(); ++p) {
      const std::array<Index, 2> theirs{all->cols(), entries_of(p)};
      send(process, p, theirs.data(), 2);
    }
    shape = {all->cols(), entries_of(0)};
  } else {
    receive(process, shape.data(), 2);
  }
  process.agree([&] {
    own.resize(layout.count(process.rank()), shape[0]);
    own.resizeNonZeros(shape[1]);
  });
  const Index rows = own.rows();
  if (process.leads()) {
    for (int p = process.size() - 1; p > 0; --p) {
      const Index* begins = all->outerIndexPtr() + layout.first(p);
      send(process, p, begins, layout.count(p) + 1);
      send(process, p, all->innerIndexPtr() + *begins, entries_of(p));
      send(process, p, all->valuePtr() + *begins, entries_of(p));
    }
    std::copy_n(all->outerIndexPtr(), rows + 1, own.outerIndexPtr());
    std::copy_n(all->innerIndexPtr(), shape[1], own.innerIndexPtr());
    std::copy_n(all->valuePtr(), shape[1], own.valuePtr());
  } else {
    Index* begins = own.outerIndexPtr();
    receive(process, begins, rows + 1);
    receive(process, own.innerIndexPtr(), shape[1]);
    receive(process, own.valuePtr(), shape[1]);
    std::transform(
        begins, begins + rows + 1, begins, [first = *begins](Index at) { return at - first; });
  }
  return own;
}

Layout layout_by_entries(const SparseMatrix& A, int processes) {
  std::vector<Index> weights(static_cast<std::size_t>(A.rows()));
  for (Index i = 0; i < A.rows(); ++i)
    weights[static_cast<std::size_t>(i)] = A.outerIndexPtr()[i + 1] - A.outerIndexPtr()[i] + 2;
  return weighted_layout(weights, processes);
}

Layout columns_by_entries(const SparseMatrix& A, int processes) {
  std::vector<Index> weights(static_cast<std::size_t>(A.cols()), 2);
  for (Index k = 0; k < A.nonZeros(); ++k)
    ++weights[static_cast<std::size_t>(A.innerIndexPtr()[k])];
  return weighted_layout(weights, processes);
}

}  // namespace matapprox::mpi
