#include "support/saved_files.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "matapprox/core/random.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/methods/wavelet.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {

void write_dataset(const std::string& path,
                   const std::string& name,
                   const Matrix& values,
                   const DatasetLayout& layout) {
  const std::array<hsize_t, 2> shape{static_cast<hsize_t>(values.rows()),
                                     static_cast<hsize_t>(values.cols())};
  const std::array<hsize_t, 2> chunk{static_cast<hsize_t>(layout.chunk_rows),
                                     static_cast<hsize_t>(layout.chunk_cols)};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, shape.data(), nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  if (layout.chunk_rows > 0) H5Pset_chunk(properties, 2, chunk.data());
  if (layout.compressed) H5Pset_deflate(properties, 4);
  const hid_t dataset =
      H5Dcreate2(file, name.c_str(), layout.type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
  const bool written =
      dataset >= 0 &&
      H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0;
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  const bool closed = H5Fclose(file) >= 0;
  if (!written || !closed) throw std::runtime_error("cannot write " + path);
}

void replace_first_number(const std::string& path, const std::string& name, double value) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  const bool read =
      H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  if (read) values.at(0) = value;
  const bool written =
      H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  if (H5Aexists(dataset, "crc32") > 0) H5Adelete(dataset, "crc32");
  H5Sclose(space);
  H5Dclose(dataset);
  const bool closed = H5Fclose(file) >= 0;
  if (!read || !written || !closed) throw std::runtime_error("cannot change " + name);
}

namespace {

ChordFactors chain(Index n) {
  ChordFactors factors;
  factors.pattern.order = n;
  factors.pattern.offsets = {{0, 1, 2}, {0, 5}, {3, 0, 1, 7}};
  for (Index k = 0; k < factors.pattern.stored_numbers(); ++k) {
    factors.values.push_back(random_normal(9, RandomStream::kGenerator, k, 0));
  }
  return factors;
}

}  // namespace

