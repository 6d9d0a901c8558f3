#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/options.hpp"

namespace matapprox {

/// The part of the paper to reproduce. [KYCY22]
enum class PaperTable {
  kTable1,   ///< Table 1: 27 matrices
  kFigure4,  ///< Fig. 4 and supplement: 11 images, and their clipped Laplacians
};

template <>
struct EnumNames<PaperTable> {
  static constexpr std::array<std::string_view, 2> values{"table1", "figure4"};
};

/// One matrix of the paper: a line of matrices/paper.csv, which is compiled into the library.
struct PaperMatrix {
  std::string name;          ///< name in Table 1, "Mexican Power"; for an image "apple (gradient)"
  std::string category;      ///< dense_graph network surface_mesh covariance image gradient_image
  std::string file;          ///< path below the folder that scripts/fetch-matrices fills
  std::string upstream;      ///< path below the folder of the public copy
  Index n = 0;               ///< order
  Index nonzeros = 0;        ///< number of nonzero entries
  double tsvd_error = 0;     ///< error of TSVD at the paper's rank, computed from the file by
                             ///< LAPACK
  std::string sha256;        ///< SHA-256 of the .mat or .png file
  std::string mtx_sha256;    ///< SHA-256 of the same matrix as MatrixMarket text; empty for images
  std::string printed_tsvd;  ///< the paper's error as printed, "8.54e+00"; empty if not known
  std::string printed_sf;    ///< the same for its sparse factorization

  PaperTable table() const;
  std::optional<double> paper_tsvd() const;
  std::optional<double> paper_sf() const;
  /// The name as a file name: "Mexican_Power", "apple_gradient".
  std::string file_name() const;
  /// "Dense graph", "Gradient image".
  std::string category_title() const;
};

/// All matrices in the paper's order; images before gradient images.
std::span<const PaperMatrix> paper_matrices();

/// Matrices of one table that `words` select, in the paper's order. A word is a name, the name as a
/// file name, the file's name without its ending, or a category, in any case; without words all are
/// selected. Throws InvalidArgument, suggesting the nearest, for a word that names none.
std::vector<PaperMatrix> select_matrices(PaperTable table, const std::vector<std::string>& words);

/// r = ceil(M^2 / 2), M = ceil(log2 n): the rank of truncated SVD in the paper's comparison, or n
/// if that is less. [KYCY22, Sec. 5.1]
Index paper_rank(Index n);

}  // namespace matapprox

namespace matapprox::reproduction {

/// Contents of matrices/paper.csv at the time when the library was built.
std::string_view paper_csv();

}  // namespace matapprox::reproduction
