#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "matapprox/factors/approximation.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/chord.hpp"
#include "measure/target_search.hpp"
#include "methods/chord/start.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/processes.hpp"
#include "mpi/spread_chain.hpp"
#include "mpi/spread_operator.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

// Chains of Chord factors whose values stay on the processes of their fit.

namespace matapprox::mpi {
namespace {

/// Factors of 3, 1 and 2 links, the last of which lead past half of the rows.
ChordPattern uneven_links(Index n) { return {n, {{0, 1, n - 1}, {n / 2}, {n / 3, n - 2}}}; }

/// One column of numbers, distributed like the values of a fit.
std::shared_ptr<MultiVector> on_all(const ChordPattern& pattern, const Matrix& values) {
  const Layout rows = even_layout(pattern.order, test::processes());
  return std::make_shared<MultiVector>(test::space_of({chain_layout(rows, pattern)}), values);
}

Matrix column_of_values(const ChordPattern& pattern) {
  return matapprox::test::random_matrix(pattern.stored_numbers(), 1, 5);
}

ChordFactors on_one(const ChordPattern& pattern, const Matrix& values) {
  return {pattern, {values.data(), values.data() + values.size()}};
}

/// The same chain on the first process and on all.
struct Both {
  FactorProduct here;
  FactorProduct there;
};

Both chains(const ChordPattern& pattern, bool transposed = false, bool symmetrized = false) {
  const Matrix values = column_of_values(pattern);
  const PlacedChord placed = spread_chord(test::leader(), pattern, on_all(pattern, values));
  return {FactorProduct({make_factor("W", on_one(pattern, values), transposed)}, symmetrized),
          FactorProduct({make_factor("W", placed, transposed)}, symmetrized)};
}

Matrix in_place(const FactorProduct& A, bool transposed, const Matrix& X) {
  const MultiVector x(A.memory_space(), X);
  return to_host((transposed ? A.apply_transpose(x.columns()) : A.apply(x.columns())).columns());
}

// Fewer rows than processes, row counts that the number of processes divides or does not; vectors
// and panels.
TEST(SpreadChord, ProductsHaveTheBitsOfOneProcess) {
  for (const Index n : {5, 64, 1001}) {
    for (const bool transposed : {false, true}) {
      for (const bool symmetrized : {false, true}) {
        const auto [here, there] = chains(uneven_links(n), transposed, symmetrized);
        EXPECT_FALSE(there.memory_space()->on_host());
        for (const Index columns : {1, 5}) {
          const Matrix X = matapprox::test::random_matrix(n, columns);
          EXPECT_SAME_BITS(there.apply(X), here.apply(X));
          EXPECT_SAME_BITS(there.apply_transpose(X), here.apply_transpose(X));
          EXPECT_SAME_BITS(in_place(there, false, X), here.apply(X));
          EXPECT_SAME_BITS(in_place(there, true, X), here.apply_transpose(X));
        }
        const std::vector<Index> J{n - 1, 0, 2};
        EXPECT_SAME_BITS(there.columns_at(J), here.columns_at(J));
        EXPECT_SAME_BITS(there.rows_at(J), here.rows_at(J));
        EXPECT_EQ(there.storage().numbers, here.storage().numbers);
        EXPECT_EQ(there.storage().bytes, here.storage().bytes);
        EXPECT_EQ(there.cost().multiplications_per_apply, here.cost().multiplications_per_apply);
      }
    }
  }
}

TEST(SpreadChord, ProductsWithPermutationsToo) {
  const Index n = 60;
  const auto [here, there] = chains(uneven_links(n));
  std::vector<Index> order = index_range(0, n);
  std::ranges::reverse(order);
  const auto around = [&](const Factor& W) {
    return FactorProduct({make_factor("P", Permutation(order), true),
                          W,
                          make_factor("Q", Permutation(index_range(0, n)))});
  };
  const FactorProduct A = around(here.factors()[0]);
  const FactorProduct B = around(there.factors()[0]);
  const Matrix X = matapprox::test::random_matrix(n, 3);
  EXPECT_SAME_BITS(B.apply(X), A.apply(X));
  EXPECT_SAME_BITS(in_place(B, false, X), A.apply(X));
  EXPECT_SAME_BITS(in_place(B, true, X), A.apply_transpose(X));
}

// The values are the rows of one factor after the other; a piece may end within a row or extend
// over several factors.
TEST(SpreadChord, ValuesAreReadWrittenAndScaledInAnyPiece) {
  for (const Index n : {5, 103}) {
    const ChordPattern pattern = uneven_links(n);
    const Matrix values = column_of_values(pattern);
    const Index all = values.size();
    const PlacedChord chain = spread_chord(test::leader(), pattern, on_all(pattern, values));
    EXPECT_EQ(chain.to_host().values, on_one(pattern, values).values);
    for (const Index first : {Index{0}, Index{1}, 3 * n - 1, 3 * n, 4 * n - 2, all - 1}) {
      for (const Index count : {Index{0}, Index{1}, n, n + 3, all}) {
        if (first + count > all) continue;
        Matrix piece(count, 1);
        chain.read(first, count, piece.data());
        EXPECT_SAME_BITS(piece, values.middleRows(first, count)) << first << ", " << count;
        const auto other = on_all(pattern, values);
        other->space()->scale(other->data() + first, count, -3);
        Matrix wanted = values;
        wanted.middleRows(first, count) *= -3;
        EXPECT_SAME_BITS(to_host(other->columns()), wanted) << first << ", " << count;
        const Matrix written = matapprox::test::random_matrix(count, 1, 8);
        other->space()->write_rows(all, other->data(), 1, first, count, written.data());
        wanted.middleRows(first, count) = written;
        EXPECT_SAME_BITS(to_host(other->columns()), wanted) << first << ", " << count;
      }
    }
  }
}

// Norms of factors of several pieces, of one that ends within a block, and of one beyond the range
// of squares. The norms are near 1, where their last bits affect the logarithms.
TEST(SpreadChord, BalancingHasTheBitsOfOneProcess) {
  for (const double large : {1.0, 1e200}) {
    for (const Index n : {3, 1001, 200003}) {
      const ChordPattern pattern = uneven_links(n);
      Matrix values = column_of_values(pattern);
      const auto factor = [&](Index m) {
        return values.middleRows(pattern.first_value(m), n * pattern.links(m));
      };
      for (Index m = 0; m < 3; ++m) factor(m) /= factor(m).norm() * (1 + 1e-5);
      factor(1) *= large;
      const auto there = on_all(pattern, values);
      chord_fit::balance(pattern, 1.0, *there);
      chord_fit::balance(pattern, 1.0, values.data());
      EXPECT_SAME_BITS(to_host(there->columns()), values);
      EXPECT_NEAR(factor(1).stableNorm() / factor(0).stableNorm(), 1, 1e-12);
      EXPECT_NEAR(factor(2).stableNorm() / factor(0).stableNorm(), 1, 1e-12);
    }
  }
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("matapprox_spread_chord_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Approximation approximation_of(const FactorProduct& product) {
  return {product.factors(), Summary{}, product.symmetrized()};
}

// More values than the writer takes at a time.
TEST(SpreadChord, IsSavedInTheBytesOfOneProcess) {
  const Folder folder;
  for (const Index n : {7, 200000}) {
    const auto [here, there] = chains(uneven_links(n), false, true);
    std::string bytes;
    std::string later;
    for (int again = 0; again < 20 && (bytes.empty() || bytes != later); ++again) {
      // HDF5 stores the creation time in seconds.
      save(folder / "here.h5", approximation_of(here), {});
      bytes = bytes_of(folder / "here.h5");
      save(folder / "there.h5", approximation_of(there), {});
      save(folder / "here.h5", approximation_of(here), {});
      later = bytes_of(folder / "here.h5");
    }
    EXPECT_GT(bytes.size(), static_cast<std::size_t>(8 * here.storage().numbers));
    EXPECT_TRUE(bytes_of(folder / "there.h5") == bytes) << n;
    const Approximation loaded = load_approximation(folder / "there.h5").approximation;
    EXPECT_TRUE(std::holds_alternative<ChordFactors>(*loaded.factors()[0].value));
  }
}

TEST(SpreadChord, ValuesThatAreNoNumbersAreRefused) {
  const Folder folder;
  const ChordPattern pattern = uneven_links(50);
  Matrix values = column_of_values(pattern);
  values(values.size() - 1) = std::numeric_limits<double>::quiet_NaN();
  const Approximation bad(
      {make_factor("W", spread_chord(test::leader(), pattern, on_all(pattern, values)))}, {});
  EXPECT_REFUSED(NumericalError, save(folder / "bad.h5", bad, {}), "holds NaN or Inf");
  EXPECT_FALSE(std::filesystem::exists(folder / "bad.h5"));
}

TEST(SpreadChord, IsRoundedAndExportedAsOnOneProcess) {
  const Folder folder;
  const auto [here, there] = chains(uneven_links(30));
  const Matrix X = matapprox::test::random_matrix(30, 2);
  EXPECT_SAME_BITS(FactorProduct(round_factors(there.factors(), Precision::kFloat)).apply(X),
                   FactorProduct(round_factors(here.factors(), Precision::kFloat)).apply(X));
  EXPECT_SAME_BITS(FactorProduct(host_factors(there.factors())).apply(X), here.apply(X));
  export_approximation(folder / "here.npz", approximation_of(here));
  export_approximation(folder / "there.npz", approximation_of(there));
  EXPECT_TRUE(bytes_of(folder / "there.npz") == bytes_of(folder / "here.npz"));
  EXPECT_EQ(exported_files("x.mtx", approximation_of(there)),
            exported_files("x.mtx", approximation_of(here)));
  EXPECT_SAME_BITS(packed(approximation_of(there)).apply(X),
                   packed(approximation_of(here)).apply(X));
}

/// A fit to a grid on one process and on all.
struct Fits {
  explicit Fits(const ChordOptions& options)
      : A(std::make_shared<const SparseOperator>(matapprox::test::grid_laplacian(8))),
        spread(test::leader(), A),
        here(chord(*A, options)),
        there(chord(spread, options)) {}

  std::shared_ptr<const SparseOperator> A;
  SpreadOperator spread;
  Approximation here;
  Approximation there;
};

bool is_placed(const Approximation& result) {
  return std::ranges::any_of(result.factors(), [](const Factor& factor) {
    return std::holds_alternative<PlacedChord>(*factor.value);
  });
}

TEST(SpreadChord, AFitLeavesItsValuesWhereTheyAre) {
  for (const bool symmetrize : {false, true}) {
    const Fits fits({.symmetrize = symmetrize, .adam_steps = 40, .columns_per_step = 8});
    EXPECT_EQ(is_placed(fits.there), test::processes() > 1);
    EXPECT_EQ(fits.there.summary.message, fits.here.summary.message);
    const Matrix X = matapprox::test::random_matrix(64, 3);
    EXPECT_SAME_BITS(fits.there.apply(X), fits.here.apply(X));
    MatrixFacts facts;
    facts.frobenius_norm = 20;
    const MeasureOptions options{.effort = MeasureEffort::kQuick};
    const Measurement here = measure(*fits.A, fits.here, facts, options);
    const Measurement there = measure(fits.spread, fits.there, facts, options);
    EXPECT_EQ(there.error_frobenius, here.error_frobenius);
    EXPECT_EQ(there.spectral_error_lower, here.spectral_error_lower);
    EXPECT_GT(there.apply_seconds_64, 0);
  }
}

TEST(SpreadChord, AFitInAnotherOrderToo) {
  const Fits fits({.order = ChordOrder::kRcm, .adam_steps = 20, .columns_per_step = 8});
  EXPECT_EQ(is_placed(fits.there), test::processes() > 1);
  ASSERT_EQ(fits.there.factors().size(), 3U);
  const Matrix X = matapprox::test::random_matrix(64, 3);
  EXPECT_SAME_BITS(fits.there.apply(X), fits.here.apply(X));
}

TEST(SpreadChord, AFitStartsFromAnother) {
  const Fits fits({.adam_steps = 20, .columns_per_step = 8});
  const auto again = [&](const Approximation& found) {
    const ChordOptions options{.adam_steps = 10, .columns_per_step = 8};
    return chord(fits.spread, warm_started(options, found, "it")).apply(Matrix::Identity(64, 64));
  };
  EXPECT_SAME_BITS(again(fits.there), again(fits.here));
}

}  // namespace
}  // namespace matapprox::mpi
