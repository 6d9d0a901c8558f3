#pragma once

#include <functional>
#include <memory>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// Deals an operator to the processes that a program runs on; null if it is of a kind that stays on
/// the first.
using SpreadOverProcesses = std::function<std::shared_ptr<const LinearOperator>(
    const std::shared_ptr<const LinearOperator>& A)>;

/// What place() asks from here on for operators that are to be on the CPU; null, as at the start:
/// the program runs on one process. Not while another thread places something.
void set_spread_over_processes(SpreadOverProcesses spread);

}  // namespace matapprox
