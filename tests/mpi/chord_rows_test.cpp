#include "mpi/chord_rows.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "matapprox/kernels/chord.hpp"
#include "mpi/sent_bytes.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

// All processes run these tests together (--together).
namespace matapprox::mpi {
namespace {

constexpr Index kOrder = 4096;

/// The chain of the reference pattern, and this process's part of its values.
struct Chain {
  explicit Chain(const Process& process)
      : pattern(chord_reference_pattern(kOrder)),
        rows(even_layout(kOrder, process.size())),
        values(matapprox::test::random_matrix(pattern.stored_numbers(), 1)),
        first(rows.first(process.rank())),
        count(rows.count(process.rank())) {
    for (Index m = 0; m < pattern.factors(); ++m) {
      const double* factor = values.data() + pattern.first_value(m);
      const Index links = pattern.links(m);
      own.insert(own.end(), factor + first * links, factor + (first + count) * links);
    }
  }

  ChordPattern pattern;
  Layout rows;
  Matrix values;
  Index first;
  Index count;
  std::vector<double> own;
};

/// Multiplies and compares with the product of one process; returns the messages that this process
/// sent.
test::SentMessages multiply(const Process& process, bool transposed, Index columns) {
  const Chain chain(process);
  const ChordRows matrix(
      SpreadChain(process, chain.rows, chain.pattern), chain.own.data(), false, false);
  const Matrix X = matapprox::test::random_matrix(kOrder, columns, 3);
  Matrix wanted(kOrder, columns);
  if (transposed) {
    kernels::chord_apply_transpose<double>(chain.pattern, chain.values.data(), X, wanted);
  } else {
    kernels::chord_apply<double>(chain.pattern, chain.values.data(), X, wanted);
  }
  const MultiVector x(host_space(), X.middleRows(chain.first, chain.count));
  MultiVector y(host_space(), chain.count, columns);
  const test::SentMessages before = test::sent_messages();
  matrix.multiply(process, transposed, x.columns(), y.columns());
  EXPECT_SAME_BITS(to_host(y.columns()), wanted.middleRows(chain.first, chain.count));
  const test::SentMessages after = test::sent_messages();
  return {after.messages - before.messages, after.bytes - before.bytes};
}

// The number of processes is a power of two in these tests: P = 2^q.
TEST(Together, AFactorOfTheReferencePatternSendsBlocksOfRows) {
  const Process process(MPI_COMM_WORLD);
  const Index factors = chord_reference_pattern(kOrder).factors();
  const Index rows = kOrder / process.size();
  const Index q = std::bit_width(static_cast<unsigned>(process.size())) - 1;
  for (const Index columns : {1, 8, 32}) {
    const test::SentMessages forward = multiply(process, false, columns);
    EXPECT_EQ(forward.messages, factors * q);
    EXPECT_EQ(forward.bytes, factors * q * rows * columns * 8);
  }
  // The transposed product also sends, for each row, the values of q + 1 links, except one value
  // over all rows: 0 + 1 + 2 + 4 + ... of the short links, all of the q long ones.
  const test::SentMessages transposed = multiply(process, true, 8);
  const Index values = q == 0 ? 0 : (q + 1) * rows - 1;
  EXPECT_EQ(transposed.bytes, factors * (q * rows * 8 + values) * 8);
}

}  // namespace
}  // namespace matapprox::mpi
