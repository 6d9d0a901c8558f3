#include "mpi/scatter.hpp"

#include "mpi/number_type.hpp"

namespace matapprox::mpi {
namespace {

/// The rows of each process, in the form that MPI takes.
struct Counts {
  explicit Counts(const Layout& layout) {
    const std::vector<Index>& begins = layout.begins();
    for (std::size_t p = 0; p + 1 < begins.size(); ++p) {
      firsts.push_back(static_cast<int>(begins[p]));
      rows.push_back(static_cast<int>(begins[p + 1] - begins[p]));
    }
  }
  std::vector<int> firsts;
  std::vector<int> rows;
};

/// Calls function(width, first number of all, first number of this process) for each stretch.
template <class Function>
void over_stretches(const Process& process, const Layout& layout, const Function& function) {
  const std::vector<Index>& begins = layout.begins();
  const auto rank = static_cast<std::size_t>(process.rank());
  Index all = 0;
  Index own = 0;
  for (const Index width : layout.widths()) {
    function(width, all, own);
    all += width * begins.back();
    own += width * (begins[rank + 1] - begins[rank]);
  }
}

}  // namespace

void scatter_rows(
    const Process& process, const Layout& layout, Index width, const double* all, double* own) {
  const Counts counts(layout);
  const NumberType row = NumberType::row(width);
  MPI_Scatterv(all,
               counts.rows.data(),
               counts.firsts.data(),
               row.get(),
               own,
               counts.rows[static_cast<std::size_t>(process.rank())],
               row.get(),
               0,
               process.comm());
}

void scatter(const Process& process, const Layout& layout, const double* all, double* own) {
  over_stretches(process, layout, [&](Index width, Index first_of_all, Index first_of_own) {
    scatter_rows(
        process, layout, width, process.leads() ? all + first_of_all : nullptr, own + first_of_own);
  });
}

void gather(const Process& process, const Layout& layout, const double* own, double* all) {
  const Counts counts(layout);
  over_stretches(process, layout, [&](Index width, Index first_of_all, Index first_of_own) {
    const NumberType row = NumberType::row(width);
    MPI_Gatherv(own + first_of_own,
                counts.rows[static_cast<std::size_t>(process.rank())],
                row.get(),
                process.leads() ? all + first_of_all : nullptr,
                counts.rows.data(),
                counts.firsts.data(),
                row.get(),
                0,
                process.comm());
  });
}

}  // namespace matapprox::mpi
