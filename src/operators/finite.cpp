#include "operators/finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {

namespace {

constexpr Index kPart = Index{1} << 16;

Index parts_of(Index count) { return (count + kPart - 1) / kPart; }

/// True if the sum of x * 0 is 0, not NaN: then all values are finite. Several sums let the
/// additions overlap.
bool all_finite(const double* values, Index count) {
  double sums[8] = {};
  Index i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int s = 0; s < 8; ++s) sums[s] += values[i + s] * 0.0;
  }
  for (; i < count; ++i) sums[0] += values[i] * 0.0;
  for (const double sum : sums) {
    if (sum != 0.0) return false;
  }
  return true;
}

[[noreturn]] void refuse(const std::string& what, double value, Index row, Index col) {
  throw NumericalError(fmt::format(
      "{}: entry ({}, {}), counted from 0, is {}; entries must be finite", what, row, col, value));
}

/// A matrix read in column order, whatever its order in memory: op(S) of a column-major S.
struct ColumnOrder {
  const ConstBlock& stored;
  bool transposed;

  Index rows() const { return transposed ? stored.cols() : stored.rows(); }
  Index size() const { return stored.size(); }
  bool is_contiguous() const { return !transposed && stored.outerStride() == stored.rows(); }
  double at(Index row, Index col) const { return transposed ? stored(col, row) : stored(row, col); }

  /// Returns the entries first .. first+count-1: in place if contiguous, otherwise copied into
  /// memory of this thread that is valid until its next call.
  const double* entries(Index first, Index count) const {
    if (is_contiguous()) return stored.data() + first;
    thread_local std::vector<double> copy(static_cast<std::size_t>(kPart));
    const Index m = rows();
    Index k = 0;
    while (k < count) {
      const Index row = (first + k) % m;
      const Index col = (first + k) / m;
      // If possible, copies whole columns at a time along the rows of memory, otherwise a part of
      // one.
      const Index whole = transposed && row == 0 ? (count - k) / m : 0;
      const Index width = std::max<Index>(whole, 1);
      const Index length = std::min(m - row, count - k);
      for (Index i = 0; i < length; ++i) {
        for (Index j = 0; j < width; ++j) {
          copy[static_cast<std::size_t>(k + i + j * m)] = at(row + i, col + j);
        }
      }
      k += whole > 0 ? whole * m : length;
    }
    return copy.data();
  }
};

EntryFacts facts_in_column_order(const ColumnOrder& values, const std::string& what) {
  struct Part {
    Index nonzeros = 0;
    double largest = 0;
    double squares = 0;
    double zero = 0;  // NaN if an entry is NaN or Inf
  };
  const Index count = values.size();
  std::vector<Part> parts(static_cast<std::size_t>(parts_of(count)));
  parallel_for(parts_of(count), [&](Index p) {
    const Index length = std::min(kPart, count - p * kPart);
    const double* first = values.entries(p * kPart, length);
    double largest[8] = {};
    double squares[8] = {};
    double zeros[8] = {};
    Index nonzeros = 0;
    const auto add = [&](double x, Index lane) {
      largest[lane] = std::max(largest[lane], std::abs(x));
      squares[lane] += x * x;
      zeros[lane] += x * 0.0;
    };
    Index i = 0;
    for (; i + 8 <= length; i += 8) {
      for (Index lane = 0; lane < 8; ++lane) add(first[i + lane], lane);
    }
    for (; i < length; ++i) add(first[i], i % 8);
    for (i = 0; i < length; ++i) nonzeros += first[i] != 0.0 ? 1 : 0;
    Part& part = parts[static_cast<std::size_t>(p)];
    part.nonzeros = nonzeros;
    part.largest = *std::max_element(largest, largest + 8);
    for (const double zero : zeros) part.zero += zero;
    part.squares = ((squares[0] + squares[1]) + (squares[2] + squares[3])) +
                   ((squares[4] + squares[5]) + (squares[6] + squares[7]));
  });
  EntryFacts facts;
  double largest = 0;
  double sum = 0;
  for (Index p = 0; p < parts_of(count); ++p) {
    const Part& part = parts[static_cast<std::size_t>(p)];
    if (part.zero != 0.0) {
      for (Index k = p * kPart;; ++k) {
        const Index row = k % values.rows();
        const Index col = k / values.rows();
        if (!std::isfinite(values.at(row, col))) refuse(what, values.at(row, col), row, col);
      }
    }
    facts.nonzeros += part.nonzeros;
    largest = std::max(largest, part.largest);
    sum += part.squares;
  }
  facts.largest = largest;
  if (largest == 0) return facts;
  // Unscaled squares have the same digits, unless they leave the range of doubles or come near its
  // lower end.
  const int exponent = std::ilogb(largest);
  if (exponent > -400 && exponent < 400) {
    facts.frobenius_norm = std::sqrt(sum);
  } else if (values.is_contiguous()) {
    facts.frobenius_norm = frobenius_norm(values.stored.data(), count);
  } else {
    const Matrix copy =
        values.transposed ? Matrix(values.stored.transpose()) : Matrix(values.stored);
    facts.frobenius_norm = frobenius_norm(copy.data(), count);
  }
  return facts;
}

}  // namespace

