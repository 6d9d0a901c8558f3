#include "mpi/chord_fit_rows.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/chord_chain.hpp"
#include "matapprox/core/memory.hpp"
#include "mpi/messages.hpp"
#include "mpi/row_exchange.hpp"

namespace matapprox::mpi {
namespace {

constexpr int kChunkRows = 6;
constexpr Index kUnit = kernels::simd::kPanelUnit<double>;

/// Returns the number of chunks that begin before this row; each belongs to its first row's
/// process.
Index chunks_before(Index row) { return kernels::row_chunks(row); }

Index end_of_chunk(Index chunk, Index order) {
  return std::min(order, (chunk + 1) * kernels::kRowChunk);
}

}  // namespace

ChordFitRows::ChordFitRows(const Process& process,
                           const Layout& rows,
                           ChordPattern pattern,
                           const Options& options)
    : rows_(rows),
      chain_(process, rows, std::move(pattern)),
      form_(options.symmetrized ? Form::kSymmetrized : Form::kProduct),
      simd_(kernels::simd::chord_functions<double>()) {
  const Index order = rows.rows();
  // A few extra cache lines, as in the objective of one process.
  panel_numbers_ = order * kernels::objective_width<double>(order, options.max_columns) + 9 * kUnit;
  const Index panels = chain_.factors() + (options.symmetrized ? 2 : 1);
  panels_ = ReservedNumbers(panels * panel_numbers_, ReservedNumbers::Use::kSparsely);
}

void ChordFitRows::set_target(const SparseMatrix& own_rows, double unit) {
  has_entries_ = true;
  entries_.reserve(static_cast<std::size_t>(own_rows.nonZeros()));
  for (Index i = 0; i < own_rows.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(own_rows, i); entry; ++entry)
      entries_.push_back({entry.col(), chain_.first() + i, entry.value() / unit});
  }
  std::ranges::stable_sort(entries_, {}, &Entry::column);
}

double ChordFitRows::evaluate_panel(const Process& process,
                                    const Panel& panel,
                                    const double* values,
                                    double* gradient) {
  columns_ = panel.columns;
  width_ = kernels::round_up(std::ssize(columns_), kUnit);
  values_ = values;
  if (panel.panel == 0) prepare(process, panel, gradient);
  const Index factors = chain_.factors();
  last_factor_columns(this->panel(factors - 1));
  for (Index m = factors - 2; m >= 0; --m)
    multiply(process, m, false, this->panel(m + 1), this->panel(m));
  if (form_ == Form::kSymmetrized) average(this->panel(0), transposed_columns(process));
  target_columns(process, panel.target, this->panel(factors));
  const double f = 0.5 * subtract_and_square(process, this->panel(0), this->panel(factors));
  if (gradient == nullptr) return f;
  add_gradient(process,
               sums_.empty() ? gradient : sums_.data() + panel.panel % slots_ * own_numbers());
  if (panel.panel + 1 == panel.panels && !sums_.empty()) sum_slots(gradient);
  return f;
}

/// Allocates the gradients and computes the values of the transposed factors.
void ChordFitRows::prepare(const Process& process, const Panel& first, double* gradient) {
  const Index numbers = own_numbers();
  const bool symmetrized = form_ == Form::kSymmetrized;
  const bool transposes = gradient != nullptr || symmetrized;
  slots_ = gradient == nullptr
               ? 1
               : kernels::gradient_slots<double>(first.panels, chain_.pattern().stored_numbers());
  process.agree([&] {
    sums_.assign(static_cast<std::size_t>(slots_ > 1 ? slots_ * numbers : 0), 0.0);
    if (!transposes || !transposed_values_.empty()) return;
    buffers_ = chain_.buffers();
    transposed_values_.resize(static_cast<std::size_t>(numbers));  // last: marks all as allocated
  });
  if (gradient != nullptr && slots_ == 1) std::fill_n(gradient, numbers, 0.0);
  if (!transposes) return;
  for (Index m = 0; m + (symmetrized ? 0 : 1) < chain_.factors(); ++m) {
    const Index at = chain_.first_value(m);
    chain_.transpose(process, m, values_ + at, transposed_values_.data() + at, buffers_);
  }
}

SpreadChain::Factor ChordFitRows::factor(Index m, bool transposed) const {
  const double* values = transposed ? transposed_values_.data() : values_;
  return chain_.factor(m, transposed, values + chain_.first_value(m));
}

