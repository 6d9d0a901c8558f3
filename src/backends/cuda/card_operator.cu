#include <algorithm>
#include <mutex>
#include <utility>

#include "backends/cuda/card_errors.hpp"
#include "backends/cuda/card_factors.hpp"
#include "backends/cuda/card_operator.hpp"
#include "backends/cuda/kernels/block_layout.hpp"

namespace matapprox::cuda {
namespace {

struct FactorMaker {
  const DeviceQueue& queue;
  std::unique_ptr<CardFactor> operator()(const HostDense& f) const {
    return make_dense_factor(queue, f);
  }
  std::unique_ptr<CardFactor> operator()(const HostSparsePair& f) const {
    return make_sparse_factor(queue, f);
  }
  std::unique_ptr<CardFactor> operator()(const HostDiagonal& f) const {
    return make_diagonal_factor(queue, f);
  }
  std::unique_ptr<CardFactor> operator()(const HostChord& f) const {
    return make_chord_factor(queue, f);
  }
  std::unique_ptr<CardFactor> operator()(const HostKernel& f) const {
    return make_kernel_factor(queue, f);
  }
};

struct PlacedFactor {
  std::shared_ptr<const CardFactor> factor;
  bool transposed = false;
};

/// Numbers that fit into four fifths of the memory that is free.
Index free_numbers() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "memory of the card");
  return static_cast<Index>(free / 5 * 4 / sizeof(double));
}

class CardChain final : public CardOperator {
 public:
  CardChain(const std::vector<ChainLink>& links, bool symmetrized) : symmetrized_(symmetrized) {
    for (const ChainLink& link : links) {
      std::shared_ptr<const CardFactor> factor;
      if (link.same_as >= 0) {
        factor = factors_[static_cast<std::size_t>(link.same_as)].factor;
      } else {
        factor = std::visit(FactorMaker{queue_}, link.factor);
      }
      longest_ = std::max({longest_, factor->rows(), factor->cols()});
      factors_.push_back({std::move(factor), link.transposed});
    }
    queue_.wait();
  }

  void apply(bool transposed,
             Index columns,
             const double* x,
             Index x_stride,
             double* y,
             Index y_stride) const override {
    guarded([&] {
      // Two blocks on the way, and two more where the product and its transpose are averaged.
      const Index per_column = (symmetrized_ ? 4 : 2) * longest_;
      for_panels(columns, per_column, [&](Index first, Index count) {
        apply_panel(
            transposed, count, x + first * x_stride, x_stride, y + first * y_stride, y_stride);
      });
    });
  }

  void kernel_columns(std::span<const Index> J, double* y, Index y_stride) const override {
    guarded([&] {
      const CardFactor& kernel = *factors_.front().factor;
      const Index n = kernel.rows();
      for_panels(static_cast<Index>(J.size()), n, [&](Index first, Index count) {
        const auto chosen = copied(queue_, J.data() + first, count);
        auto out = queue_.array<double>(n * count);
        kernel.kernel_columns(chosen.data(), count, out.data());
        download(out.data(), n, count, y + first * y_stride, y_stride);
      });
    });
  }

 private:
  /// One call at a time; what CUDA throws becomes NotAvailable.
  template <class Body>
  void guarded(const Body& body) const {
    const std::lock_guard lock(mutex_);
    as_not_available(body);
  }

  /// body(first, count) for as many columns at a time as there is room for.
  template <class Body>
  void for_panels(Index columns, Index numbers_per_column, const Body& body) const {
    const Index room = free_numbers() / std::max<Index>(numbers_per_column, 1);
    const Index width = std::max<Index>(1, std::min(columns, room));
    for (Index first = 0; first < columns; first += width)
      body(first, std::min(width, columns - first));
  }

  Index rows_in(bool transposed) const {
    return transposed ? end_rows(factors_.front(), false) : end_rows(factors_.back(), true);
  }
  Index rows_out(bool transposed) const { return rows_in(!transposed); }
  /// Rows of a factor as it stands in the product, or its columns.
  static Index end_rows(const PlacedFactor& placed, bool of_columns) {
    return placed.transposed == of_columns ? placed.factor->rows() : placed.factor->cols();
  }

  void apply_panel(bool transposed,
                   Index columns,
                   const double* x,
                   Index x_stride,
                   double* y,
                   Index y_stride) const {
    auto a = queue_.array<double>(longest_ * columns);
    auto b = queue_.array<double>(longest_ * columns);
    const Index rows = rows_in(transposed);
    upload(x, rows, columns, x_stride, b.data());
    queue_.run(BlockTranspose<double>{b.data(), a.data(), rows, columns});
    DeviceArray<double> kept;
    DeviceArray<double> spare;
    if (symmetrized_) {
      kept = queue_.array<double>(longest_ * columns);
      spare = queue_.array<double>(longest_ * columns);
      queue_.copy(a.data(), rows * columns, kept.data());
    }
    double* result = multiply(a.data(), b.data(), columns, transposed);
    const Index out = rows_out(transposed);
    if (symmetrized_) {
      const double* other = multiply(kept.data(), spare.data(), columns, !transposed);
      queue_.run(Average<double>{other, result, out * columns});
    }
    double* free = result == a.data() ? b.data() : a.data();
    // A row-major block is its transpose column-major.
    queue_.run(BlockTranspose<double>{result, free, columns, out});
    download(free, out, columns, y, y_stride);
  }

  /// The product of all factors with x; the result is in the array that is returned.
  double* multiply(double* x, double* y, Index columns, bool transposed) const {
    const std::size_t count = factors_.size();
    for (std::size_t step = 0; step < count; ++step) {
      const PlacedFactor& next = factors_[transposed ? step : count - 1 - step];
      double* result = next.factor->multiply(x, y, columns, next.transposed != transposed);
      if (result == y) std::swap(x, y);
    }
    return x;
  }

  void upload(const double* x, Index rows, Index columns, Index stride, double* to) const {
    if (stride == rows) return queue_.upload(x, rows * columns, to);
    for (Index c = 0; c < columns; ++c) queue_.upload(x + c * stride, rows, to + c * rows);
  }
  void download(const double* from, Index rows, Index columns, double* y, Index stride) const {
    if (stride == rows) return queue_.download(from, rows * columns, y);
    for (Index c = 0; c < columns; ++c) queue_.download(from + c * rows, rows, y + c * stride);
  }

  DeviceQueue queue_;
  std::vector<PlacedFactor> factors_;
  bool symmetrized_;
  Index longest_ = 1;
  mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<CardOperator> make_card_operator(const std::vector<ChainLink>& links,
                                                 bool symmetrized) {
  std::unique_ptr<CardOperator> made;
  as_not_available([&] { made = std::make_unique<CardChain>(links, symmetrized); });
  return made;
}

}  // namespace matapprox::cuda
