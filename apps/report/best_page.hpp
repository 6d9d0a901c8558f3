#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/best/best.hpp"
#include "matapprox/factors/approximation.hpp"
#include "report/heat_map.hpp"
#include "report/json.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"
#include "report/report_page.hpp"
#include "report/sweep.hpp"

namespace matapprox::report {

/// One search for the best approximation, as reported to users and programs.
struct BestContents {
  std::string path;         ///< path of the matrix
  std::string description;  ///< description of its operator
  BestOptions options;
  BestResult result;
  int threads = 1;
  std::optional<std::string> saved_to{};  ///< the file with the result
};

/// Bytes of the result over 8 m n, those of the matrix as doubles.
double share_of_doubles(const Storage& storage, const MatrixFacts& facts);
/// The request in words: "at most 2 % of 8 m n bytes: 25600 bytes".
std::string request_text(const BestOptions& options, const MatrixFacts& facts);
const BestCandidate& chosen_candidate(const BestResult& result);
/// Its name, preceded by the method unless the name contains it.
std::string chosen_text(const BestResult& result);

/// Lines of the terminal: the chosen candidate, its storage, its error. `explain` adds a table of
/// all candidates.
std::string best_text(const BestContents& contents, bool explain);
/// docs/cli.md has the schema.
Json to_json(const BestContents& contents);

// Distribution of the bits of an approximation: over the blocks of a block matrix, and over the
// components of low rank.

/// The block matrix among the factors or in a sum of them, and the permutation of rows and columns
/// around it; null if there is none.
const BlockMatrix* blocks_of(const FactorProduct& B);
const Permutation* order_of(const FactorProduct& B);

/// A block matrix as an image of at most `side` pixels per side.
struct Partition {
  Matrix bits;        ///< stored bits per entry of the blocks that cover each pixel
  CellMarks borders;  ///< borders of leaves that are large enough to be drawn
  /// Number of leaves and their bytes, by LeafKind.
  std::array<Index, 3> leaves{};
  std::array<Index, 3> bytes{};
};
/// The bits of a leaf are spread over the entries that it represents, including the mirror image of
/// a leaf of a symmetric matrix. Cost: the leaves, and the pixels that they cover.
Partition partition_of(const BlockMatrix& blocks, Index side = 1024);
/// Scale from 0 up; colors follow asinh if blocks differ much.
ColorScale bits_scale(const Partition& partition);

/// A component s u v^T: its Frobenius norm, and the bits of each of its values.
struct StoredComponent {
  double size = 0;
  int bits = 0;
};
/// All components that are stored in a few bits, the largest first: those of a packed product of
/// low rank, or of all low-rank leaves of a block matrix. A component with a mirror image includes
/// it. Empty for other approximations.
std::vector<StoredComponent> stored_components(const FactorProduct& B);

/// Cells of A with rows and columns in the order of its blocks: A(i, j) with i and j from
/// P.sources().
Matrix ordered_cells(const LinearOperator& A, const Permutation& P, const ImagePlan& plan);

// Charts of one search. Errors below kErrorFloor (comparison_page.hpp) are drawn at it.

/// Style of a candidate in charts and tables, by its index among all of them.
int candidate_style(std::size_t candidate);

/// Error against bytes: every candidate that was built, the limit of low rank, the lower bound, the
/// budget and the target.
Chart error_bytes_chart(const BestContents& contents, const Spectrum& spectrum);
/// Expected, measured and certified error of each candidate.
Chart expectation_chart(const BestContents& contents);
/// The singular values of A, and the stored components, marked by their bits, with the water level,
/// which is the smallest of them.
Chart component_chart(const BestContents& contents,
                      const Spectrum& spectrum,
                      const std::vector<StoredComponent>& components);

}  // namespace matapprox::report

namespace matapprox {

/// Makes the report of a search: the chosen candidate, all candidates, error against bytes, the
/// distribution of the bits, singular values with the water level, heat maps, how to repeat it.
///
/// Costs: all columns of A and of the result (a sample of them above 64e6 entries), and the
/// singular values of A by LAPACK up to order 2048. Memory: four images. Throws NotAvailable
/// without gnuplot, Interrupted if control stops it.
Report best_report(const LinearOperator& A,
                   const report::BestContents& contents,
                   const ReportOptions& options,
                   const RunControl& control = {});

/// Names that Report::plots can have, to be checked before the search.
std::vector<std::string> best_plot_names();

}  // namespace matapprox