/// Computes Y = W_m X or W_m^T X.
void ChordFitRows::multiply(
    const Process& process, Index m, bool transposed, double* x, double* y) {
  chain_.receive_ghosts(process, m, transposed, width_, x);
  const SpreadChain::Factor W = factor(m, transposed);
  chain_.over_rows([&](Index first, Index last) { simd_.rows(W, first, last, width_, x, y); });
}

void ChordFitRows::clear(double* Y) const {
  chain_.over_rows(
      [&](Index first, Index last) { std::fill(Y + first * width_, Y + last * width_, 0.0); });
}

/// Computes Y = W_M E for the unit columns E: a few stored entries of W_M.
void ChordFitRows::last_factor_columns(double* Y) {
  clear(Y);
  const SpreadChain::Factor W = factor(chain_.factors() - 1, false);
  for (Index c = 0; c < std::ssize(columns_); ++c) {
    for (Index k = 0; k < W.links; ++k) {
      const Index from = columns_[static_cast<std::size_t>(c)] - W.offsets[k];
      const Index i = from < 0 ? from + W.order : from;
      if (i >= chain_.first() && i < chain_.last()) Y[i * width_ + c] = *W.value(i, k);
    }
  }
}

/// Computes Y = W_1^T E: rows of W_1, as columns.
void ChordFitRows::first_factor_rows(double* Y) {
  clear(Y);
  const SpreadChain::Factor W = factor(0, false);
  const SpreadChain::Factor transposed = factor(0, true);
  for (Index c = 0; c < std::ssize(columns_); ++c) {
    for (Index k = 0; k < W.links; ++k) {
      const Index to = columns_[static_cast<std::size_t>(c)] + W.offsets[k];
      const Index j = to < W.order ? to : to - W.order;
      if (j >= chain_.first() && j < chain_.last()) Y[j * width_ + c] = *transposed.value(j, k);
    }
  }
}

/// Computes W_M^T ... W_1^T E in one of the two panels that the forward products do not need.
const double* ChordFitRows::transposed_columns(const Process& process) {
  const Index factors = chain_.factors();
  const auto at = [&](Index m) { return panel(factors + m % 2); };
  first_factor_rows(at(0));
  for (Index m = 1; m < factors; ++m) multiply(process, m, true, at(m - 1), at(m));
  return at(factors - 1);
}

/// Computes t = (t + u) / 2.
void ChordFitRows::average(double* t, const double* u) const {
  chain_.over_rows([&](Index first, Index last) {
    for (Index i = first * width_; i < last * width_; ++i) t[i] = (t[i] + u[i]) / 2;
  });
}

void ChordFitRows::target_columns(const Process& process, const double* all, double* X) {
  const Index count = std::ssize(columns_);
  if (has_entries_) {
    clear(X);
    for (Index c = 0; c < count; ++c) {
      for (const Entry& entry : std::ranges::equal_range(
               entries_, columns_[static_cast<std::size_t>(c)], {}, &Entry::column))
        X[entry.row * width_ + c] = entry.value;
    }
    return;
  }
  double* own = X + chain_.first() * width_;
  scatter_rows(process, rows_, count, all, own);
  if (count == width_) return;
  // Spreads rows of `count` numbers to rows of width_ numbers, padded with zeros; in place, from
  // the last row to the first.
  for (Index i = chain_.last() - chain_.first(); i-- > 0;) {
    std::copy_backward(own + i * count, own + (i + 1) * count, own + i * width_ + count);
    std::fill(own + i * width_ + count, own + (i + 1) * width_, 0.0);
  }
}

/// Computes t -= x and returns the sum of squares of the result on the leader. The sums of the
/// chunks are added in order, as on one process.
double ChordFitRows::subtract_and_square(const Process& process, double* t, double* x) {
  const Index begin = chain_.first();
  const Index end = chain_.last();
  const Index first_chunk = chunks_before(begin);
  std::vector<double> sums(static_cast<std::size_t>(chunks_before(end) - first_chunk));
  const auto square = [&](Index first, Index last) {
    return simd_.subtract_and_square(
        t + first * width_, x + first * width_, (last - first) * width_);
  };
  const Index touched = begin == end ? 0 : (end - 1) / kernels::kRowChunk + 1;
  const Index from = begin / kernels::kRowChunk;
  parallel_for(std::max<Index>(touched - from, 0), [&](Index at) {
    const Index chunk = from + at;
    const double sum = square(std::max(begin, chunk * kernels::kRowChunk),
                              std::min(end, end_of_chunk(chunk, rows_.rows())));
    if (chunk >= first_chunk) sums[static_cast<std::size_t>(chunk - first_chunk)] = sum;
  });
  exchange_chunks(process, t);
  // The last chunk may end on other processes: sums all its rows, with x already subtracted.
  if (!sums.empty() && end % kernels::kRowChunk != 0) {
    const Index chunk = chunks_before(end) - 1;
    const Index first = chunk * kernels::kRowChunk;
    const Index last = end_of_chunk(chunk, rows_.rows());
    std::fill(x + first * width_, x + last * width_, 0.0);
    sums.back() = square(first, last);
  }
  return sum_of_chunks(process, sums);
}