void require_finite(const ConstBlock& values, const std::string& what) {
  constexpr Index kNone = -1;
  const Index rows = values.rows();
  if (rows == 0) return;
  const Index width = std::max<Index>(1, kPart / rows);
  const Index parts = (values.cols() + width - 1) / width;
  std::vector<Index> bad_column(static_cast<std::size_t>(parts), kNone);
  parallel_for(parts, [&](Index part) {
    const Index end = std::min(values.cols(), (part + 1) * width);
    for (Index c = part * width; c < end; ++c) {
      if (!all_finite(values.col(c).data(), rows)) {
        bad_column[static_cast<std::size_t>(part)] = c;
        return;
      }
    }
  });
  for (const Index c : bad_column) {
    if (c == kNone) continue;
    for (Index r = 0; r < rows; ++r) {
      if (!std::isfinite(values(r, c))) refuse(what, values(r, c), r, c);
    }
  }
}

void require_finite(const SparseMatrix& values, const std::string& what) {
  for (Index r = 0; r < values.outerSize(); ++r) {
    for (SparseMatrix::InnerIterator entry(values, r); entry; ++entry) {
      if (!std::isfinite(entry.value())) refuse(what, entry.value(), entry.row(), entry.col());
    }
  }
}

double frobenius_norm(const double* values, Index count) {
  const Index parts = parts_of(count);
  std::vector<double> partial(static_cast<std::size_t>(parts));
  const auto each_part = [&](auto&& reduce) {
    parallel_for(parts, [&](Index part) {
      const Index end = std::min(count, (part + 1) * kPart);
      partial[static_cast<std::size_t>(part)] = reduce(values + part * kPart, values + end);
    });
  };
  each_part([](const double* first, const double* last) {
    double largest = 0;
    for (; first != last; ++first) largest = std::max(largest, std::abs(*first));
    return largest;
  });
  const double largest = parts == 0 ? 0 : *std::max_element(partial.begin(), partial.end());
  if (largest == 0) return 0;
  // A power of two near the largest entry: scaling by it causes no rounding.
  int exponent = 0;
  std::frexp(largest, &exponent);
  exponent = std::max(exponent, -1000);
  const double scale = std::ldexp(1.0, -exponent);
  each_part([scale](const double* first, const double* last) {
    double sums[8] = {};
    for (Index i = 0; first != last; ++first, i = (i + 1) % 8) {
      const double scaled = *first * scale;
      sums[i] += scaled * scaled;
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  });
  double sum = 0;
  for (const double part : partial) sum += part;
  return std::ldexp(std::sqrt(sum), exponent);
}

EntryFacts entry_facts(const ConstBlock& values, const std::string& what) {
  return facts_in_column_order({values, false}, what);
}

EntryFacts entry_facts_of_transpose(const ConstBlock& stored, const std::string& what) {
  return facts_in_column_order({stored, true}, what);
}

}  // namespace matapprox
