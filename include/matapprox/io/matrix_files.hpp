#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A matrix as a file holds it: every entry, or the nonzero ones in compressed rows.
using FileMatrix = std::variant<Matrix, SparseMatrix>;

/// An image as a matrix: row 0 is the top line.
struct GrayImage {
  Matrix values;           ///< height x width
  double maximum = 255;    ///< value of white in the file
  bool was_color = false;  ///< values are the luminance 0.299 R + 0.587 G + 0.114 B (Rec. 601)
  bool had_alpha = false;  ///< transparency was ignored
};

/// Reads a PNG, JPEG or PGM (P2, P5) image; the format follows from the first bytes, not the name.
/// Values are as stored: 0..255 for 8 bits, 0..65535 for 16, 0..maxval for PGM. PNG samples of 1, 2
/// and 4 bits are widened to 0..255, palettes are looked up, color becomes luminance, transparency
/// is ignored. Cost: the file and 8 bytes per pixel. Throws FileError naming file and cause (also
/// where libpng or libjpeg would crash or hang), and NotAvailable if the image needs more memory
/// than there is.
GrayImage read_image(const std::string& path);

/// The same from bytes in memory; `name` begins the messages.
GrayImage parse_image(std::string_view bytes, const std::string& name);

/// True if the bytes begin like a PNG, JPEG or PGM file.
bool looks_like_image(std::string_view bytes);

/// Writes an 8-bit gray PNG, values rounded and clipped to 0..255, as a temporary file that is then
/// renamed. Throws FileError; InvalidArgument for an empty matrix or NaN.
void write_png(const std::string& path, const Matrix& values);

namespace images {

/// Red, green and blue of each of the 256 pixel values.
using PngPalette = std::array<std::array<unsigned char, 3>, 256>;

/// Returns the bytes of an 8-bit PNG: gray, or in the colors of `palette` unless it is null.
std::string encode_png(const std::vector<unsigned char>& pixels,
                       Index rows,
                       Index cols,
                       const std::string& name,
                       const PngPalette* palette = nullptr);

}  // namespace images

/// Reads a table of numbers, one matrix row per line. The separator is found from the first line
/// that is not blank: a tab, else a semicolon, else a comma, else blanks (any number of them). If
/// no cell of that line is a number, the line is skipped as a header and `notes` says so; its cells
/// may be quoted. A line with some numbers in it is an invalid row. Lines that start with '#' and
/// blank lines are skipped. Also accepted: .gz, "-" for standard input, Windows line ends, a byte
/// order mark.
///
/// Cost: one pass, 8 bytes of memory per number (at least 2 bytes in the file). Throws FileError
/// "name:line: what, value, legal range" for a row of another length, an empty cell, text where a
/// number should be, or no rows; NumericalError, with line and column, for NaN and Inf;
/// NotAvailable if memory does not suffice.
Matrix read_delimited(const std::string& path, std::vector<std::string>* notes = nullptr);
Matrix parse_delimited(std::string_view text,
                       const std::string& name,
                       std::vector<std::string>* notes = nullptr);

/// Writes comma-separated rows without a header, with the fewest digits that read back to the same
/// double. The file appears under its name only when complete. Throws FileError; InvalidArgument
/// for an empty matrix, NaN or Inf.
void write_csv(const std::string& path, const Matrix& A);

struct MatrixMarketOptions {
  /// Coordinate files: store entries that the file gives as 0. Otherwise an entry is stored exactly
  /// if its value, after summing duplicates, is not 0.
  bool keep_explicit_zeros = false;
};

/// Reads a MatrixMarket file (math.nist.gov/MatrixMarket/formats.html): `array` gives a Matrix,
/// `coordinate` a SparseMatrix with sorted columns. Fields real, double, integer, pattern (value
/// 1); symmetries general, symmetric, skew-symmetric, the latter two expanded; matrices may be
/// rectangular. Duplicates are summed in file order. Also accepted: .gz, "-" for standard input,
/// Windows line ends, blank and comment lines anywhere, '+' signs, Fortran's D exponents.
///
/// Cost: one pass over the text, spread over threads(); memory at most 40 bytes per stored entry
/// (at least 4 bytes in the file) and 16 per row. The result does not depend on threads(). Throws
/// FileError "name:line: what, value, legal range" for anything that is not such a file, including
/// complex and hermitian files, counts that do not match the file, indices out of range, and a
/// diagonal entry of a skew-symmetric matrix; NumericalError, with the line, for NaN and Inf;
/// NotAvailable if the matrix needs more memory than the machine has.
FileMatrix read_matrix_market(const std::string& path, const MatrixMarketOptions& options = {});

/// The same for text in memory; `name` stands for the file in messages.
FileMatrix parse_matrix_market(std::string_view text,
                               const std::string& name,
                               const MatrixMarketOptions& options = {});

/// Writes `array real general`, or `coordinate real`, with numbers in the shortest form that reads
/// back to the same double. With `symmetric` only the lower triangle is written: the caller
/// guarantees A = A^T. The file appears under its name only when complete. Throws FileError;
/// InvalidArgument for NaN, Inf, an empty matrix, or `symmetric` with a matrix that is not square.
void write_matrix_market(const std::string& path, const Matrix& A);
void write_matrix_market(const std::string& path, const SparseMatrix& A, bool symmetric = false);

