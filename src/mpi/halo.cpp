#include "mpi/halo.hpp"

#include <algorithm>

#include "mpi/messages.hpp"

namespace matapprox::mpi {
namespace {

constexpr int kGhostRows = 3;

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

}  // namespace matapprox::mpi
