#include <algorithm>
#include <utility>

#include "factors/quantizer.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/packed.hpp"

namespace matapprox {
namespace {

constexpr Index kRowsPerScale = 64;
constexpr Index kChainSegment = 1024;
/// Every kWholeBytes rows a value begins at a byte.
constexpr Index kWholeBytes = 8;

Index links_of(const ChordPattern& pattern) {
  Index links = 0;
  for (const auto& offsets : pattern.offsets) links += static_cast<Index>(offsets.size());
  return links;
}

}  // namespace

PackedChord::PackedChord(ChordPattern pattern, PackedMatrix values)
    : pattern_(std::move(pattern)), values_(std::move(values)) {
  pattern_.validate();
  require(values_.rows() == pattern_.order && values_.cols() == links_of(pattern_),
          "packed chain: {} x {} values for order {} and {} links",
          values_.rows(),
          values_.cols(),
          pattern_.order,
          links_of(pattern_));
  Index first = 0;
  for (Index m = 0; m < pattern_.factors(); ++m) {
    first_links_.push_back(first);
    first += pattern_.links(m);
  }
}

PackedChord PackedChord::rounded(const ChordFactors& chain, int bits) {
  require(bits >= 1 && bits <= 16, "packed chain: values of {} bits (allowed: 1 to 16)", bits);
  const Index n = chain.pattern.order;
  Matrix values(n, links_of(chain.pattern));
  Index column = 0;
  for (Index m = 0; m < chain.pattern.factors(); ++m) {
    const Index links = chain.pattern.links(m);
    const double* first = chain.values.data() + chain.pattern.first_value(m);
    for (Index k = 0; k < links; ++k, ++column) {
      for (Index i = 0; i < n; ++i) values(i, column) = first[i * links + k];
    }
  }
  const std::vector<std::uint8_t> widths(static_cast<std::size_t>(values.cols()),
                                         static_cast<std::uint8_t>(bits));
  return {chain.pattern, PackedMatrix::rounded(values, widths, kRowsPerScale)};
}

Storage PackedChord::storage() const {
  Storage storage = values_.storage();
  storage.bytes += 8 * (values_.cols() + pattern_.factors());
  return storage;
}

/// W_m X, in segments of rows; the values of a link are unpacked once for all columns.
Matrix PackedChord::multiply(Index factor, const Matrix& X) const {
  const Index n = pattern_.order;
  const std::vector<Index>& offsets = pattern_.offsets[static_cast<std::size_t>(factor)];
  Matrix Y(n, X.cols());
  parallel_for((n + kChainSegment - 1) / kChainSegment, [&](Index s) {
    const Index first = s * kChainSegment;
    const Index count = std::min(kChainSegment, n - first);
    Vector weights(count);
    Y.middleRows(first, count).setZero();
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const Index link = first_links_[static_cast<std::size_t>(factor)] + static_cast<Index>(k);
      values_.unpack(link, first, count, weights.data());
      // Rows of X from (first + offset) mod n on, which wrap around once at most.
      const Index begin = (first + offsets[k]) % n;
      const Index before_wrap = std::min(count, n - begin);
      for (Index c = 0; c < X.cols(); ++c) {
        Y.col(c).segment(first, before_wrap) +=
            weights.head(before_wrap).cwiseProduct(X.col(c).segment(begin, before_wrap));
        Y.col(c).segment(first + before_wrap, count - before_wrap) +=
            weights.tail(count - before_wrap).cwiseProduct(X.col(c).head(count - before_wrap));
      }
    }
  });
  return Y;
}

/// W_m^T X: row j sums W_m[i, j] X(i) with i = (j - offset) mod n over all links.
Matrix PackedChord::multiply_transpose(Index factor, const Matrix& X) const {
  const Index n = pattern_.order;
  const std::vector<Index>& offsets = pattern_.offsets[static_cast<std::size_t>(factor)];
  Matrix Y(n, X.cols());
  parallel_for((n + kChainSegment - 1) / kChainSegment, [&](Index s) {
    const Index first = s * kChainSegment;
    const Index count = std::min(kChainSegment, n - first);
    Vector weights(count + kWholeBytes);
    Y.middleRows(first, count).setZero();
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const Index link = first_links_[static_cast<std::size_t>(factor)] + static_cast<Index>(k);
      for (Index done = 0; done < count;) {
        const Index source = (first + done + n - offsets[k]) % n;
        const Index run = std::min(count - done, n - source);
        const Index aligned = source - source % kWholeBytes;
        values_.unpack(link, aligned, run + source - aligned, weights.data());
        for (Index c = 0; c < X.cols(); ++c) {
          Y.col(c).segment(first + done, run) +=
              weights.segment(source - aligned, run).cwiseProduct(X.col(c).segment(source, run));
        }
        done += run;
      }
    }
  });
  return Y;
}

Matrix PackedChord::apply(const ConstBlock& X) const {
  Matrix Y = X;
  for (Index m = pattern_.factors(); m-- > 0;) Y = multiply(m, Y);
  return Y;
}

Matrix PackedChord::apply_transpose(const ConstBlock& X) const {
  Matrix Y = X;
  for (Index m = 0; m < pattern_.factors(); ++m) Y = multiply_transpose(m, Y);
  return Y;
}

ChordFactors PackedChord::unpacked() const {
  const Index n = pattern_.order;
  ChordFactors chain{pattern_, {}};
  chain.values.resize(static_cast<std::size_t>(pattern_.stored_numbers()));
  Vector column(n);
  for (Index m = 0; m < pattern_.factors(); ++m) {
    const Index links = pattern_.links(m);
    double* first = chain.values.data() + pattern_.first_value(m);
    for (Index k = 0; k < links; ++k) {
      values_.unpack(first_links_[static_cast<std::size_t>(m)] + k, 0, n, column.data());
      for (Index i = 0; i < n; ++i) first[i * links + k] = column(i);
    }
  }
  return chain;
}

}  // namespace matapprox
