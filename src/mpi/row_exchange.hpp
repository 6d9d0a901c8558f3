#pragma once

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// `columns` stretches of `rows` numbers, `apart` numbers from one to the next, as one item of a
/// message; the number of all may be beyond int.
class Columns {
 public:
  Columns(Index rows, Index columns, Index apart);
  ~Columns();
  Columns(const Columns&) = delete;
  Columns(Columns&&) = delete;
  Columns& operator=(const Columns&) = delete;
  Columns& operator=(Columns&&) = delete;
  MPI_Datatype type() const { return all_; }

 private:
  MPI_Datatype column_ = MPI_DATATYPE_NULL;
  MPI_Datatype all_ = MPI_DATATYPE_NULL;
};

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

}  // namespace matapprox::mpi
