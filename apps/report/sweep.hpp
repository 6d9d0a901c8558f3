#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace matapprox::report {

/// One fit of a sweep: what it stores and how far it is from A.
struct SweepPoint {
  std::string method;
  Index bytes = 0;
  double relative_error = 0;
  bool is_exact = true;
  bool cut_short = false;  ///< stopped by time or by the caller: more time would bring it nearer
};

struct StorageSweep {
  /// The storage that the shares refer to; packed values count as their bytes / 8.
  double base_numbers = 0;
  std::vector<double> shares;         ///< of base_numbers, ascending: what was asked for
  std::vector<SweepPoint> points;     ///< those of the comparison included
  std::vector<std::string> absences;  ///< why a method is not at a share, one sentence each
  double seconds = 0;
  bool has_fewer_factors = false;  ///< Chord below its pattern's own size
};

/// The methods of a comparison at an eighth, a quarter, half and twice its storage, as far as that
/// is below the full matrix. All fits together take about max_seconds (the iterative ones, which
/// come last, share what is left; one measurement may pass it): what does not fit is an absence.
/// max_seconds 0: the comparison's own points only. Storage of a comparison by rank or target
/// error: the largest among its rows. Chord below its pattern's own size gets fewer factors.
StorageSweep sweep_storage(const LinearOperator& A,
                           const Comparison& comparison,
                           const ComparisonOptions& options,
                           double max_seconds,
                           const RunControl& control,
                           const ComparisonEvents& events);

/// The points that no other beats in both bytes and error, by bytes.
std::vector<SweepPoint> pareto_front(std::vector<SweepPoint> points);

/// "1/8", "2": of the storage.
std::string share_name(double share);

}  // namespace matapprox::report
