#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <limits>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"
#include "support/saved_files.hpp"

namespace matapprox {
namespace {

/// A sketch with some rows missing.
StreamingSketch part_sketch(Index rows, const SketchOptions& options = {.rank = 2, .seed = 7}) {
  const Matrix A = test::random_matrix(40, 12);
  StreamingSketch sketch(rows, 12, options);
  sketch.update(0, A.topRows(9));
  sketch.update(20, A.middleRows(20, 6));
  return sketch;
}

bool same_sketch(const StreamingSketch& one, const StreamingSketch& other) {
  const SketchState& a = one.state();
  const SketchState& b = other.state();
  const auto same_rows = [](const RowRange& x, const RowRange& y) {
    return x.first == y.first && x.count == y.count;
  };
  const Index rows = std::min(a.range_transposed.cols(), b.range_transposed.cols());
  return a.rows == b.rows && a.cols == b.cols && a.general == b.general &&
         a.options.rank == b.options.rank && a.options.range_size == b.options.range_size &&
         a.options.seed == b.options.seed && a.frobenius_norm == b.frobenius_norm &&
         std::equal(a.seen.begin(), a.seen.end(), b.seen.begin(), b.seen.end(), same_rows) &&
         test::same_bits(a.row_sums, b.row_sums) && test::same_bits(a.core, b.core) &&
         test::same_bits(a.range_transposed.leftCols(rows), b.range_transposed.leftCols(rows));
}

TEST(SketchFile, ComesBackToTheBitAndResumes) {
  const std::string path = test::temporary_dir() + "/sketch.h5";
  const Matrix A = test::random_matrix(40, 12);
  for (const Index rows : {Index{40}, Index{0}}) {
    for (const Index samples : {Index{10}, Index{0}}) {
      StreamingSketch sketch = part_sketch(rows, {.rank = 2, .error_samples = samples});
      save_sketch(path, sketch, {"parts/", {{"a.npy", 9}, {"b c.csv", 4}}, 1.5});
      SavedSketch back = load_sketch(path);
      EXPECT_TRUE(same_sketch(back.sketch, sketch));
      EXPECT_EQ(back.position.source, "parts/");
      ASSERT_EQ(back.position.parts.size(), 2U);
      EXPECT_EQ(back.position.parts[1].name, "b c.csv");
      EXPECT_EQ(back.position.parts[1].rows, 4);
      EXPECT_EQ(back.position.seconds, 1.5);
      for (StreamingSketch* one : {&sketch, &back.sketch}) {
        one->update(9, A.middleRows(9, 11));
        one->update(26, A.bottomRows(14));
      }
      EXPECT_TRUE(same_sketch(back.sketch, sketch));
    }
  }
  StreamingSketch linear(40, 12, {.rank = 2});
  linear.linear_update(1, 2, 3, A.topRows(2));
  save_sketch(path, linear, {});
  EXPECT_TRUE(load_sketch(path).sketch.state().general);
  save_sketch(path, StreamingSketch(0, 12, {.rank = 2}), {});
  EXPECT_EQ(load_sketch(path).sketch.rows_seen(), 0);
}

TEST(SketchFile, RefusesOtherFiles) {
  const std::string folder = test::temporary_dir();
  EXPECT_REFUSED(FileError, load_sketch(folder + "/none.h5"), "none.h5");
  test::write_file(folder + "/text.h5", "no HDF5");
  EXPECT_REFUSED(FileError, load_sketch(folder + "/text.h5"), "text.h5");
  const Approximation B({make_factor("A", test::random_matrix(3, 3))}, {});
  save(folder + "/other.h5", B, {});
  EXPECT_REFUSED(FileError, load_sketch(folder + "/other.h5"), "not a saved sketch");
  save_sketch(folder + "/new.h5", part_sketch(40), {});
  const hid_t file = H5Fopen((folder + "/new.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t version = H5Aopen(file, "format_version", H5P_DEFAULT);
  const std::int64_t newer = 2;
  EXPECT_GE(H5Awrite(version, H5T_NATIVE_INT64, &newer), 0);
  H5Aclose(version);
  H5Fclose(file);
  EXPECT_REFUSED(FileError, load_sketch(folder + "/new.h5"), "format version 2 is newer than 1");
  EXPECT_REFUSED(FileError, load_approximation(folder + "/new.h5"), "new.h5");
  EXPECT_REFUSED(InvalidArgument,
                 save_sketch(folder + "/n.h5", part_sketch(40), {"", {{"a\nb", 1}}, 0}),
                 "line break");
}

TEST(SketchFile, NumbersThatAreNotFiniteAreDamage) {
  const std::string path = test::temporary_dir() + "/sketch.h5";
  for (const char* name : {"X", "Y", "Z", "W"}) {
    save_sketch(path, part_sketch(40), {});
    test::replace_first_number(path, name, 0.5);
    EXPECT_NO_THROW(load_sketch(path)) << name;
    for (const double value : {std::nan(""), -std::numeric_limits<double>::infinity()}) {
      test::replace_first_number(path, name, value);
      EXPECT_REFUSED(FileError, load_sketch(path), std::string(name) + " holds NaN or Inf");
    }
  }
}

// A damaged file is refused, or loads unchanged because the damage hit padding.
TEST(SketchFile, DamageIsFound) {
  const std::string path = test::temporary_dir() + "/sketch.h5";
  const StreamingSketch sketch = part_sketch(40);
  save_sketch(path, sketch, {"a.npy", {{"a.npy", 9}}, 1});
  const std::string whole = test::read_file(path);
  const auto is_refused = [&](const std::string& bytes) {
    test::write_file(path, bytes);
    try {
      EXPECT_TRUE(same_sketch(load_sketch(path).sketch, sketch));
      return false;
    } catch (const FileError& error) {
      EXPECT_EQ(std::string(error.what()).rfind(path, 0), 0U) << error.what();
    } catch (const NotAvailable&) {  // a size that was changed to exceed the memory
    }
    return true;
  };
  for (std::size_t k = 0; k < 20; ++k)
    EXPECT_TRUE(is_refused(whole.substr(0, whole.size() * k / 20))) << k;
  int refused = 0;
  for (Index trial = 0; trial < test::trials(300); ++trial) {
    std::string damaged = whole;
    const auto size = static_cast<Index>(whole.size());
    const Index place = random_index(3, RandomStream::kSampling, trial, 0, size);
    const Index flip = 1 + random_index(3, RandomStream::kSampling, trial, 1, 255);
    damaged[static_cast<std::size_t>(place)] ^= static_cast<char>(flip);
    refused += is_refused(damaged) ? 1 : 0;
  }
  EXPECT_GT(refused, test::trials(100));
}

}  // namespace
}  // namespace matapprox
