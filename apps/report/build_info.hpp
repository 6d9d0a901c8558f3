#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox {

/// Version of the library, "0.1.0".
std::string version();

/// The machine in one line: CPU, number of CPUs in use, instruction set, memory.
std::string machine_description();

/// Compiler and kind of build: "g++ 12.2.0, optimized".
std::string compiler_description();

/// Libraries in use with their versions, from the headers of this build: ("HDF5", "1.10.8"), ...
std::vector<std::pair<std::string, std::string>> library_versions();

}  // namespace matapprox
