#include "matapprox/io/load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/saved_files.hpp"

namespace matapprox {
namespace {

class Load : public ::testing::Test {
 protected:
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
  std::string write_text(const std::string& name, const std::string& text) const {
    std::ofstream(in_folder(name)) << text;
    return in_folder(name);
  }
  std::string folder_ = test::temporary_dir();
  Matrix A_ = test::random_matrix(6, 4);
};

TEST_F(Load, EveryDenseFormatGivesTheSameMatrix) {
  write_matrix_market(in_folder("a.mtx"), A_);
  write_mat(in_folder("a.mat"), {{"A", A_}});
  write_npy(in_folder("a.npy"), A_);
  write_npz(in_folder("a.npz"), std::vector<NpzArray>{{"A", A_}});
  write_csv(in_folder("a.csv"), A_);
  write_hdf5_matrix(in_folder("a.h5"), "A", A_);
  const auto expected = fingerprint(DenseOperator(A_));
  for (const char* name :
       {"a.mtx", "a.mat", "a.npy", "a.npz", "a.csv", "a.h5", "a.h5:/A", "a.h5:A"}) {
    const LoadedMatrix loaded = load(in_folder(name));
    EXPECT_SAME_BITS(test::dense_of(*loaded.matrix), A_);
    EXPECT_EQ(loaded.provenance.path, in_folder(name));
    EXPECT_EQ(loaded.provenance.kind, "matrix");
    EXPECT_EQ(loaded.provenance.rows, 6);
    EXPECT_EQ(loaded.provenance.cols, 4);
    EXPECT_TRUE(same_fingerprint(loaded.provenance.fingerprint, expected)) << name;
  }
}

TEST_F(Load, SparseStaysSparseAndZerosAreDropped) {
  const SparseMatrix S = test::random_sparse(8, 8, 2);
  write_matrix_market(in_folder("s.mtx"), S);
  const LoadedMatrix loaded = load(in_folder("s.mtx"));
  const auto* sparse = dynamic_cast<const SparseOperator*>(loaded.matrix.get());
  ASSERT_NE(sparse, nullptr);
  EXPECT_SAME_BITS(Matrix(sparse->values()), Matrix(S));
  SparseMatrix with_zero(3, 3);
  with_zero.insert(0, 1) = 0;
  with_zero.insert(2, 2) = 5;
  write_mat(in_folder("z.mat"), {{"Z", with_zero}});
  const auto stored = [&](bool keep) {
    const LoadedMatrix z = load(in_folder("z.mat"), {.keep_explicit_zeros = keep});
    return dynamic_cast<const SparseOperator&>(*z.matrix).values().nonZeros();
  };
  EXPECT_EQ(stored(false), 1);
  EXPECT_EQ(stored(true), 2);
}

TEST_F(Load, VariablesByName) {
  write_mat(in_folder("a.mat"), {{"A", A_}, {"B", Matrix(2 * A_)}});
  write_npz(in_folder("a.npz"), std::vector<NpzArray>{{"A", A_}, {"B", Matrix(2 * A_)}});
  for (const char* name : {"a.mat", "a.npz"}) {
    EXPECT_SAME_BITS(test::dense_of(*load(in_folder(name), {.variable = "B"}).matrix), 2 * A_);
    EXPECT_THROW(load(in_folder(name)), FileError);
  }
  write_csv(in_folder("a.csv"), A_);
  EXPECT_REFUSED(
      InvalidArgument, load(in_folder("a.csv"), {.variable = "B"}), "only .mat, .npz and .h5");
}

TEST_F(Load, Images) {
  Matrix image(5, 6);
  for (Index k = 0; k < image.size(); ++k) image.data()[k] = static_cast<double>(k * k % 256);
  write_png(in_folder("a.png"), image);
  EXPECT_SAME_BITS(test::dense_of(*load(in_folder("a.png")).matrix), image);
  EXPECT_SAME_BITS(test::dense_of(*load(in_folder("a.png"), {.kind = InputKind::kGradient}).matrix),
                   gradient_magnitude(image));
  EXPECT_SAME_BITS(
      test::dense_of(*load(in_folder("a.png"), {.kind = InputKind::kImageLaplacian}).matrix),
      clipped_laplacian(image));
  write_text("n.pgm", "P2 2 1 9\n1 9\n");
  EXPECT_EQ(load(in_folder("n.pgm")).notes,
            std::vector<std::string>{"gray values as stored, 0..9"});
  write_matrix_market(in_folder("s.mtx"), test::random_sparse(8, 8, 2));
  EXPECT_REFUSED(InvalidArgument,
                 load(in_folder("s.mtx"), {.kind = InputKind::kGradient}),
                 "a sparse matrix is not an image");
}

TEST_F(Load, GradientImagesOfThePaper) {
  const std::string folder = test::shared_matrices();
  if (folder.empty()) GTEST_SKIP() << "the paper's matrices are not here";
  for (const char* name : {"apple", "chess", "ship", "skyscraper"}) {
    const std::string image = folder + "/image/" + name + ".png";
    const std::string gradient = folder + "/gradient_image/" + name + ".png";
    const LoadedMatrix made = load(image, {.kind = InputKind::kImageLaplacian});
    EXPECT_SAME_BITS(test::dense_of(*made.matrix), read_image(gradient).values);
  }
}

TEST_F(Load, Graphs) {
  const std::string path = write_text("g.edges", "1 2\n2 3 2.5\n");
  Matrix adjacency = Matrix::Zero(3, 3);
  adjacency(0, 1) = adjacency(1, 0) = 1;
  adjacency(1, 2) = adjacency(2, 1) = 2.5;
  const SparseMatrix sparse = adjacency.sparseView();
  EXPECT_SAME_BITS(test::dense_of(*load(path).matrix), adjacency);
  EXPECT_SAME_BITS(test::dense_of(*load(path, {.kind = InputKind::kAdjacency}).matrix), adjacency);
  EXPECT_SAME_BITS(test::dense_of(*load(path, {.kind = InputKind::kLaplacian}).matrix),
                   Matrix(graph_laplacian(sparse)));
  EXPECT_SAME_BITS(test::dense_of(*load(path, {.kind = InputKind::kNormalizedLaplacian}).matrix),
                   Matrix(normalized_laplacian(sparse)));
  const std::string text = write_text("g.txt", "1 2\n2 3 2.5\n");
  EXPECT_SAME_BITS(test::dense_of(*load(text, {.kind = InputKind::kAdjacency}).matrix), adjacency);
  EXPECT_EQ(test::dense_of(*load(path, {.directed = true}).matrix)(1, 0), 0);
  EXPECT_REFUSED(InvalidArgument,
                 load(write_text("g.net", "*Vertices 2\n*Edges\n1 2\n"), {.directed = true}),
                 "directed applies to edge lists");
  write_matrix_market(in_folder("a.mtx"), A_);
  EXPECT_REFUSED(InvalidArgument,
                 load(in_folder("a.mtx"), {.kind = InputKind::kLaplacian}),
                 "the matrix is 6 x 4; an adjacency matrix");
}

TEST_F(Load, Kernels) {
  write_csv(in_folder("p.csv"), A_);
  const LoadedMatrix loaded = load(
      in_folder("p.csv"),
      {.kind = InputKind::kKernel, .kernel = "matern32", .bandwidth = 2, .skip_columns = "last,0"});
  const KernelOperator expected(A_.middleCols(1, 2), {KernelFunction::kMatern32, 2.0});
  EXPECT_SAME_BITS(test::dense_of(*loaded.matrix), test::dense_of(expected));
  EXPECT_EQ(loaded.notes, std::vector<std::string>{"columns left out: 0, 3"});
  EXPECT_EQ(loaded.provenance.kind, "kernel kernel=matern32 bandwidth=2 skip_columns=last,0");
  const LoadedMatrix by_rule = load(in_folder("p.csv"), {.kind = InputKind::kKernel});
  ASSERT_EQ(by_rule.notes.size(), 1U);
  EXPECT_NE(by_rule.notes[0].find("by the median rule"), std::string::npos);
}

TEST_F(Load, KernelRefusals) {
  write_csv(in_folder("p.csv"), A_);
  const auto refused = [&](const LoadOptions& options, const std::string& part) {
    EXPECT_REFUSED(InvalidArgument, load(in_folder("p.csv"), options), part);
  };
  refused({.kind = InputKind::kKernel, .kernel = "gausian"}, "did you mean 'gaussian'?");
  refused({.kind = InputKind::kKernel, .bandwidth = -1}, "bandwidth");
  refused({.bandwidth = 1}, "apply to kernel matrices, not to 'matrix'");
  refused({.skip_columns = "0"}, "skip_columns applies to");
  refused({.kind = InputKind::kKernel, .skip_columns = "4"},
          "'4' is not 'last' or a column in 0..3");
  refused({.kind = InputKind::kKernel, .skip_columns = "1x"}, "'1x' is not");
  refused({.kind = InputKind::kKernel, .skip_columns = "0,1,2,3"}, "leaves none of the 4 columns");
}

TEST_F(Load, CovarianceAndCorrelation) {
  write_csv(in_folder("x.csv"), A_);
  EXPECT_SAME_BITS(
      test::dense_of(*load(in_folder("x.csv"), {.kind = InputKind::kCovariance}).matrix),
      test::dense_of(CovarianceOperator(A_, false)));
  EXPECT_SAME_BITS(
      test::dense_of(*load(in_folder("x.csv"), {.kind = InputKind::kCorrelation}).matrix),
      test::dense_of(CovarianceOperator(A_, true)));
  EXPECT_THROW(load(write_text("one.csv", "1,2,3\n"), {.kind = InputKind::kCovariance}),
               InvalidArgument);
}

TEST_F(Load, SavedApproximation) {
  const test::SavedExample example = test::saved_examples().front();
  save(in_folder("a.h5"), example.approximation, {});
  const LoadedMatrix loaded = load(in_folder("a.h5"));
  EXPECT_NE(dynamic_cast<const Approximation*>(loaded.matrix.get()), nullptr);
  EXPECT_SAME_BITS(test::dense_of(*loaded.matrix), test::dense_of(example.approximation));
  EXPECT_REFUSED(
      InvalidArgument, load(in_folder("a.h5"), {.kind = InputKind::kLaplacian}), "used as it is");
}

TEST_F(Load, FileRefusals) {
  const auto refused = [&](const std::string& path, const std::string& part) {
    EXPECT_REFUSED(FileError, load(path), part);
  };
  refused(in_folder("missing.mtx"), "no such file");
  refused(folder_, "is a folder");
  refused(write_text("a.mxt", "x"), "unknown format '.mxt', did you mean '.mtx'?");
  refused(write_text("none", "x"), "unknown format ''");
  refused(write_text("a.npy.gz", "x"), ".gz is read for text formats only");
  refused(write_text("empty.mtx", ""), "empty.mtx");
  write_hdf5_matrix(in_folder("a.h5"), "A", A_);
  refused(in_folder("a.h5:/B"), "no dataset '/B'; it holds /A");
}

TEST(Fingerprint, TellsMatricesApart) {
  const Matrix A = test::random_matrix(40, 30);
  Matrix B = A;
  B(17, 3) += 1e-3;
  const auto a = fingerprint(DenseOperator(A));
  EXPECT_EQ(a.size(), 4U);
  EXPECT_TRUE(same_fingerprint(a, fingerprint(SparseOperator(A.sparseView()))));
  EXPECT_FALSE(same_fingerprint(a, fingerprint(DenseOperator(B))));
  EXPECT_FALSE(same_fingerprint(a, fingerprint(DenseOperator(A.transpose()))));
  EXPECT_FALSE(same_fingerprint(a, {}));
  EXPECT_TRUE(same_fingerprint({0, 0, 0, 0}, {0, 0, 0, 0}));
}

TEST(Fingerprint, OfFewEntriesIsThatOfTheDenseMatrix) {
  Matrix A = Matrix::Zero(3, 200);
  A(0, 0) = 2;
  A(0, 199) = -1;
  A(2, 77) = 0.5;
  const SparseOperator few(A.sparseView());
  EXPECT_TRUE(same_fingerprint(fingerprint(few), fingerprint(DenseOperator(A))));
  A(2, 77) = 0.75;
  EXPECT_FALSE(same_fingerprint(fingerprint(few), fingerprint(DenseOperator(A))));
}

TEST(Fingerprint, IsFiniteForTheLargestAndTheSmallestEntries) {
  for (const double size : {1.7e308, 1e-320, 1e-308}) {
    const Matrix A = Matrix(Vector::Constant(8, size).asDiagonal());
    const auto a = fingerprint(DenseOperator(A));
    for (const double number : a) EXPECT_TRUE(std::isfinite(number)) << size;
    EXPECT_TRUE(same_fingerprint(a, fingerprint(SparseOperator(A.sparseView(0, 0))))) << size;
    EXPECT_FALSE(same_fingerprint(a, fingerprint(DenseOperator(A * 0.5)))) << size;
  }
}

TEST_F(Load, SaysWhatHasNoEffect) {
  const auto notes_of = [&](const std::string& name, const LoadOptions& options) {
    std::string all;
    for (const std::string& note : load(in_folder(name), options).notes) all += note + "\n";
    return all;
  };
  write_csv(in_folder("a.csv"), A_);
  write_matrix_market(in_folder("dense.mtx"), A_);
  write_matrix_market(in_folder("sparse.mtx"), SparseMatrix(A_.sparseView()));
  LoadOptions zeros;
  zeros.keep_explicit_zeros = true;
  for (const char* name : {"a.csv", "dense.mtx"})
    EXPECT_NE(notes_of(name, zeros).find("keep_explicit_zeros has no effect"), std::string::npos);
  EXPECT_EQ(notes_of("sparse.mtx", zeros), "");
  zeros.kind = InputKind::kCovariance;
  EXPECT_NE(notes_of("sparse.mtx", zeros).find("'covariance'"), std::string::npos);

  write_text("header.csv", "x,y\n1,2\n");
  EXPECT_EQ(notes_of("header.csv", {}), "line 1 is treated as a header: 'x,y'\n");
}

TEST_F(Load, KernelOptionsAreThoseOfTheFunction) {
  write_csv(in_folder("a.csv"), A_);
  const auto refused = [&](const char* kernel, const auto& change) {
    LoadOptions options;
    options.kind = InputKind::kKernel;
    options.kernel = kernel;
    change(options);
    EXPECT_THROW(load(in_folder("a.csv"), options), InvalidArgument) << kernel;
  };
  refused("gaussian", [](LoadOptions& options) { options.degree = 2; });
  refused("matern32", [](LoadOptions& options) { options.offset = 2; });
  refused("polynomial", [](LoadOptions& options) { options.bandwidth = 2; });
  refused("linear", [](LoadOptions& options) { options.bandwidth = 2; });
  refused("cosine", [](LoadOptions& options) { options.degree = 2; });
  LoadOptions polynomial;
  polynomial.kind = InputKind::kKernel;
  polynomial.kernel = "polynomial";
  polynomial.degree = 2;
  EXPECT_EQ(load(in_folder("a.csv"), polynomial).matrix->rows(), 6);
}

}  // namespace
}  // namespace matapprox
