#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"
#include "support/saved_files.hpp"

// A damaged file causes a FileError, or loads with exactly the old content (the damage hit
// padding).
namespace matapprox {
namespace {

constexpr int kFlips = test::trials(200);

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

Index random_below(Index bound, Index trial) {
  return random_index(7, RandomStream::kSampling, trial, 0, bound);
}

enum class Verdict { kRefused, kUnchanged, kChanged };

Verdict judge(const std::string& path, const Approximation& expected) {
  try {
    const SavedApproximation back = load_approximation(path);
    const Matrix X = test::random_matrix(expected.cols(), 2);
    if (back.approximation.cols() != expected.cols()) return Verdict::kChanged;
    return test::same_bits(back.approximation.apply(X), expected.apply(X)) ? Verdict::kUnchanged
                                                                           : Verdict::kChanged;
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()).rfind(path, 0), 0U) << error.what();
    return Verdict::kRefused;
  } catch (const NotAvailable&) {  // a size that was changed to exceed the memory
    return Verdict::kRefused;
  }
}

class DamagedSaved : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { save(path_, example_.approximation, {}); }
  test::SavedExample example_ = test::saved_examples()[static_cast<std::size_t>(GetParam())];
  std::string path_ = test::temporary_dir() + "/a.h5";
};

TEST_P(DamagedSaved, CutShort) {
  const std::string whole = test::read_file(path_);
  for (Index k = 0; k < 20; ++k) {
    write_bytes(path_, whole.substr(0, whole.size() * static_cast<std::size_t>(k) / 20));
    EXPECT_EQ(judge(path_, example_.approximation), Verdict::kRefused) << k << " of 20 parts";
  }
  write_bytes(path_, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(judge(path_, example_.approximation), Verdict::kRefused);
}

TEST_P(DamagedSaved, FlippedBytes) {
  const std::string whole = test::read_file(path_);
  int refused = 0;
  for (Index trial = 0; trial < kFlips; ++trial) {
    std::string damaged = whole;
    const Index place = random_below(static_cast<Index>(whole.size()), 2 * trial);
    damaged[static_cast<std::size_t>(place)] ^=
        static_cast<char>(1 + random_below(255, 2 * trial + 1));
    write_bytes(path_, damaged);
    const Verdict verdict = judge(path_, example_.approximation);
    EXPECT_NE(verdict, Verdict::kChanged) << "byte " << place;
    refused += verdict == Verdict::kRefused ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
  RecordProperty("refused", refused);
}

INSTANTIATE_TEST_SUITE_P(SomeKinds, DamagedSaved, ::testing::Values(0, 2, 4, 6));

class DamagedDataset : public ::testing::Test {
 protected:
  void SetUp() override { write_hdf5_matrix(path_, "A", values_); }
  Matrix values_ = test::random_matrix(13, 9);
  std::string path_ = test::temporary_dir() + "/a.h5";
};

TEST_F(DamagedDataset, CutShortOrFlipped) {
  const std::string whole = test::read_file(path_);
  for (std::size_t k = 0; k < 20; ++k) {
    write_bytes(path_, whole.substr(0, whole.size() * k / 20));
    EXPECT_THROW(read_hdf5_matrix(path_), FileError) << k;
  }
  for (Index trial = 0; trial < kFlips; ++trial) {
    std::string damaged = whole;
    damaged[static_cast<std::size_t>(random_below(static_cast<Index>(whole.size()), trial))] ^=
        '\x55';
    write_bytes(path_, damaged);
    try {
      read_hdf5_matrix(path_);
    } catch (const FileError&) {
    } catch (const NotAvailable&) {
    }
  }
}

}  // namespace
}  // namespace matapprox
