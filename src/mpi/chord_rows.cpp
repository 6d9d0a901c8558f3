#include "mpi/chord_rows.hpp"

#include <algorithm>
#include <vector>

#include "kernels/chord_chain.hpp"
#include "mpi/reserved_numbers.hpp"

namespace matapprox::mpi {

/// A product with the chain or its transpose, a few columns at a time.
class ChordRows::Product {
 public:
  /// Throws AgreedFailure if a process runs out of memory.
  Product(const Process& process, const ChordRows& matrix, bool transposed, Index columns)
      : process_(process),
        chain_(matrix.chain_),
        values_(matrix.values_),
        transposed_(transposed),
        as_vectors_(columns <= kernels::kVectorColumns),
        simd_(kernels::simd::chord_functions<double>()) {
    const Index n = chain_.pattern().order;
    const Index panel = as_vectors_ ? 2 * n : n * width_of(columns);
    process.agree([&] {
      from_ = ReservedNumbers(panel, ReservedNumbers::Use::kSparsely);
      to_ = ReservedNumbers(panel, ReservedNumbers::Use::kSparsely);
      const Index own_rows = chain_.last() - chain_.first();
      if (!transposed) return;
      turned_.resize(static_cast<std::size_t>(own_rows * chain_.max_links()));
      buffers_ = chain_.buffers();
    });
  }

  /// Computes Y = P X or P^T X.
  void apply(const ConstMultiVectorView& X, const MultiVectorView& Y) {
    const Index step = as_vectors_ ? 1 : kernels::kProductWidth<double>;
    for (Index c = 0; c < X.cols; c += step) {
      const Index columns = std::min(step, X.cols - c);
      if (as_vectors_) {
        apply_to_vector(X.data + c * X.rows, Y.data + c * Y.rows);
      } else {
        apply_to_panel(columns, X.data + c * X.rows, Y.data + c * Y.rows);
      }
    }
  }

 private:
  static Index width_of(Index columns) {
    return kernels::round_up(std::min(columns, kernels::kProductWidth<double>),
                             kernels::simd::kPanelUnit<double>);
  }

  /// Vectors are stored twice, one copy after the other, as in the product of one process: the
  /// links are then shifts.
  void apply_to_vector(const double* x, double* y) {
    const Index n = chain_.pattern().order;
    const auto copy = [&](double* vector) {
      std::copy(vector + chain_.first(), vector + chain_.last(), vector + n + chain_.first());
    };
    std::copy_n(x, chain_.last() - chain_.first(), from_.data() + chain_.first());
    copy(from_.data());
    for (Index step = 0; step < chain_.factors(); ++step) {
      const Index m = factor_of(step);
      chain_.bring_twice(process_, m, transposed_, from_.data());
      const SpreadChain::Factor W = factor(m);
      chain_.over_rows(
          [&](Index first, Index last) { simd_.vector(W, first, last, from_.data(), to_.data()); });
      copy(to_.data());
      std::swap(from_, to_);
    }
    std::copy(from_.data() + chain_.first(), from_.data() + chain_.last(), y);
  }

  void apply_to_panel(Index columns, const double* x, double* y) {
    const Index width = width_of(columns);
    const Index rows = chain_.last() - chain_.first();
    chain_.over_rows([&](Index first, Index last) {
      simd_.panel_from_columns(x + (first - chain_.first()),
                               rows,
                               last - first,
                               columns,
                               width,
                               from_.data() + first * width);
    });
    for (Index step = 0; step < chain_.factors(); ++step) {
      const Index m = factor_of(step);
      chain_.receive_ghosts(process_, m, transposed_, width, from_.data());
      const SpreadChain::Factor W = factor(m);
      chain_.over_rows([&](Index first, Index last) {
        simd_.rows(W, first, last, width, from_.data(), to_.data());
      });
      std::swap(from_, to_);
    }
    chain_.over_rows([&](Index first, Index last) {
      simd_.columns_from_panel(from_.data() + first * width,
                               width,
                               last - first,
                               columns,
                               y + (first - chain_.first()),
                               rows);
    });
  }

  Index factor_of(Index step) const { return transposed_ ? step : chain_.factors() - 1 - step; }

  SpreadChain::Factor factor(Index m) {
    const double* values = values_ + chain_.first_value(m);
    if (!transposed_) return chain_.factor(m, false, values);
    chain_.transpose(process_, m, values, turned_.data(), buffers_);
    return chain_.factor(m, true, turned_.data());
  }

  const Process& process_;
  const SpreadChain& chain_;
  const double* values_;
  bool transposed_;
  bool as_vectors_;
  const kernels::simd::ChordFunctions<double>& simd_;
  ReservedNumbers from_;
  ReservedNumbers to_;
  std::vector<double> turned_;  ///< values of the transpose of one factor
  SpreadChain::Buffers buffers_;
};

void ChordRows::multiply(const Process& process,
                         bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const {
  if (X.cols == 0) return;
  const bool other_way = transposed != transposed_;
  Product(process, *this, other_way, X.cols).apply(X, Y);
  if (!symmetrized_) return;
  MultiVector other;
  process.agree([&] { other = MultiVector(host_space(), Y.rows, Y.cols); });
  Product(process, *this, !other_way, X.cols).apply(X, other.columns());
  on_host(Y) = 0.5 * (on_host(Y) + on_host(other.columns()));
}

}  // namespace matapprox::mpi
