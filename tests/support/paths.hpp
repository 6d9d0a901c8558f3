#pragma once

#include <string>

namespace matapprox::test {

std::string program();          ///< the command line program under test
std::string source_dir();       ///< the checkout
std::string shared_matrices();  ///< folder with the paper's matrices, empty if missing
/// A new, empty folder for this test, removed at the end of the process.
std::string temporary_dir();

/// The bytes of a file; empty if it cannot be read.
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

/// A folder with the layout of the paper's, with small matrices of our own under some of its names:
/// Sawmill (N = 49), Strike (N = 9), Votes (N = 16, a .mat file), and the images ship and chess
/// (gradient), 24 x 24.
std::string paper_folder();

}  // namespace matapprox::test
