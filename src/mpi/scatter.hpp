#pragma once

#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Sends the leader's column of layout.rows() numbers, each to the process that has its row. `all`
/// is ignored on the other processes. All processes call these functions together.
void scatter(const Process& process, const Layout& layout, const double* all, double* own);
/// The inverse of scatter.
void gather(const Process& process, const Layout& layout, const double* own, double* all);
/// Sends the leader's rows of `width` contiguous numbers, for a layout with one stretch of width 1.
void scatter_rows(
    const Process& process, const Layout& layout, Index width, const double* all, double* own);

}  // namespace matapprox::mpi
