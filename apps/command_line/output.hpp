#pragma once

#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox::app {

/// A pipe, a device such as /dev/null, or an open stream such as /dev/stdout: written to directly,
/// never replaced.
bool is_special(const std::string& path);

/// Throws FileError if `path` cannot become an output file: its folder is missing or not writable,
/// it is a folder, or it exists and `force` is not given. Empty, "-" (standard output) and what is
/// special are fine. A command asks a FilePlan, which calls this.
void check_output(const std::string& path, bool force);

/// Makes a folder, not its parents, unless it is there. Throws FileError. A command that fails
/// before it has put anything there leaves no such folder.
void prepare_folder(const std::string& path);
/// Removes the folders that prepare_folder made and that are empty. Safe in a signal handler.
void remove_empty_folders() noexcept;

// Foreign text (names, strings in files) is escaped by visible_text (core/visible_text.hpp) where
// it becomes part of a text of several lines; a message is one line and is escaped as a whole. The
// functions here escape control characters once more, all but line ends and tabs.

/// Writes to standard output; throws FileError if that fails (a full disk behind a redirection).
void write_stdout(const std::string& lines);

/// Writes to standard error, as far as that can be done: there is no one else to tell.
void write_stderr(std::string_view lines) noexcept;

/// Writes "matapprox: " and the message, which becomes one line whatever is in it.
void write_message(std::string_view message) noexcept;

/// Writes to standard error as it is: for texts that move the cursor and hold nothing foreign.
void write_terminal(std::string_view text) noexcept;

/// Writes a whole file, or standard output for "-". A file appears only when complete.
void write_text(const std::string& path, const std::string& text);

/// Writes a block of columns in the format of the name: .npy .mtx .csv .h5, or CSV on standard
/// output for "-". Throws InvalidArgument for another extension.
void write_block(const std::string& path, const Matrix& block);
/// Throws InvalidArgument, naming the legal ones, unless write_block knows the extension.
void check_block_format(const std::string& path);

/// True for the names .png and .svg, as which images are drawn.
bool is_image_name(const std::string& path);

/// Throws InvalidArgument, ending with `advice`, for a file whose name says that it is of another
/// format than HDF5, in which `option` writes it.
void check_hdf5_name(const std::string& option, const std::string& path, const std::string& advice);

}  // namespace matapprox::app
