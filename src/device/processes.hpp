#pragma once

#include <functional>
#include <memory>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// Distributes an operator over a program's processes; returns null if its kind stays on the first.
using SpreadOverProcesses = std::function<std::shared_ptr<const LinearOperator>(
    const std::shared_ptr<const LinearOperator>& A)>;

/// Sets the function that place() calls for operators on the CPU; null, the default, if the program
/// runs on one process. Must not be called while another thread places an operator.
void set_spread_over_processes(SpreadOverProcesses spread);

}  // namespace matapprox