std::vector<SavedExample> saved_examples() {
  const Matrix U = random_matrix(37, 5, 1);
  const Matrix V = random_matrix(29, 5, 2);
  const Vector sigma = random_matrix(5, 1, 3).col(0);
  const Factor C = make_factor("C", U);
  const SparseMatrix S = random_sparse(37, 29, 4, 4);
  std::vector<SavedExample> examples;
  examples.push_back(
      {"Svd",
       Approximation({make_factor("U", U), make_factor("sigma", sigma), make_factor("V", V, true)},
                     {})});
  examples.push_back(
      {"Nystrom",
       Approximation({C, make_factor("W", random_matrix(5, 5, 7)), {"C", C.value, true}}, {})});
  examples.push_back({"Sparse", Approximation({make_factor("S", S)}, {})});
  examples.push_back(
      {"SparseWithEmptyRows", Approximation({make_factor("S", SparseMatrix(6, 3))}, {})});
  examples.push_back({"Chord", Approximation({make_factor("W", chain(11))}, {})});
  examples.push_back({"ChordSymmetrized", Approximation({make_factor("W", chain(16))}, {}, true)});
  const Factor P = make_factor("P", Permutation({3, 0, 10, 1, 9, 2, 4, 8, 7, 5, 6}));
  const Factor Q = make_factor("Q", Permutation({10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  examples.push_back(
      {"Permuted", Approximation({{"P", P.value, true}, make_factor("W", chain(11)), Q}, {})});
  examples.push_back(
      {"PermutedSymmetrized",
       Approximation({{"P", P.value, true}, make_factor("W", chain(11)), P}, {}, true)});
  for (const auto kind : {ProjectionKind::kGaussian,
                          ProjectionKind::kRademacher,
                          ProjectionKind::kSparse,
                          ProjectionKind::kSrht}) {
    examples.push_back(
        {"Projection_" + std::string(enum_name(kind)),
         Approximation(
             {make_factor("B", U), make_factor("R", RandomProjection(kind, ~0ULL, 5, 23))}, {})});
  }
  examples.push_back(
      {"Packed",
       Approximation(
           {make_factor("U", PackedMatrix::rounded(U, std::vector<std::uint8_t>{4, 8, 0, 16, 64})),
            make_factor(
                "V", PackedMatrix::rounded(V, std::vector<std::uint8_t>{3, 4, 5, 1, 32}), true)},
           {})});
  examples.push_back(
      {"Blocks",
       hierarchical(DenseOperator(random_matrix(37, 29, 8)), {.frobenius_tolerance = 0.1})});
  examples.push_back({"BlocksSymmetric",
                      hierarchical(DenseOperator(Matrix(grid_laplacian(7))),
                                   {.frobenius_tolerance = 0.01, .order = BlockOrder::kSpectral})});
  examples.push_back({"Float",
                      Approximation(round_factors({make_factor("U", U), make_factor("V", V, true)},
                                                  Precision::kFloat),
                                    {},
                                    false,
                                    Precision::kFloat)});
  const ChordPattern alternating = chord_alternating_pattern(29);
  const Matrix links = random_matrix(alternating.stored_numbers(), 1, 9);
  const ChordFactors chain{alternating, {links.data(), links.data() + links.size()}};
  examples.push_back(
      {"PackedChord", Approximation({make_factor("W", PackedChord::rounded(chain, 8))}, {})});
  SparseMatrix sparse = random_matrix(31, 23, 10).sparseView(1.0, 0.9);
  examples.push_back(
      {"PackedSparse", Approximation({make_factor("A", PackedSparse::packed(sparse))}, {})});
  examples.push_back(
      {"PackedSparseSymmetric",
       Approximation({make_factor("A", PackedSparse::packed(grid_laplacian(6)))}, {})});
  const PackedSparse doubles = PackedSparse::packed(sparse);
  PackedSparse::Content in_units = doubles.content();
  in_units.data.assign(doubles.data().begin(), doubles.data().end());
  in_units.unit = 0x1p-40;
  examples.push_back({"PackedSparseInUnits",
                      Approximation({make_factor("A", PackedSparse(std::move(in_units)))}, {})});
  const Vector column = random_matrix(37, 1, 11).col(0);
  examples.push_back({"Circulant", Approximation({make_factor("A", Circulant(column))}, {})});
  const Matrix few = (3 * random_matrix(19, 23, 13)).array().round().matrix();
  examples.push_back(
      {"Dictionary", Approximation({make_factor("A", *DictionaryMatrix::of(few))}, {})});
  const Matrix ramp = Matrix::Ones(29, 1) * Vector::LinSpaced(31, 0, 60).transpose() +
                      (2 * random_matrix(29, 31, 13)).array().round().matrix();
  examples.push_back(
      {"DictionaryCoded", Approximation({make_factor("A", *DictionaryMatrix::of(ramp))}, {})});
  if (const auto compressed = CompressedMatrix::of(ramp)) {
    examples.push_back({"Compressed", Approximation({make_factor("A", *compressed)}, {})});
    const Matrix symmetric = random_matrix(30, 4, 14) * random_matrix(30, 4, 14).transpose();
    examples.push_back({"CompressedSymmetric",
                        Approximation({make_factor("A", *CompressedMatrix::of(symmetric))}, {})});
  }
  const auto terms = [](Index rows, int seed) {
    return PackedMatrix::rounded(random_matrix(rows, 2, seed), std::vector<std::uint8_t>{64, 6});
  };
  examples.push_back(
      {"Kronecker",
       Approximation(
           {make_factor("K", KroneckerSum({{3, 2, 4, 5}, false, terms(6, 14), terms(20, 15), {}}))},
           {})});
  examples.push_back(
      {"KroneckerOfEqualSymmetricTerms",
       Approximation(
           {make_factor(
               "K",
               KroneckerSum(
                   {{4, 4, 4, 4}, true, terms(10, 14), {}, random_matrix(2, 1, 16).col(0)}))},
           {})});
  examples.push_back(
      {"KroneckerSparse",
       Approximation({make_factor("X", KroneckerSparse({3, 2, 2, 4}, terms(24, 17)))}, {})});
  const Matrix smooth = Matrix::NullaryExpr(45, 38, [](Index i, Index j) {
    return std::cos(0.02 * static_cast<double>(i * j)) + (i == j ? 3 : 0);
  });
  examples.push_back({"Wavelet", wavelet(DenseOperator(smooth), {.frobenius_tolerance = 0.03})});
  const Matrix square = smooth.topRows(38) + smooth.topRows(38).transpose();
  examples.push_back(
      {"WaveletSymmetric", wavelet(DenseOperator(square), {.frobenius_tolerance = 0.03})});
  for (const ToeplitzForm form :
       {ToeplitzForm::kToeplitz, ToeplitzForm::kSymmetric, ToeplitzForm::kHankel}) {
    const std::array levels{ToeplitzLevel{3, 2, form},
                            ToeplitzLevel{5, 4, ToeplitzForm::kToeplitz}};
    const Vector symbol = random_matrix(levels[0].values() * levels[1].values(), 1, 12).col(0);
    examples.push_back({"Toeplitz_" + std::string(enum_name(form)),
                        Approximation({make_factor("A", ToeplitzMatrix({levels, symbol}))}, {})});
  }
  for (const TransformKind kind :
       {TransformKind::kCosine, TransformKind::kSine, TransformKind::kFourier}) {
    for (const Index order : {37, 24}) {
      examples.push_back({fmt::format("Transform_{}_{}", enum_name(kind), order),
                          Approximation({make_factor("T", TransformMatrix(kind, order))}, {})});
    }
  }
  examples.push_back(
      {"TransformOfCoefficients",
       Approximation({make_factor("L", TransformMatrix(TransformKind::kHadamard, 16)),
                      make_factor("C", random_matrix(16, 30, 18)),
                      make_factor("R", TransformMatrix(TransformKind::kCosine, 30), true)},
                     {})});
  const Matrix sum = Matrix::NullaryExpr(40, 40, [](Index i, Index j) {
    return std::cos(1.7 * static_cast<double>((i - j) * (i - j))) + 0.1 * static_cast<double>(i);
  });
  HierarchicalOptions of_rest;
  of_rest.toeplitz = true;
  of_rest.frobenius_tolerance = 1e-3;
  examples.push_back({"SumOfToeplitzAndBlocks", hierarchical(DenseOperator(sum), of_rest)});
  examples.push_back({"CirculantTimesFloats",
                      Approximation(round_factors({make_factor("A", Circulant(column), true), C},
                                                  Precision::kFloat16),
                                    {},
                                    false,
                                    Precision::kFloat16)});
  for (const Precision precision : {Precision::kFloat16, Precision::kBfloat16}) {
    examples.push_back(
        {std::string(enum_name(precision)),
         Approximation(round_factors({make_factor("U", U), make_factor("V", V, true)}, precision),
                       {},
                       false,
                       precision)});
  }
  examples.push_back(
      {"OneByOne", Approximation({make_factor("A", Matrix(Matrix::Ones(1, 1)))}, {})});
  return examples;
}

}  // namespace matapprox::test
