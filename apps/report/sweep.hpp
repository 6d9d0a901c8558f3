#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/measure/compare.hpp"

namespace matapprox::report {

/// Singular values, descending.
struct Spectrum {
  Vector values;
  bool is_complete = false;
  std::string how;  ///< source, "all 306, by LAPACK"; or the reason why there are none
};

/// All min(m, n) singular values, by LAPACK, up to 2048; above, those that a truncated SVD has
/// already found (`known`), else the leading 100 by truncated_svd within max_seconds.
Spectrum spectrum_of(const LinearOperator& A,
                     const Vector& known,
                     double max_seconds,
                     const RunControl& control);

/// One fit of a sweep: its storage and its error.
struct SweepPoint {
  std::string method;
  Index bytes = 0;
  double relative_error = 0;
  bool is_exact = true;
  bool cut_short = false;  ///< stopped by a time limit or the caller: more time would reduce the
                           ///< error
};

struct StorageSweep {
  /// Storage that the shares refer to; packed values count as their bytes / 8.
  double base_numbers = 0;
  std::vector<double> shares;         ///< requested shares of base_numbers, ascending
  std::vector<SweepPoint> points;     ///< including those of the comparison
  std::vector<std::string> absences;  ///< reasons why a method is missing at a share, one sentence
                                      ///< each
  double seconds = 0;
  bool has_fewer_factors = false;  ///< Chord ran below its pattern's own size
};

/// Runs the methods of a comparison at an eighth, a quarter, half and twice its storage, as far as
/// that is below the full matrix. All fits together take about max_seconds (the iterative ones,
/// which come last, share the remaining time; one measurement may exceed it); a fit for which no
/// time is left is an absence. max_seconds 0: the comparison's own points only. The storage of a
/// comparison by rank or target error is the largest among its rows. Chord below its pattern's own
/// size gets fewer factors.
StorageSweep sweep_storage(const LinearOperator& A,
                           const Comparison& comparison,
                           const ComparisonOptions& options,
                           double max_seconds,
                           const RunControl& control,
                           const ComparisonEvents& events);

/// Points that no other point beats in both bytes and error, sorted by bytes.
std::vector<SweepPoint> pareto_front(std::vector<SweepPoint> points);

/// Share of the storage as text: "1/8", "2".
std::string share_name(double share);

}  // namespace matapprox::report
