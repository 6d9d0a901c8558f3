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

/// An approximation of one matrix: absolute Frobenius error, measured, and what it stores.
struct ReproducedError {
  Index size = 0;     ///< rank, or entries kept
  double error = 0;   ///< |A - B|_F
  Index numbers = 0;  ///< stored numbers
};

/// Chord with another pattern, at the numbers that the reference pattern stores.
struct OtherPattern {
  std::string pattern;  ///< as it was asked for: "alternating", "auto"
  std::string form;     ///< what came out of it: "mixed_radix, symmetrized"
  double error = 0;     ///< |A - B|_F
  Index numbers = 0;    ///< stored numbers
  double seconds = 0;   ///< of the fit
  std::string message;  ///< what the fit says about itself
};

/// One matrix of the paper, done again. All errors are absolute Frobenius errors, exact.
struct ReproducedRow {
  PaperMatrix paper;
  std::string status = "ok";   ///< or why there is no result
  bool missing = false;        ///< there is no file of it
  std::exception_ptr failure;  ///< what stopped a row that has a file and no result; may be null

  std::string path;             ///< of the matrix
  std::string sha256;           ///< of that file
  bool sha256_is_known = true;  ///< it is the one in the list of the paper's files
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
  double seconds = 0;  ///< of the Chord fit
  Index iterations = 0;
  Termination termination = Termination::kCompleted;
  std::string message;  ///< what the fit says about itself
  std::vector<HistoryPoint> history;

  std::vector<OtherPattern> others;  ///< in the order of ReproductionOptions::other_patterns

  std::string saved_to;       ///< the file with the Chord factors; empty if not kept
  std::string image;          ///< contact sheet of an image; empty if there is none
  double residual_scale = 0;  ///< gray levels from which on its residuals are black
  bool reused = false;        ///< kept from an earlier run with the same options

  bool ok() const { return status == "ok"; }
  /// Chord stores at least as many numbers as the matrix has entries.
  bool no_compression() const { return chord_numbers >= n * n; }
  /// "TSVD" or "SF", by the printed errors; empty where they are not known.
  std::string winner_then() const;
  /// The same by the errors found here: TSVD at the paper's rank against Chord.
  std::string winner_now() const;
  /// Chord's error is at most the printed one; empty where that is not known.
  std::optional<bool> within_paper() const;
  /// The TSVD error, rounded to three digits, is the printed one; empty where that is not known.
  std::optional<bool> tsvd_as_printed() const;
};

struct ReproductionOptions {
  PaperTable table = PaperTable::kTable1;
  std::vector<std::string> rows;            ///< as select_matrices takes them
  std::string matrices;                     ///< folder with the matrices
  std::string folder;                       ///< finished rows are kept here; empty: nowhere
  std::string effort = "default";           ///< of the Chord fit
  std::string pattern = "reference";        ///< of the Chord fit
  std::vector<std::string> other_patterns;  ///< fitted beside it
  std::uint64_t seed = 1;
  NamedOptions settings;  ///< further options of the Chord fits; they win over the above

  /// All options of the Chord fit that are set.
  NamedOptions chord() const;
};

/// A table of the paper done again, with what is needed to do it once more.
struct Reproduction {
  ReproductionOptions options;
  int threads = 1;
  double wall_seconds = 0;
  double cpu_seconds = 0;           ///< user and system time of the process
  bool interrupted = false;         ///< some rows were not finished
  std::vector<ReproducedRow> rows;  ///< in the paper's order; those without result say why

  std::vector<const ReproducedRow*> finished() const;
  std::vector<const ReproducedRow*> unfinished() const;
};

/// What a caller may want to know on the way; never called by two threads at a time.
struct ReproductionEvents {
  std::function<void(std::size_t rows)> planned;  ///< how many rows there are to do
  std::function<void(const std::string& row)> started;
  std::function<void(const std::string& row, const Progress& now)> progress;
  std::function<void(const ReproducedRow& row)> finished;
  /// A sentence the user should see: a file that differs, a cached row that does not fit.
  std::function<void(const std::string& text)> note;
};

/// Approximates every chosen matrix by truncated SVD and Chord as the paper did and measures both.
///
/// Rows run side by side, each on one thread, the largest first. With options.folder a row that is
/// done is kept there at once, NAME.json and the factors in NAME.h5, and a later call with the same
/// options and the same matrices (by SHA-256) takes it from there. After control.stop running rows
/// are given up and their rows say so. A matrix without a file is a row that says so.
/// Throws FileError if the folder of the matrices does not exist or holds none of the rows, or a
/// row cannot be kept; InvalidArgument for a row or option that does not exist.
Reproduction reproduce(const ReproductionOptions& options,
                       const RunControl& control = {},
                       const ReproductionEvents& events = {});

/// Folders in which the paper's matrices may be, best first: the environment variable
/// MATAPPROX_MATRICES alone if it is set; else matrices/paper, where scripts/fetch-matrices puts
/// them, below the current folder and below those that hold the running program.
std::vector<std::string> matrix_folders();

/// The ways to write it down; docs/cli.md has the schema of the first two.
std::string reproduction_json(const Reproduction& reproduction);
std::string reproduction_csv(const Reproduction& reproduction);
std::string reproduction_table(const Reproduction& reproduction);  ///< at most 110 columns wide
std::string reproduction_markdown(const Reproduction& reproduction);
std::string reproduction_latex(const Reproduction& reproduction);

}  // namespace matapprox
