#pragma once

#include <string>

namespace matapprox::test {

std::string program();          ///< the command line program under test
std::string source_dir();       ///< the checkout
std::string shared_matrices();  ///< folder with the paper's matrices, empty if not there
/// A fresh, empty folder of this test's own, removed at the end of the process.
std::string temporary_dir();

/// The bytes of a file; none if it cannot be read.
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace matapprox::test
