#include "mpi/kernel_rows.hpp"

#include <algorithm>

#include "mpi/row_exchange.hpp"

namespace matapprox::mpi {

void KernelRows::multiply(const Process& process,
                          bool /*transposed*/,
                          const ConstMultiVectorView& X,
                          const MultiVectorView& Y) const {
  const Index n = layout_.rows();
  const Index own_first = layout_.first(process.rank());
  const Index step = panel_rows(X.cols + points_.cols());
  const ConstMultiVectorView own{
      host_space().get(), points_.rows(), points_.cols(), points_.data()};
  for (Index first = 0; first < n; first += step) {
    process.throw_if_stop_requested();
    const Index count = std::min(step, n - first);
    Matrix x;
    Matrix points;
    Matrix columns;
    process.agree([&] {
      x.resize(count, X.cols);
      points.resize(count, points_.cols());
      columns.resize(points_.cols(), count);
    });
    gather_rows(process, layout_, X, first, x);
    gather_rows(process, layout_, own, first, points);
    if (Y.rows == 0) continue;
    columns = points.transpose();
    add_kernel_product(kernel_, {points_, own_first}, {columns, first}, x, on_host(Y));
  }
}

Layout layout_by_tiles(Index points, Index dimension, int processes) {
  const Index height = kernel_tile_rows(dimension);
  std::vector<Index> begins = even_layout((points + height - 1) / height, processes).begins();
  for (Index& begin : begins) begin = std::min(points, begin * height);
  return Layout(std::move(begins));
}

}  // namespace matapprox::mpi
