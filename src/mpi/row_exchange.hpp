#pragma once

#include <functional>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Returns the number of rows per message when a block of `columns` columns is sent to all
/// processes or summed over them: about a megabyte, and a multiple of 256.
Index panel_rows(Index columns);

/// Sends the rows first .. first + panel.rows() - 1 of a block to all processes, each row from the
/// process that has it in `layout`. X: this process's rows of the block.
void gather_rows(const Process& process,
                 const Layout& layout,
                 const ConstMultiVectorView& X,
                 Index first,
                 Matrix& panel);

/// Sends the leader's rows of `width` contiguous numbers, each to the process that has it in
/// `layout`. `all` is ignored on the other processes.
void scatter_rows(
    const Process& process, const Layout& layout, Index width, const double* all, double* own);

/// Sums blocks over the processes; Y gets this process's rows of the sum, in `layout`. Works in
/// panels: make(first, panel) computes the rows first .. first + panel.rows() - 1 of this process's
/// summand. The order of the additions depends only on the layout. Memory: two panels of about a
/// megabyte. Throws AgreedFailure if `make` fails or the caller asks to stop.
void sum_rows(const Process& process,
              const Layout& layout,
              const std::function<void(Index first, Matrix& panel)>& make,
              const MultiVectorView& Y);

}  // namespace matapprox::mpi
