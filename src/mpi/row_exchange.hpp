#pragma once

#include <functional>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Rows that travel together where a block of `columns` columns goes to all processes, or comes
/// from all: about a megabyte, and a multiple of 256.
Index panel_rows(Index columns);

/// The rows first .. first + panel.rows() - 1 of a block that lies as `layout` says, to all
/// processes, each from the one that has it; X: this process's rows of the block.
void gather_rows(const Process& process,
                 const Layout& layout,
                 const ConstMultiVectorView& X,
                 Index first,
                 Matrix& panel);

/// Y = the sum over the processes of what each adds to a block that lies as `layout` says: a panel
/// at a time, which make(first, panel) fills with the rows first .. first + panel.rows() - 1. Each
/// number is added in an order that the layout alone decides. Memory: two panels of about a
/// megabyte. Throws AgreedFailure where `make` fails or the caller asks to stop.
void sum_rows(const Process& process,
              const Layout& layout,
              const std::function<void(Index first, Matrix& panel)>& make,
              const MultiVectorView& Y);

}  // namespace matapprox::mpi
