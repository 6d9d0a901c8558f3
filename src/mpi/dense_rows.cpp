#include "mpi/dense_rows.hpp"

#include <algorithm>
#include <utility>

#include "matapprox/kernels/gemm.hpp"
#include "mpi/messages.hpp"
#include "mpi/row_exchange.hpp"

namespace matapprox::mpi {

LocalRows::LocalRows(Matrix values, bool by_rows)
    : owned_(std::move(values)),
      data_(owned_.data()),
      rows_(by_rows ? owned_.cols() : owned_.rows()),
      stride_(owned_.rows()),
      by_rows_(by_rows) {}

ConstBlock LocalRows::columns(Index first, Index count) const {
  using Stored = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
  if (by_rows_) return Stored(data_ + first, count, rows_, Eigen::OuterStride<>(stride_));
  return Stored(data_ + first * stride_, rows_, count, Eigen::OuterStride<>(stride_));
}

// Y is an output: a Ref passed by value, as in every function that fills a block.
// NOLINTBEGIN(performance-unnecessary-value-param)

void LocalRows::add_product(Index first, const ConstBlock& X, Block Y) const {
  using kernels::Trans;
  kernels::gemm(by_rows_ ? Trans::kYes : Trans::kNo,
                columns(first, X.rows()),
                Trans::kNo,
                X,
                Y,
                1.0,
                first == 0 ? 0.0 : 1.0);
}

void LocalRows::transpose_product(Index first, const ConstBlock& X, Block Y) const {
  using kernels::Trans;
  kernels::gemm(by_rows_ ? Trans::kNo : Trans::kYes, columns(first, Y.rows()), Trans::kNo, X, Y);
}

// NOLINTEND(performance-unnecessary-value-param)

void DenseRows::multiply(const Process& process,
                         bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const {
  if (process.size() > 1) {
    if (transposed) {
      const auto make = [&](Index first, Matrix& panel) {
        own_.transpose_product(first, on_host(X), panel);
      };
      sum_rows(process, columns_, make, Y);
    } else {
      add_panels(process, X, Y);
    }
  } else if (transposed) {
    own_.transpose_product(0, on_host(X), on_host(Y));
  } else {
    own_.add_product(0, on_host(X), on_host(Y));
  }
}

void DenseRows::add_panels(const Process& process,
                           const ConstMultiVectorView& X,
                           const MultiVectorView& Y) const {
  const Index n = columns_.rows();
  const Index step = panel_rows(X.cols);
  Matrix panel;
  for (Index first = 0; first < n; first += step) {
    process.throw_if_stop_requested();
    process.agree([&] { panel.resize(std::min(step, n - first), X.cols); });
    gather_rows(process, columns_, X, first, panel);
    if (own_.rows() > 0) own_.add_product(first, panel, on_host(Y));
  }
}

void CovarianceRows::multiply(const Process& process,
                              bool /*transposed*/,
                              const ConstMultiVectorView& X,
                              const MultiVectorView& Y) const {
  MultiVector product;
  process.agree([&] { product = MultiVector(host_space(), samples_.own_rows(), X.cols); });
  samples_.multiply(process, false, X, product.columns());
  samples_.multiply(process, true, product.columns(), Y);
}

LocalRows deal_dense(const Process& process,
                     const Layout& rows,
                     Index columns,
                     const double* values) {
  constexpr int kTag = 7;
  constexpr Index kNumbersOfAMessage = Index{1} << 24;
  Matrix own;
  process.agree([&] {
    if (!process.leads()) own.resize(rows.count(process.rank()), columns);
  });
  for (int p = 1; p < process.size(); ++p) {
    const Index count = rows.count(p);
    if (count == 0 || (!process.leads() && p != process.rank())) continue;
    const Index step = std::max<Index>(1, kNumbersOfAMessage / count);
    for (Index first = 0; first < columns; first += step) {
      const Index width = std::min(step, columns - first);
      if (process.leads()) {
        const NumberType sent = NumberType::columns(count, width, rows.rows());
        const double* begin = values + rows.first(p) + first * rows.rows();
        MPI_Send(begin, 1, sent.get(), p, kTag, process.comm());
      } else {
        const NumberType received = NumberType::columns(count, width, count);
        double* begin = own.data() + first * count;
        MPI_Recv(begin, 1, received.get(), 0, kTag, process.comm(), MPI_STATUS_IGNORE);
      }
    }
  }
  if (process.leads()) return {values, rows.count(0), rows.rows()};
  return {std::move(own), false};
}

}  // namespace matapprox::mpi
