#pragma once

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

/// The same rows of the sum of all processes' panels, each to the process that has it; Y: this
/// process's rows of the block. Each number is added in an order that the layout alone decides.
void sum_rows(const Process& process,
              const Layout& layout,
              Index first,
              const Matrix& panel,
              const MultiVectorView& Y);

}  // namespace matapprox::mpi