/// Sends the rows of a chunk that begins on another process to that process, and receives the
/// missing rows of the last own chunk.
void ChordFitRows::exchange_chunks(const Process& process, double* t) const {
  const NumberType row = NumberType::row(width_);
  Messages messages(process, kChunkRows);
  const Index begin = chain_.first();
  const Index end = chain_.last();
  if (begin == end) return;
  if (chunks_before(end) > chunks_before(begin)) {
    const Index chunk_end = end_of_chunk(chunks_before(end) - 1, rows_.rows());
    for (Index i = end; i < chunk_end;) {
      const int owner = rows_.owner(i);
      const Index last = std::min(chunk_end, rows_.first(owner) + rows_.count(owner));
      messages.receive(owner, t + i * width_, last - i, row.get());
      i = last;
    }
  }
  if (begin % kernels::kRowChunk != 0) {
    const Index chunk = begin / kernels::kRowChunk;
    const Index last = std::min(end, end_of_chunk(chunk, rows_.rows()));
    const int owner = rows_.owner(chunk * kernels::kRowChunk);
    messages.send(owner, t + begin * width_, last - begin, row.get());
  }
  messages.wait();
}

double ChordFitRows::sum_of_chunks(const Process& process, const std::vector<double>& own) const {
  std::vector<int> counts;
  std::vector<int> firsts;
  for (int p = 0; p < process.size(); ++p) {
    firsts.push_back(static_cast<int>(chunks_before(rows_.first(p))));
    counts.push_back(static_cast<int>(chunks_before(rows_.first(p) + rows_.count(p))) -
                     firsts.back());
  }
  std::vector<double> all(
      static_cast<std::size_t>(process.leads() ? chunks_before(rows_.rows()) : 0));
  MPI_Gatherv(own.data(),
              static_cast<int>(own.size()),
              MPI_DOUBLE,
              all.data(),
              counts.data(),
              firsts.data(),
              MPI_DOUBLE,
              0,
              process.comm());
  return std::accumulate(all.begin(), all.end(), 0.0);
}

/// Adds the gradient of f. Panel 0 is the residual; panel m is T_m and is overwritten with G_m.
void ChordFitRows::add_gradient(const Process& process, double* sum) {
  const Index factors = chain_.factors();
  for (Index m = 0; m + 1 < factors; ++m) {
    const SpreadChain::Factor W = factor(m, false);
    double* whole = sum + chain_.first_value(m) - chain_.first() * W.links;
    // The rows of T_m+1 from other processes are still there from the product with W_m.
    chain_.over_rows([&](Index first, Index last) {
      simd_.add_gradient(W, first, last, width_, panel(m), panel(m + 1), whole);
    });
    multiply(process, m, true, panel(m), panel(m + 1));
  }
  const SpreadChain::Factor W = factor(factors - 1, false);
  double* own = sum + chain_.first_value(factors - 1);
  const double* G = panel(factors - 1);
  for (Index c = 0; c < std::ssize(columns_); ++c) {
    for (Index k = 0; k < W.links; ++k) {
      const Index from = columns_[static_cast<std::size_t>(c)] - W.offsets[k];
      const Index i = from < 0 ? from + W.order : from;
      if (i >= chain_.first() && i < chain_.last())
        own[(i - chain_.first()) * W.links + k] += G[i * width_ + c];
    }
  }
}

/// Sums the slots in order: the gradient.
void ChordFitRows::sum_slots(double* gradient) const {
  constexpr Index kChunk = 1024;
  const Index numbers = own_numbers();
  parallel_for((numbers + kChunk - 1) / kChunk, [&](Index chunk) {
    const Index first = chunk * kChunk;
    const Index count = std::min(kChunk, numbers - first);
    std::copy_n(sums_.data() + first, count, gradient + first);
    for (Index s = 1; s < slots_; ++s) {
      const double* slot = sums_.data() + s * numbers + first;
      for (Index i = 0; i < count; ++i) gradient[first + i] += slot[i];
    }
  });
}

}  // namespace matapprox::mpi
