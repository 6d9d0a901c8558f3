#include "mpi/halo.hpp"

#include <algorithm>

#include "mpi/number_type.hpp"

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
  std::vector<MPI_Request> requests;
  for (Target& target : targets_) {
    MPI_Irecv(target.rows.data(),
              static_cast<int>(target.rows.size()),
              MPI_INT64_T,
              target.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  for (const Source& source : sources_) {
    MPI_Isend(ghosts.data() + source.first,
              static_cast<int>(source.count),
              MPI_INT64_T,
              source.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (Target& target : targets_) {
    for (Index& row : target.rows) row -= layout.first(process.rank());
  }
}

Matrix Halo::with_ghosts(const Process& process, const ConstMultiVectorView& X) const {
  Matrix all;
  std::vector<Matrix> sent(targets_.size());
  std::vector<MPI_Request> requests;
  process.agree([&] {
    all.resize(X.rows + ghosts_, X.cols);
    for (std::size_t t = 0; t < sent.size(); ++t)
      sent[t].resize(std::ssize(targets_[t].rows), X.cols);
    requests.reserve(sources_.size() + targets_.size());
  });
  for (const Source& source : sources_) {
    const NumberType columns = NumberType::columns(source.count, X.cols, all.rows());
    MPI_Irecv(all.data() + X.rows + source.first,
              1,
              columns.get(),
              source.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  const auto own = on_host(X);
  for (std::size_t t = 0; t < sent.size(); ++t) {
    const Target& target = targets_[t];
    sent[t] = own(target.rows, Eigen::all);
    const NumberType columns = NumberType::columns(sent[t].rows(), X.cols, sent[t].rows());
    MPI_Isend(sent[t].data(),
              1,
              columns.get(),
              target.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  all.topRows(X.rows) = own;
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return all;
}

}  // namespace matapprox::mpi
