#pragma once

#include <string>

namespace matapprox {

/// Version of the library, "0.1.0".
std::string version();

/// The machine in one line: processor, number of processors in use, instruction set, memory.
std::string machine_description();

}  // namespace matapprox
