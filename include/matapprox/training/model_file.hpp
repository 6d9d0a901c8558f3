#pragma once

#include <string>

#include "matapprox/training/trainer.hpp"

namespace matapprox::training {

/// A model with its task and the state of its training: everything that `train --resume` and
/// `evaluate` need.
struct SavedModel {
  std::string task;  ///< name of the task
  NamedOptions task_options;
  ModelDescription model;
  NamedOptions training_options;
  std::uint64_t seed = 1;  ///< seed of data, initial parameters and dropout
  TrainingState state;
};

/// Writes an HDF5 file, whole or not at all; docs/file-format.md describes its layout. The
/// parameters are those of state.best, each under its name in /parameters as float; /state has the
/// rest. Throws FileError if it cannot be written, NumericalError if a parameter is not finite.
void save_model(const std::string& path, const SavedModel& saved);

/// Throws FileError for a file that is missing, damaged, from another program or of a newer
/// version, or whose arrays do not match the model that it describes.
SavedModel load_model(const std::string& path);

}  // namespace matapprox::training
