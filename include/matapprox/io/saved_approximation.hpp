#pragma once

#include <optional>
#include <string>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/io/load.hpp"

namespace matapprox {

/// Everything in a saved file besides the factors.
struct SavedRecord {
  Provenance provenance;
  std::optional<double> error_frobenius;
  std::optional<double> relative_error;
  bool error_is_exact = true;
  bool interrupted = false;
  double fit_seconds = 0;
  ResumeState resume;  ///< not empty in a checkpoint or an interrupted fit; long arrays in the file
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

/// Writes one HDF5 file (docs/file-format.md): to a temporary beside it, fsync, rename, so that a
/// crash leaves either the old file or the new one. Throws FileError.
void save(const std::string& path, const Approximation& approximation, const SavedRecord& record);

/// Throws FileError if it is not ours, of a newer format version, or damaged.
SavedApproximation load_approximation(const std::string& path);

/// All but the factors. Long arrays of record.resume stay in the file, which is open as long as
/// they are, whatever becomes of its name. Throws as load_approximation.
SavedFit read_saved_fit(const std::string& path);

/// True if the file is an HDF5 file whose root says it is a saved approximation.
bool is_saved_approximation(const std::string& path);

/// True if the file is an HDF5 file whose root says it is a model that training::save_model wrote.
bool is_saved_model(const std::string& path);

}  // namespace matapprox
