#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class FileFormat {
  kMatrixMarket,
  kMat,
  kNpy,
  kNpz,
  kDelimited,
  kHdf5,
  kImage,
  kPajek,
  kEdgeList,
};

/// The parts of a path given by the user.
struct FileName {
  std::string path;     ///< the file, "-" for standard input
  std::string dataset;  ///< part after the colon of file.h5:/dataset, else empty
};

/// Splits file.h5:/dataset (also .hdf5), unless a file with the whole name exists.
FileName split_file_name(const std::string& name);

/// Returns the format of the name's extension; a final .gz is ignored for text formats. Throws
/// FileError, suggesting the nearest extension, for any other one.
FileFormat format_of_name(const std::string& path);

/// Returns the format of bytes from standard input, judged by the first bytes; a table of numbers
/// if these are not conclusive. Throws FileError for formats that need a file (HDF5, MATLAB).
FileFormat format_of_bytes(std::string_view bytes);

/// Interpretation of the numbers in a file.
enum class InputKind {
  kMatrix,               ///< the matrix itself; images: gray values 0..255
  kGradient,             ///< image: gradient magnitude
  kImageLaplacian,       ///< image: 4-neighbor Laplacian clipped to 0..255, reflected borders
  kAdjacency,            ///< graph, weights as given (1 if none)
  kLaplacian,            ///< graph: D - A
  kNormalizedLaplacian,  ///< graph: I - D^-1/2 A D^-1/2
  kKernel,               ///< rows are points: kernel matrix
  kCovariance,           ///< rows are samples: covariance (n - 1)
  kCorrelation,          ///< rows are samples: correlation
  kInverse,              ///< sparse matrix: its inverse, by solves
};

template <>
struct EnumNames<InputKind> {
  static constexpr std::array<std::string_view, 10> values{"matrix",
                                                           "gradient",
                                                           "image_laplacian",
                                                           "adjacency",
                                                           "laplacian",
                                                           "normalized_laplacian",
                                                           "kernel",
                                                           "covariance",
                                                           "correlation",
                                                           "inverse"};
};

struct LoadOptions {
  InputKind kind = InputKind::kMatrix;
  std::string variable{};            ///< name of the array in a .mat, .npz or .h5 file
  std::string kernel = "gaussian";   ///< see operators/kernel.hpp
  double bandwidth = 0;              ///< kernel; 0: the median rule
  Index degree = 3;                  ///< polynomial kernel
  double offset = 1;                 ///< polynomial kernel
  bool directed = false;             ///< graph from an edge list: keep directions
  bool keep_explicit_zeros = false;  ///< sparse files: store entries that are given as 0
  bool allow_external = false;       ///< HDF5, .mat 7.3: read other files that the file refers to
  std::string skip_columns{};        ///< points and samples: columns to leave out ("0,5", "last")
  void visit(OptionVisitor& v);
};

/// Origin of a matrix.
struct Provenance {
  std::string path;
  std::string kind;  ///< InputKind and its options, as text
  Index rows = 0;
  Index cols = 0;
  /// y^T A x for fixed random x and y: distinguishes matrices, independent of the file format.
  std::vector<double> fingerprint;
};

struct LoadedMatrix {
  std::shared_ptr<const LinearOperator> matrix;
  std::vector<std::string> notes;  ///< decisions of the reader: "color turned to luminance", ...
  Provenance provenance;
};

/// Reads a matrix. The format follows from the name: .mtx .mtx.gz .mat .npy .npz .csv .tsv .txt
/// (.gz) .h5 .hdf5 (file.h5:/dataset) .png .jpg .jpeg .pgm .net .edges, a saved approximation
/// (.h5), or "-" for standard input (by its first bytes). Throws FileError naming file, line and
/// value; InvalidArgument for options that do not fit the file; NotAvailable, naming the size, if
/// the matrix needs more memory than the machine has.
LoadedMatrix load(const std::string& path, const LoadOptions& options = {});

/// Returns four numbers y_k^T A x_k for seeded random x_k and y_k, from one product with four
/// columns. If that would take more than 5e8 multiplications per column (kernel matrices, files
/// larger than memory), y_k is a random unit vector, so that four rows of A suffice.
std::vector<double> fingerprint(const LinearOperator& A);
/// True if the fingerprints agree to 1e-9 relative.
bool same_fingerprint(const std::vector<double>& a, const std::vector<double>& b);

/// Throws InvalidArgument if the option of that name has no effect with options.kind and, for
/// kernel matrices, with options.kernel.
void check_effect(const std::string& path, const LoadOptions& options, std::string_view name);

/// Writes the factors for other programs; the format follows from the name (docs/file-format.md,
/// "Exports"):
///   .mat  cell array `faust_factors`, each factor a dense or sparse matrix, as FAuST reads it
///   .npz  arrays per factor, sparse ones as their row pointers, column indices and values
///   .mtx  one MatrixMarket file per factor: out.mtx becomes out_1.mtx, out_2.mtx, ...
/// A Chord chain becomes one sparse matrix per factor; a random projection is written as its k x n
/// entries. A symmetrized product (Z + Z^T)/2 is written as [F_1/2  G_1^T/2] ... so that the plain
/// product of the written factors is the approximation. Returns the names of the written files;
/// each is written to a temporary file and renamed. Throws FileError, InvalidArgument for another
/// extension, NotAvailable if memory is short.
std::vector<std::string> export_approximation(const std::string& path,
                                              const Approximation& approximation);

/// Returns the names of the files that export_approximation would write, without writing them.
/// Throws InvalidArgument for another extension.
std::vector<std::string> exported_files(const std::string& path,
                                        const Approximation& approximation);

}  // namespace matapprox
