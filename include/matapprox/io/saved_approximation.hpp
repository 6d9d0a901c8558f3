#pragma once

#include <optional>
#include <string>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/io/load.hpp"

namespace matapprox {

/// Everything in a saved file except the factors.
struct SavedRecord {
  Provenance provenance;
  std::optional<double> error_frobenius;
  std::optional<double> relative_error;
  bool error_is_exact = true;
  bool interrupted = false;
  double fit_seconds = 0;
  /// Not empty in a checkpoint or an interrupted fit. Long arrays stay in the file.
  ResumeState resume;
};

struct SavedApproximation {
  Approximation approximation;
  SavedRecord record;
};

/// A saved file without its factors.
struct SavedFit {
  Summary summary;
  Precision precision = Precision::kDouble;
  SavedRecord record;
};

/// Writes one HDF5 file (docs/file-format.md) as a temporary file that is synced and renamed, so
/// that a crash leaves either the old file or the new one. Throws FileError.
void save(const std::string& path, const Approximation& approximation, const SavedRecord& record);

/// Throws FileError if the file is not a saved approximation, has a newer format version or is
/// damaged.
SavedApproximation load_approximation(const std::string& path);

/// Reads everything except the factors. Long arrays of record.resume stay in the file, which is
/// kept open as long as they exist, even if it is renamed or removed. Throws as load_approximation
/// does.
SavedFit read_saved_fit(const std::string& path);

/// True if the file is an HDF5 file whose root says it is a saved approximation.
bool is_saved_approximation(const std::string& path);

/// True if the file is an HDF5 file whose root says it is a model that training::save_model wrote.
bool is_saved_model(const std::string& path);

}  // namespace matapprox
