#include "mpi/spread_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/chord_chain.hpp"
#include "matapprox/core/memory.hpp"
#include "mpi/process.hpp"

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

namespace {

constexpr int kLinkValues = 5;
/// Largest number of numbers in one message.
constexpr Index kNumbersInMessage = Index{1} << 30;

Index numbers_of(const auto& moved) {
  Index numbers = 0;
  for (const auto& values : moved) numbers += values.count;
  return numbers;
}

/// Calls function(process, first, count) for the numbers of each process, once per message.
void over_messages(const auto& moved, const auto& function) {
  Index first = 0;
  for (std::size_t at = 0; at < moved.size();) {
    Index count = 0;
    const int process = moved[at].process;
    for (; at < moved.size() && moved[at].process == process; ++at) count += moved[at].count;
    for (Index from = 0; from < count; from += kNumbersInMessage)
      function(process, first + from, static_cast<int>(std::min(kNumbersInMessage, count - from)));
    first += count;
  }
}

}  // namespace

SpreadChain::SpreadChain(const Process& process, const Layout& rows, ChordPattern pattern)
    : pattern_(std::move(pattern)),
      first_(rows.first(process.rank())),
      last_(first_ + rows.count(process.rank())) {
  const Index n = pattern_.order;
  for (Index m = 0; m < factors(); ++m) {
    const std::vector<Index>& offsets = pattern_.offsets[static_cast<std::size_t>(m)];
    std::vector<Index> turned = offsets;
    for (Index& offset : turned) offset = offset == 0 ? 0 : n - offset;
    sides_[0].push_back({offsets, LinkHalo(rows, process.rank(), offsets)});
    sides_[1].push_back({turned, LinkHalo(rows, process.rank(), turned)});
    moves_.push_back(moves_of(rows, process.rank(), m));
  }
}

SpreadChain::Moves SpreadChain::moves_of(const Layout& rows, int process, Index m) const {
  const std::vector<Index>& offsets = sides_[0][static_cast<std::size_t>(m)].offsets;
  const std::vector<Index>& turned = sides_[1][static_cast<std::size_t>(m)].offsets;
  Moves moves;
  for (Index k = 0; k < links(m); ++k) {
    const auto at = static_cast<std::size_t>(k);
    for (const LinkedRows& part : linked_rows(rows, process, turned[at])) {
      if (part.owner == process) {
        moves.kept.emplace_back(k, part);
      } else {
        moves.received.push_back({part.owner, k, part.row, part.count});
      }
    }
    for (const LinkedRows& part : linked_rows(rows, process, offsets[at])) {
      if (part.owner != process) moves.sent.push_back({part.owner, k, part.row, part.count});
    }
  }
  // Sender and receiver both order the values by link, then by row of the transpose; for the values
  // sent, these are the linked rows.
  const auto by_process = [](const Values& a, const Values& b) { return a.process < b.process; };
  std::ranges::stable_sort(moves.received, by_process);
  std::ranges::stable_sort(moves.sent, by_process);
  return moves;
}

Index SpreadChain::max_links() const {
  Index most = 0;
  for (Index m = 0; m < factors(); ++m) most = std::max(most, links(m));
  return most;
}

Index SpreadChain::first_value(Index m) const {
  return pattern_.first_value(m) / pattern_.order * (last_ - first_);
}

SpreadChain::Factor SpreadChain::factor(Index m, bool transposed, const double* values) const {
  const Side& side = sides_[static_cast<std::size_t>(transposed)][static_cast<std::size_t>(m)];
  // Address where row 0 would be, since rows are counted as in the whole factor; null without rows.
  const double* whole = values == nullptr ? nullptr : values - first_ * links(m);
  return {pattern_.order, links(m), side.offsets.data(), whole, links(m), 1};
}

void SpreadChain::receive_ghosts(
    const Process& process, Index m, bool transposed, Index width, double* panel) const {
  halo(m, transposed).receive_ghosts(process, width, panel);
}

void SpreadChain::bring_twice(const Process& process, Index m, bool transposed, double* x) const {
  const LinkHalo& its_halo = halo(m, transposed);
  its_halo.receive_ghosts(process, 1, x);
  for (const LinkHalo::Interval& rows : its_halo.received())
    std::copy_n(x + rows.first, rows.count, x + pattern_.order + rows.first);
}

SpreadChain::Buffers SpreadChain::buffers() const {
  Index sent = 0;
  Index received = 0;
  for (const Moves& moves : moves_) {
    sent = std::max(sent, numbers_of(moves.sent));
    received = std::max(received, numbers_of(moves.received));
  }
  return {std::vector<double>(static_cast<std::size_t>(sent)),
          std::vector<double>(static_cast<std::size_t>(received))};
}

