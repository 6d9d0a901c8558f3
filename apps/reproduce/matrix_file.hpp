#pragma once

#include <optional>
#include <string>

#include "matapprox/io/load.hpp"
#include "reproduce/paper.hpp"

namespace matapprox::reproduction {

/// The file of a matrix below `folder`: under the name of scripts/fetch-matrices, under that of the
/// public copy, or either with .mtx in place of .mat; empty if there is none.
std::optional<std::string> find_file(const std::string& folder, const PaperMatrix& matrix);

/// SHA-256 of a file's bytes. Throws FileError.
std::string file_sha256(const std::string& path);

/// True for the SHA-256 of the paper's file, or of its MatrixMarket form.
bool is_known_sha256(const PaperMatrix& matrix, const std::string& sha256);

/// Reads the file; from a .mat file the variable A. Throws the exceptions of `load`.
LoadedMatrix load_file(const std::string& path);

/// Throws FileError, saying how to get the matrices, unless `folder` is a folder.
void check_folder(const std::string& folder);

}  // namespace matapprox::reproduction
