#include "matapprox/io/saved_approximation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/registry.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/saved_files.hpp"

namespace matapprox {
namespace {

using test::saved_examples;
using test::SavedExample;

std::string file_in_new_folder(const std::string& name) {
  return (std::filesystem::path(test::temporary_dir()) / name).string();
}

SavedRecord full_record() {
  SavedRecord record;
  record.provenance = {
      "matrices/mesh.mtx", "laplacian directed=true", 37, 37, {1.5, -2e-300, 0, 4}};
  record.error_frobenius = 0.125;
  record.relative_error = 1e-17;
  record.error_is_exact = false;
  record.interrupted = true;
  record.fit_seconds = 12.5;
  record.resume.arrays = {{"zeta", Vector::LinSpaced(5, 0, 1)}, {"alpha", Vector(0)}};
  record.resume.arrays[0].second(2) = std::numeric_limits<double>::infinity();
  record.resume.counters = {{"step", -3}, {"iteration", Index{1} << 60}};
  return record;
}

class SavedExamples : public ::testing::TestWithParam<int> {
 protected:
  SavedExample example_ = saved_examples()[static_cast<std::size_t>(GetParam())];
};

TEST_P(SavedExamples, ProductsKeepTheirBits) {
  const std::string path = file_in_new_folder("a.h5");
  const Approximation& A = example_.approximation;
  save(path, A, {});
  const SavedApproximation back = load_approximation(path);
  const Approximation& B = back.approximation;
  ASSERT_EQ(B.rows(), A.rows());
  ASSERT_EQ(B.cols(), A.cols());
  const Matrix X = test::random_matrix(A.cols(), 3, 5);
  const Matrix Y = test::random_matrix(A.rows(), 3, 6);
  EXPECT_SAME_BITS(B.apply(X), A.apply(X));
  EXPECT_SAME_BITS(B.apply_transpose(Y), A.apply_transpose(Y));
  EXPECT_EQ(B.symmetrized(), A.symmetrized());
  EXPECT_EQ(B.precision(), A.precision());
  EXPECT_EQ(B.storage().numbers, A.storage().numbers);
  EXPECT_EQ(B.storage().bytes, A.storage().bytes);
}

TEST_P(SavedExamples, FactorsKeepNamesAndSharing) {
  const std::string path = file_in_new_folder("a.h5");
  const auto& before = example_.approximation.factors();
  save(path, example_.approximation, {});
  const SavedApproximation back = load_approximation(path);
  const auto& after = back.approximation.factors();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].name, before[i].name);
    EXPECT_EQ(after[i].transposed, before[i].transposed);
    EXPECT_EQ(after[i].value->index(), before[i].value->index());
    for (std::size_t j = 0; j < before.size(); ++j) {
      EXPECT_EQ(after[i].value == after[j].value, before[i].value == before[j].value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         SavedExamples,
                         ::testing::Range(0, static_cast<int>(saved_examples().size())),
                         [](const auto& instance) {
                           return saved_examples()[static_cast<std::size_t>(instance.param)].name;
                         });

TEST(SavedApproximation, KeepsSummaryAndRecord) {
  const std::string path = file_in_new_folder("a.h5");
  Approximation A = saved_examples().front().approximation;
  A.summary = {"chord",
               "sparse",
               7,
               Termination::kMaxSeconds,
               "went short of \xc3\xa9nergie",
               42,
               0xfedcba9876543210U,
               {{1, 0.5, 0.25}, {2, 1.5, 0.125}},
               {}};
  A.summary.options = {{"zeta", "1;2", "", {}},
                       {"alpha", "", "", {}},
                       {"landmarks", std::string(200000, '7'), "", {}}};
  const SavedRecord record = full_record();
  save(path, A, record);
  const SavedApproximation back = load_approximation(path);
  const Summary& s = back.approximation.summary;
  EXPECT_EQ(s.method, A.summary.method);
  EXPECT_EQ(s.form, A.summary.form);
  EXPECT_EQ(s.rank, 7);
  EXPECT_EQ(s.termination, Termination::kMaxSeconds);
  EXPECT_EQ(s.message, A.summary.message);
  EXPECT_EQ(s.iterations, 42);
  EXPECT_EQ(s.seed, 0xfedcba9876543210U);
  ASSERT_EQ(s.history.size(), 2U);
  EXPECT_EQ(s.history[1].iteration, 2);
  EXPECT_EQ(s.history[1].seconds, 1.5);
  EXPECT_EQ(s.history[1].relative_error, 0.125);
  ASSERT_EQ(s.options.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(s.options[k].name, A.summary.options[k].name);
    EXPECT_EQ(s.options[k].value, A.summary.options[k].value);
  }
  EXPECT_EQ(back.record.provenance.path, record.provenance.path);
  EXPECT_EQ(back.record.provenance.kind, record.provenance.kind);
  EXPECT_EQ(back.record.provenance.rows, 37);
  EXPECT_EQ(back.record.provenance.cols, 37);
  EXPECT_EQ(back.record.provenance.fingerprint, record.provenance.fingerprint);
  EXPECT_EQ(back.record.error_frobenius, record.error_frobenius);
  EXPECT_EQ(back.record.relative_error, record.relative_error);
  EXPECT_FALSE(back.record.error_is_exact);
  EXPECT_TRUE(back.record.interrupted);
  EXPECT_EQ(back.record.fit_seconds, 12.5);
  ASSERT_EQ(back.record.resume.arrays.size(), 2U);
  EXPECT_EQ(back.record.resume.arrays[0].first, "zeta");
  EXPECT_SAME_BITS(back.record.resume.arrays[0].second, record.resume.arrays[0].second);
  EXPECT_EQ(back.record.resume.arrays[1].second.size(), 0);
  EXPECT_EQ(back.record.resume.counters, record.resume.counters);
}

/// A state with an array so long that it stays in the file, and the numbers of the array.
std::pair<SavedRecord, Vector> long_state() {
  const Index size = Index{7} * 149797;  // more than 2^20
  const Vector numbers = Eigen::Map<const Vector>(test::random_matrix(size, 1, 9).data(), size);
  SavedRecord record = full_record();
  record.resume.arrays.emplace_back("long", numbers);
  return {record, numbers};
}

TEST(SavedState, ALongArrayStaysInTheFile) {
  const std::string path = file_in_new_folder("a.h5");
  const auto [record, numbers] = long_state();
  save(path, saved_examples().front().approximation, record);
  const SavedFit fit = read_saved_fit(path);
  EXPECT_EQ(fit.summary.method, saved_examples().front().approximation.summary.method);
  EXPECT_EQ(fit.record.fit_seconds, record.fit_seconds);
  const ResumeState& state = fit.record.resume;
  EXPECT_EQ(state.arrays.size(), 2U);
  ASSERT_EQ(state.blocks.size(), 1U);
  EXPECT_EQ(state.array_size("long"), numbers.size());
  EXPECT_TRUE(state.has_array("long"));
  EXPECT_SAME_BITS(state.array("long"), numbers);
  EXPECT_SAME_BITS(state.with_own_numbers().arrays.back().second, numbers);
  // The ends of the columns differ from those of the pieces that are read.
  MultiVector columns(host_space(), numbers.size() / 7, 7);
  ASSERT_EQ(columns.size(), numbers.size());
  state.copy_array("long", columns.columns());
  EXPECT_SAME_BITS(to_host(columns.columns()).reshaped(), numbers);
  EXPECT_REFUSED(
      InvalidArgument, state.copy_array("long", columns.columns(0, 6)), "not 149797 x 6");
}

/// A resumed run replaces the file from which it resumed.
TEST(SavedState, IsSavedAgainFromAFileThatIsNoMore) {
  const std::string path = file_in_new_folder("a.h5");
  const auto [record, numbers] = long_state();
  const Approximation A = saved_examples().front().approximation;
  save(path, A, record);
  const SavedFit fit = read_saved_fit(path);
  save(path, A, fit.record);
  EXPECT_SAME_BITS(fit.record.resume.array("long"), numbers);
  EXPECT_SAME_BITS(read_saved_fit(path).record.resume.array("long"), numbers);
}

/// An array without stored numbers takes no bytes, whatever length it claims.
TEST(SavedState, AnArrayOfMoreNumbersThanTheFileHasIsRefused) {
  const std::string path = file_in_new_folder("a.h5");
  save(path, saved_examples().front().approximation, full_record());
  {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const hsize_t count = hsize_t{1} << 60;
    const hsize_t chunk = 1024;
    const hdf5::Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const hdf5::Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(layout.id(), 1, &chunk);
    const hdf5::Handle dataset(H5Dcreate2(file.id(),
                                          "/resume/arrays/huge",
                                          H5T_IEEE_F64LE,
                                          space.id(),
                                          H5P_DEFAULT,
                                          layout.id(),
                                          H5P_DEFAULT),
                               H5Dclose);
    ASSERT_TRUE(dataset);
  }
  EXPECT_REFUSED(FileError, read_saved_fit(path), "dataset 'huge'");
}

TEST(SavedState, ADamagedLongArrayIsRefusedWhenItIsRead) {
  const std::string path = file_in_new_folder("a.h5");
  const auto [record, numbers] = long_state();
  save(path, saved_examples().front().approximation, record);
  std::string bytes = test::read_file(path);
  const std::string middle(reinterpret_cast<const char*>(&numbers(500000)), sizeof(double));
  const std::size_t at = bytes.find(middle);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
  const SavedFit fit = read_saved_fit(path);
  EXPECT_REFUSED(FileError, fit.record.resume.array("long"), "does not match its checksum");
}

TEST(SavedApproximation, UnknownErrorStaysUnknown) {
  const std::string path = file_in_new_folder("a.h5");
  save(path, saved_examples().front().approximation, {});
  const SavedApproximation back = load_approximation(path);
  EXPECT_FALSE(back.record.error_frobenius.has_value());
  EXPECT_FALSE(back.record.relative_error.has_value());
  EXPECT_TRUE(back.record.resume.empty());
  EXPECT_TRUE(back.approximation.summary.history.empty());
}

TEST(SavedApproximation, StoresSharedValuesOnce) {
  const Matrix C = test::random_matrix(300, 20);
  const Factor left = make_factor("C", C);
  const Approximation shared({left, {"C^T", left.value, true}}, {});
  const Approximation twice({left, make_factor("C^T", C, true)}, {});
  const std::string folder = test::temporary_dir();
  save(folder + "/shared.h5", shared, {});
  save(folder + "/twice.h5", twice, {});
  EXPECT_GE(std::filesystem::file_size(folder + "/twice.h5"),
            std::filesystem::file_size(folder + "/shared.h5") + std::uintmax_t{300} * 20 * 8);
}

TEST(SavedApproximation, FloatTakesHalfTheBytes) {
  const std::vector<Factor> factors{make_factor("U", test::random_matrix(300, 20))};
  const Approximation wide(factors, {});
  const Approximation narrow(
      round_factors(factors, Precision::kFloat), {}, false, Precision::kFloat);
  const std::string folder = test::temporary_dir();
  save(folder + "/wide.h5", wide, {});
  save(folder + "/narrow.h5", narrow, {});
  const auto saved = static_cast<double>(std::filesystem::file_size(folder + "/wide.h5")) -
                     static_cast<double>(std::filesystem::file_size(folder + "/narrow.h5"));
  EXPECT_NEAR(saved, 300 * 20 * 4, 64);
}

TEST(SavedApproximation, RefusesToSaveWhatWouldNotComeBack) {
  const std::string path = file_in_new_folder("a.h5");
  Matrix A = test::random_matrix(4, 4);
  EXPECT_REFUSED(
      InvalidArgument,
      (save(path, Approximation({make_factor("A", A)}, {}, false, Precision::kFloat), {})),
      "values that are not floats");
  A(1, 2) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(
      NumericalError, (save(path, Approximation({make_factor("A", A)}, {}), {})), "NaN or Inf");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SavedApproximation, RecognizesItsOwnFiles) {
  const std::string folder = test::temporary_dir();
  save(folder + "/a.h5", saved_examples().front().approximation, {});
  std::ofstream(folder + "/text.h5") << "not HDF5";
  EXPECT_TRUE(is_saved_approximation(folder + "/a.h5"));
  EXPECT_FALSE(is_saved_approximation(folder + "/text.h5"));
  EXPECT_FALSE(is_saved_approximation(folder + "/missing.h5"));
  EXPECT_FALSE(is_saved_model(folder + "/a.h5"));
  EXPECT_FALSE(is_saved_model(folder + "/text.h5"));
  EXPECT_FALSE(is_saved_model(folder + "/missing.h5"));
}

TEST(SavedApproximation, RefusesForeignMissingAndNewerFiles) {
  const std::string folder = test::temporary_dir();
  EXPECT_REFUSED(FileError, load_approximation(folder + "/missing.h5"), "no such file");
  EXPECT_REFUSED(FileError, load_approximation(folder), "not a regular file");
  std::ofstream(folder + "/empty.h5").flush();
  EXPECT_REFUSED(FileError, load_approximation(folder + "/empty.h5"), "empty");
  std::ofstream(folder + "/text.h5") << "not HDF5 at all";
  EXPECT_REFUSED(FileError, load_approximation(folder + "/text.h5"), "not an HDF5 file");
  {
    const hdf5::Handle file(
        H5Fcreate((folder + "/foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
        H5Fclose);
  }
  EXPECT_REFUSED(FileError, load_approximation(folder + "/foreign.h5"), "another program");
  const std::string newer = folder + "/newer.h5";
  save(newer, saved_examples().front().approximation, {});
  {
    const hdf5::Handle file(H5Fopen(newer.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const hdf5::Handle version(H5Aopen(file.id(), "format_version", H5P_DEFAULT), H5Aclose);
    const std::int64_t next = 4;
    ASSERT_GE(H5Awrite(version.id(), H5T_NATIVE_INT64, &next), 0);
  }
  EXPECT_REFUSED(FileError, load_approximation(newer), "format version 4 is newer than 3");
}

/// Replaces an array of the first value of a saved file, as another program might: without a
/// checksum.
void replace_array(const std::string& path,
                   const std::string& name,
                   const std::vector<std::int64_t>& values,
                   hid_t type,
                   hsize_t columns = 0) {
  const std::string place = "/values/1/" + name;
  const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  ASSERT_GE(H5Ldelete(file.id(), place.c_str(), H5P_DEFAULT), 0);
  const bool is_table = columns > 0;
  const hsize_t extents[2] = {values.size() / (is_table ? columns : 1), columns};
  const hdf5::Handle space(H5Screate_simple(is_table ? 2 : 1, extents, nullptr), H5Sclose);
  const hdf5::Handle dataset(
      H5Dcreate2(file.id(), place.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  ASSERT_GE(H5Dwrite(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            0);
}

/// Sets an attribute of a saved file, as another program might.
template <class T>
void set_attribute(
    const std::string& path, const char* group, const char* name, hid_t type, T value) {
  const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  const hdf5::Handle place(H5Gopen2(file.id(), group, H5P_DEFAULT), H5Gclose);
  if (H5Aexists(place.id(), name) > 0) {
    ASSERT_GE(H5Adelete(place.id(), name), 0);
  }
  const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const hdf5::Handle attribute(
      H5Acreate2(place.id(), name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  ASSERT_GE(H5Awrite(attribute.id(), type, &value), 0);
}

TEST(SavedApproximation, RefusesNumbersThatNoFitLeaves) {
  const std::string path = file_in_new_folder("a.h5");
  const auto refused = [&](auto value, const char* group, const char* name, hid_t type) {
    SavedRecord record;
    record.error_frobenius = 1;
    save(path, {{make_factor("A", test::random_matrix(4, 3, 1))}, {}}, record);
    EXPECT_NO_THROW(load_approximation(path));
    set_attribute(path, group, name, type, value);
    EXPECT_REFUSED(FileError, load_approximation(path), name);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* name : {"error_frobenius", "relative_error", "fit_seconds"}) {
    for (const double value : {-1.0, infinity, std::nan("")})
      refused(value, "/result", name, H5T_NATIVE_DOUBLE);
  }
  for (const std::int64_t value : {std::int64_t{-5}, std::int64_t{1} << 49}) {
    refused(value, "/provenance", "rows", H5T_NATIVE_INT64);
    refused(value, "/provenance", "cols", H5T_NATIVE_INT64);
    refused(value, "/summary", "rank", H5T_NATIVE_INT64);
    refused(value, "/summary", "iterations", H5T_NATIVE_INT64);
  }
  refused(std::int64_t{-1}, "/summary", "seed", H5T_NATIVE_INT64);
}

TEST(SavedApproximation, RefusesUnitsThatLeaveTheRangeOfDoubles) {
  const std::string path = file_in_new_folder("a.h5");
  const std::vector<std::uint8_t> widths{8, 8, 8};
  Matrix A = test::random_matrix(9, 3, 1).cwiseMin(1).cwiseMax(-1);
  A(4, 1) = 1.9;  // the largest entry, in units of 1
  save(path, {{make_factor("A", PackedMatrix::rounded(A, widths))}, {}}, {});
  set_attribute(path, "/values/1", "unit", H5T_NATIVE_DOUBLE, 1.7e308);
  EXPECT_REFUSED(FileError, load_approximation(path), "column 2 leaves the range of doubles");
  // Values near the end of the range are accepted.
  const Matrix large = test::random_matrix(9, 3, 1) * 1e307;
  save(path, {{make_factor("A", PackedMatrix::rounded(large, widths))}, {}}, {});
  EXPECT_NO_THROW(load_approximation(path));

  const NamedOptions tolerance{{"frobenius_tolerance", "0.1"}};
  const DenseOperator random(test::random_matrix(64, 64, 2));
  const RunResult fit = run(find_method("hierarchical"), random, tolerance);
  save(path, fit.approximation, {});
  EXPECT_NO_THROW(load_approximation(path));
  set_attribute(path, "/values/1", "unit", H5T_NATIVE_DOUBLE, 1e308);
  EXPECT_REFUSED(FileError, load_approximation(path), "leaves the range of doubles");
}

TEST(SavedApproximation, RefusesPackedValuesThatDoNotFitTogether) {
  const std::string path = file_in_new_folder("a.h5");
  const std::vector<std::uint8_t> widths{8, 3};
  const Matrix A = test::random_matrix(9, 2, 1);
  const auto refused = [&](const std::string& name,
                           const std::vector<std::int64_t>& values,
                           hid_t type,
                           const std::string& why) {
    save(path, {{make_factor("A", PackedMatrix::rounded(A, widths))}, {}}, {});
    EXPECT_NO_THROW(load_approximation(path));
    replace_array(path, name, values, type);
    EXPECT_REFUSED(FileError, load_approximation(path), why + ": the file is damaged");
  };
  refused("bits", {17, 3}, H5T_STD_U8LE, "values of 17 bits (allowed: 0 to 16, 32, 64)");
  refused("bits", {8, 33}, H5T_STD_U8LE, "values of 33 bits (allowed: 0 to 16, 32, 64)");
  refused("bits", {8}, H5T_STD_U8LE, "1 widths for 2 columns");
  refused(
      "data", std::vector<std::int64_t>(12), H5T_STD_U8LE, "the data end before the columns do");
  refused("data",
          std::vector<std::int64_t>(14),
          H5T_STD_U8LE,
          "14 bytes of data, but the widths require 13");
  refused("scales", {1}, H5T_IEEE_F32LE, "1 scales for 2 columns of 1 groups");
}

TEST(SavedApproximation, RefusesBlocksThatOverlapOrLeaveTheMatrix) {
  const std::string path = file_in_new_folder("a.h5");
  BlockMatrix::Content content;
  content.rows = content.cols = 8;
  content.leaves = {{0, 4, 0, 4, LeafKind::kDense, 0}, {4, 4, 4, 4, LeafKind::kDense, 0}};
  content.bits = {4, 4};
  content.scales = {0x3F80, 0x3F80};
  content.data.assign(16, 0x12);
  const auto refused = [&](const std::vector<std::int64_t>& second, const std::string& why) {
    save(path, {{make_factor("H", BlockMatrix(content))}, {}}, {});
    EXPECT_NO_THROW(load_approximation(path));
    std::vector<std::int64_t> leaves{0, 4, 0, 4, 1, 0};
    leaves.insert(leaves.end(), second.begin(), second.end());
    replace_array(path, "leaves", leaves, H5T_STD_U8LE, 6);
    EXPECT_REFUSED(FileError, load_approximation(path), why + ": the file is damaged");
  };
  refused({3, 4, 3, 4, 1, 0}, "two leaves overlap at row 3, column 3 (counted from 0)");
  refused({5, 4, 4, 4, 1, 0},
          "a leaf at row 5, column 4 (counted from 0) of 4 x 4 exceeds the matrix of 8 x 8");
  refused({4, 4, 5, 4, 1, 0},
          "a leaf at row 4, column 5 (counted from 0) of 4 x 4 exceeds the matrix of 8 x 8");
  refused({4, 4, 4, 4, 3, 0}, "a leaf of the unknown kind 3");
  refused({4, 4, 4, 3, 1, 0}, "blocks: more widths, scales or data than the leaves need");
}

TEST(SavedApproximation, RefusesAFolderThatDoesNotExist) {
  const std::string path = test::temporary_dir() + "/missing/a.h5";
  EXPECT_REFUSED(
      FileError, save(path, saved_examples().front().approximation, {}), "does not exist");
}

TEST(SavedApproximation, ReplacesAnOlderFileWhole) {
  const std::string folder = test::temporary_dir();
  const auto examples = saved_examples();
  save(folder + "/a.h5", examples[0].approximation, {});
  save(folder + "/a.h5", examples[1].approximation, {});
  EXPECT_EQ(load_approximation(folder + "/a.h5").approximation.rows(),
            examples[1].approximation.rows());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace matapprox