void SpreadChain::transpose(
    const Process& process, Index m, const double* values, double* result, Buffers& buffers) const {
  const Moves& moves = moves_[static_cast<std::size_t>(m)];
  const Index stride = links(m);
  std::vector<MPI_Request> requests;
  over_messages(moves.received, [&](int from, Index first, int count) {
    MPI_Irecv(buffers.received.data() + first,
              count,
              MPI_DOUBLE,
              from,
              kLinkValues,
              process.comm(),
              &requests.emplace_back());
  });
  double* next = buffers.sent.data();
  for (const Values& part : moves.sent) {
    const double* from = values + (part.first - first_) * stride + part.link;
    for (Index i = 0; i < part.count; ++i) *next++ = from[i * stride];
  }
  over_messages(moves.sent, [&](int to, Index first, int count) {
    MPI_Isend(buffers.sent.data() + first,
              count,
              MPI_DOUBLE,
              to,
              kLinkValues,
              process.comm(),
              &requests.emplace_back());
  });
  over_rows([&](Index first, Index last) {
    for (const auto& [link, part] : moves.kept) {
      const Index begin = std::max(first, part.row);
      const Index end = std::min(last, part.row + part.count);
      const double* from = values + (part.linked - part.row - first_) * stride + link;
      double* to = result - first_ * stride + link;
      for (Index j = begin; j < end; ++j) to[j * stride] = from[j * stride];
    }
  });
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  const double* came = buffers.received.data();
  for (const Values& part : moves.received) {
    double* to = result + (part.first - first_) * stride + part.link;
    for (Index j = 0; j < part.count; ++j) to[j * stride] = *came++;
  }
}

void SpreadChain::over_rows(const std::function<void(Index first, Index last)>& function) const {
  kernels::over_rows(kernels::RowWork::kSpread, last_ - first_, [&](Index first, Index last) {
    function(first_ + first, first_ + last);
  });
}

ChordPattern broadcast_pattern(const Process& process, const ChordPattern* pattern) {
  std::array<Index, 2> sizes{};  // order, factors
  if (process.leads()) sizes = {pattern->order, pattern->factors()};
  process.broadcast(sizes.data(), sizeof sizes);
  ChordPattern result{sizes[0],
                      std::vector<std::vector<Index>>(static_cast<std::size_t>(sizes[1]))};
  for (Index m = 0; m < result.factors(); ++m) {
    std::vector<Index>& offsets = result.offsets[static_cast<std::size_t>(m)];
    if (process.leads()) offsets = pattern->offsets[static_cast<std::size_t>(m)];
    Index links = std::ssize(offsets);
    process.broadcast(&links, sizeof links);
    offsets.resize(static_cast<std::size_t>(links));
    process.broadcast(offsets.data(), links * Index{sizeof(Index)});
  }
  return result;
}

Layout chain_layout(const Layout& rows, const ChordPattern& pattern) {
  std::vector<Index> links;
  for (Index m = 0; m < pattern.factors(); ++m) links.push_back(pattern.links(m));
  return {rows.begins(), std::move(links)};
}

SpreadChord::SpreadChord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values)
    : order_(pattern.order),
      values_(std::move(values)),
      ranks_(std::make_shared<const RanksSpace>(
          leader, std::vector{even_layout(order_, leader->processes())})),
      space_(ranks_),
      matrix_(leader->next_number()) {
  const auto& where = dynamic_cast<const RanksSpace&>(*values_->space());
  leader->run(AddChord{.matrix = matrix_,
                       .rows = ranks_->layout_number(order_),
                       .values = where.part(values_->data(), values_->size()),
                       .transposed = false,
                       .symmetrized = false,
                       .pattern = &pattern});
}

SpreadChord::~SpreadChord() { ranks_->leader()->run_to_end(RemoveMatrix{matrix_}); }

Cost SpreadChord::cost() const {
  const Index numbers = values_->size();
  const auto multiplications = static_cast<double>(numbers);
  return {.stored_numbers = numbers,
          .stored_bytes = numbers * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = multiplications,
          .multiplications_per_column = multiplications};
}

std::string SpreadChord::description() const {
  return fmt::format("Chord factors, over {} processes", ranks_->leader()->processes());
}

void SpreadChord::do_apply_in_place(bool transposed,
                                    const ConstMultiVectorView& X,
                                    const MultiVectorView& Y) const {
  multiply(*ranks_, matrix_, transposed, X, Y);
}

void SpreadChord::apply_host(bool transposed, const ConstBlock& X, Block& Y) const {
  const MultiVector x(space_, X);
  const MultiVector y = transposed ? apply_transpose(x.columns()) : apply(x.columns());
  Y = to_host(y.columns());
}

PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values) {
  auto product = std::make_shared<const SpreadChord>(leader, pattern, values);
  return {pattern, std::move(values), std::move(product)};
}

}  // namespace matapprox::mpi
