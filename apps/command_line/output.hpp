#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox::app {

/// Called before any long work: throws FileError if `path` cannot become an output file: its folder
/// is missing or not writable, it is a folder, or it exists and `force` is not given. Empty and "-"
/// (standard output) are fine.
void check_output(const std::string& path, bool force);

/// The same for a file that is replaced by rename, which must not happen to a device or a pipe:
/// also throws FileError for those.
void check_replaceable(const std::string& path, bool force);

/// Makes a folder, not its parents, unless it is there. Throws FileError.
void prepare_folder(const std::string& path);

/// Writes to standard output; throws FileError if that fails (a full disk behind a redirection).
void write_stdout(const std::string& text);

/// Writes a whole file, or standard output for "-". A file appears only when complete.
void write_text(const std::string& path, const std::string& text);

/// Writes a block of columns in the format of the name: .npy .mtx .csv .h5, or CSV on standard
/// output for "-". Throws InvalidArgument for another extension.
void write_block(const std::string& path, const Matrix& block);
/// Throws InvalidArgument, naming the legal ones, unless write_block knows the extension.
void check_block_format(const std::string& path);

}  // namespace matapprox::app