/// Reads a graph's adjacency matrix from lines "u v" or "u v weight" (separated by blanks, tabs, or
/// a comma); # and % start comments. Nodes are whole numbers: counted from 0 if a 0 occurs,
/// otherwise from 1. The order of the matrix is the largest node (plus 1 when counted from 0). A
/// missing weight is 1; parallel edges add up; a loop counts once.
///
/// Undirected: A(u,v) = A(v,u). A list that gives each edge in both directions, with equal weights,
/// is used unchanged; in any other list, each line is a separate edge.
/// Directed: A(u,v) only, row u, column v.
/// Entries whose sum is 0 are not stored. Also accepted: .gz, "-" for standard input, Windows line
/// ends.
///
/// Cost: one pass and a counting sort; at most 160 bytes of memory per edge (at least 4 bytes in
/// the file) and 8 per node. Throws FileError "name:line: what, value, legal range" for names
/// instead of numbers, a line with one number or more than three, or no edge at all; NumericalError
/// for NaN or Inf; NotAvailable if memory does not suffice.
SparseMatrix read_edge_list(const std::string& path, bool directed = false);
SparseMatrix parse_edge_list(std::string_view text, const std::string& name, bool directed = false);

/// Reads a Pajek network (.net, or a .paj with one network): *Vertices n, then any of *Edges (both
/// directions), *Arcs (row to column), *Edgeslist, *Arcslist and *Matrix, added up over all
/// sections and relations. Vertices count from 1; labels, coordinates, colors and time intervals
/// are skipped, as are *Partition, *Vector and other sections; lines that start with % are
/// comments. A missing weight is 1. Entries whose sum is 0 are not stored. Cost and exceptions as
/// for read_edge_list.
SparseMatrix read_pajek(const std::string& path);
SparseMatrix parse_pajek(std::string_view text, const std::string& name);

/// Reads a NumPy array (format 1.0, 2.0, 3.0): bool, signed and unsigned integers of 1 to 8 bytes,
/// f4, f8, either byte order, C or Fortran order, one or two dimensions; one dimension becomes a
/// column. Integers beyond 2^53 are rounded to the nearest double. "-" reads standard input.
///
/// Cost: one pass, 8 bytes of memory per number (at least one byte in the file). Throws FileError
/// naming the file and the legal range for complex, object, string and structured arrays, other
/// dimensions, an empty array, and a file that is shorter or longer than its header says;
/// NumericalError for NaN and Inf, with row and column; NotAvailable if memory does not suffice.
Matrix read_npy(const std::string& path);
Matrix parse_npy(std::string_view bytes, const std::string& name);

/// Reads one array of an .npz archive (zip, members stored or deflated, ZIP64 too). An empty
/// `variable` means the only array; if there are several, the message lists them. Throws as
/// read_npy does, and FileError for a damaged archive (checksums are verified) or an unknown
/// variable.
Matrix read_npz(const std::string& path, const std::string& variable = "");
Matrix parse_npz(std::string_view bytes, const std::string& name, const std::string& variable = "");
/// Returns the names of the arrays in an archive, in the order of its directory, without ".npy".
std::vector<std::string> npz_variables(const std::string& path);

/// One member of an archive to be written: a 2-D array (Fortran order), a 1-D array, 64-bit
/// integers, or text (a 0-d byte string, as scipy.sparse.load_npz expects for its `format`).
struct NpzArray {
  std::string name;
  std::variant<Matrix, Vector, std::vector<Index>, std::string> value;
};

/// Writes format 1.0, little-endian f8. The file appears under its name only when complete. Throws
/// FileError.
void write_npy(const std::string& path, const Matrix& A);
/// Stores members without compression; uses ZIP64 if the sizes require it. Throws FileError;
/// InvalidArgument for a name that is empty or given twice.
void write_npz(const std::string& path, std::span<const NpzArray> arrays);

/// Reads one real matrix from a MATLAB file, version 5 (also compressed) or 7.3: dense or sparse,
/// double, single, integer or logical. `variable` names it; empty: the only numeric two-dimensional
/// array of the file. Throws FileError if the file is missing, damaged, crashes the library in a
/// trial read (set_read_guard), has no such variable or several to choose from (naming them), or if
/// the data are complex, cells, text or of more dimensions; NumericalError for NaN and Inf;
/// NotAvailable if memory does not suffice, or if this build has no matio.
FileMatrix read_mat(const std::string& path, const std::string& variable = {});

/// Version of the matio library that reads the files, "1.5.23"; empty if this build has none.
std::string matio_version();

/// Writes a version 5 file with one variable per entry, each at most 2^31 - 1 bytes (the format's
/// limit), as a temporary file that is then renamed. Throws FileError; InvalidArgument for a name
/// that MATLAB does not accept or a matrix beyond the format's limit.
void write_mat(const std::string& path,
               const std::vector<std::pair<std::string, FileMatrix>>& variables);

/// Writes a version 5 file with the 1 x p cell array `faust_factors`, as FAuST reads it: the
/// product of the cells in order. Throws as write_mat does.
void write_mat_factors(const std::string& path, const std::vector<FileMatrix>& factors);

}  // namespace matapprox
