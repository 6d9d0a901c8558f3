#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/methods/registry.hpp"
#include "reproduce/paper.hpp"

namespace matapprox {

/// An approximation of one matrix: its measured absolute Frobenius error and its storage.
struct ReproducedError {
  Index size = 0;     ///< rank, or number of entries kept
  double error = 0;   ///< |A - B|_F
  Index numbers = 0;  ///< stored numbers
};

/// Chord with another pattern, with as many stored numbers as the reference pattern.
struct OtherPattern {
  std::string pattern;  ///< requested pattern: "alternating", "auto"
  std::string form;     ///< resulting form: "mixed_radix, symmetrized"
  double error = 0;     ///< |A - B|_F
  Index numbers = 0;    ///< stored numbers
  double seconds = 0;   ///< time of the fit
  std::string message;  ///< message of the fit
};

/// One matrix of the paper, reproduced. All errors are absolute Frobenius errors, exact.
struct ReproducedRow {
  PaperMatrix paper;
  std::string status = "ok";   ///< or the reason why there is no result
  bool missing = false;        ///< the matrix has no file
  std::exception_ptr failure;  ///< exception that stopped a row that has a file; may be null

  std::string path;             ///< path of the matrix
  std::string sha256;           ///< SHA-256 of that file
  bool sha256_is_known = true;  ///< it is in the list of the paper's files
  Index n = 0;
  Index nonzeros = 0;
  bool symmetric = false;
  double frobenius_norm = 0;

  ReproducedError tsvd;      ///< at paper_rank(n)
  ReproducedError tsvd_fit;  ///< at the largest rank that fits into Chord's stored numbers
  std::optional<ReproducedError> tsvd_symmetric;  ///< U and eigenvalues, within the same numbers
  /// The largest entries, each a value and two 4-byte indices: 16 bytes, counted as 2 numbers.
  ReproducedError largest_entries;

  double chord_error = 0;
  Index chord_numbers = 0;
  double seconds = 0;  ///< time of the Chord fit
  Index iterations = 0;
  Termination termination = Termination::kCompleted;
  std::string message;  ///< message of the fit
  std::vector<HistoryPoint> history;

  std::vector<OtherPattern> others;  ///< in the order of ReproductionOptions::other_patterns

  std::string saved_to;       ///< the file with the Chord factors; empty if not stored
  std::string image;          ///< contact sheet of an image; empty if there is none
  double residual_scale = 0;  ///< gray level from which on its residuals are black
  bool reused = false;        ///< taken from an earlier run with the same options

  bool ok() const { return status == "ok"; }
  /// True if Chord stores at least as many numbers as the matrix has entries.
  bool no_compression() const { return chord_numbers >= n * n; }
  /// "TSVD" or "SF", by the printed errors; empty if they are unknown.
  std::string winner_then() const;
  /// The same by the errors found here: TSVD at the paper's rank against Chord.
  std::string winner_now() const;
  /// True if Chord's error is at most the printed one; empty if that is unknown.
  std::optional<bool> within_paper() const;
  /// True if the TSVD error, rounded to three digits, is the printed one; empty if that is unknown.
  std::optional<bool> tsvd_as_printed() const;
};

struct ReproductionOptions {
  PaperTable table = PaperTable::kTable1;
  std::vector<std::string> rows;            ///< words for select_matrices
  std::string matrices;                     ///< folder with the matrices
  std::string folder;                       ///< folder of finished rows; empty: rows are not stored
  std::string effort = "default";           ///< effort of the Chord fit
  std::string pattern = "reference";        ///< pattern of the Chord fit
  std::vector<std::string> other_patterns;  ///< patterns that are fitted in addition
  std::uint64_t seed = 1;
  NamedOptions settings;  ///< further options of the Chord fits; they override the above

  /// All options of the Chord fit that are set.
  NamedOptions chord() const;
};

/// A table of the paper, reproduced, with everything that is needed to repeat it.
struct Reproduction {
  ReproductionOptions options;
  int threads = 1;
  double wall_seconds = 0;
  double cpu_seconds = 0;           ///< user and system time of the process
  bool interrupted = false;         ///< some rows were not finished
  std::vector<ReproducedRow> rows;  ///< in the paper's order; rows without result say why

  std::vector<const ReproducedRow*> finished() const;
  std::vector<const ReproducedRow*> unfinished() const;
};

/// Callbacks of a running reproduction; never called by two threads at a time.
struct ReproductionEvents {
  std::function<void(std::size_t rows)> planned;  ///< number of rows to be done
  std::function<void(const std::string& row)> started;
  std::function<void(const std::string& row, const Progress& now)> progress;
  std::function<void(const ReproducedRow& row)> finished;
  /// A message for the user: a file that differs, a cached row that does not fit.
  std::function<void(const std::string& text)> note;
};

/// Approximates every chosen matrix by truncated SVD and Chord, as the paper did, and measures
/// both.
///
/// Rows run side by side, each on one thread, the largest first. With options.folder a finished row
/// is stored there at once, NAME.json and the factors in NAME.h5, and a later call with the same
/// options and the same matrices (by SHA-256) takes it from there. After control.stop running rows
/// are abandoned and say so. A matrix without a file is a row that says so. Throws FileError if the
/// folder of the matrices does not exist or holds none of the rows, or if a row cannot be stored;
/// InvalidArgument for a row or option that does not exist.
Reproduction reproduce(const ReproductionOptions& options,
                       const RunControl& control = {},
                       const ReproductionEvents& events = {});

/// Folders in which the paper's matrices may be, best first: the environment variable
/// MATAPPROX_MATRICES alone if it is set; else matrices/paper, where scripts/fetch-matrices puts
/// them, below the current folder and below those that hold the running program.
std::vector<std::string> matrix_folders();

/// The output formats; docs/cli.md has the schema of the first two.
std::string reproduction_json(const Reproduction& reproduction);
std::string reproduction_csv(const Reproduction& reproduction);
std::string reproduction_table(const Reproduction& reproduction);  ///< at most 110 columns wide
std::string reproduction_markdown(const Reproduction& reproduction);
std::string reproduction_latex(const Reproduction& reproduction);

}  // namespace matapprox
