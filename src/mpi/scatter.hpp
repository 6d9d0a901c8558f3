#pragma once

#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// The leader's column of layout.rows() numbers, each to the process whose row it is. `all` is
/// anything on the others. All processes call these together.
void scatter(const Process& process, const Layout& layout, const double* all, double* own);
/// The way back.
void gather(const Process& process, const Layout& layout, const double* own, double* all);
/// The leader's rows of `width` numbers, one after the other, of a layout of one stretch of
/// width 1.
void scatter_rows(
    const Process& process, const Layout& layout, Index width, const double* all, double* own);

}  // namespace matapprox::mpi
