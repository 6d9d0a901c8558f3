#pragma once

#include <mpi.h>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// A row of `width` numbers as one thing that MPI counts: the number of all may be beyond int.
class RowType {
 public:
  explicit RowType(Index width) {
    MPI_Type_contiguous(static_cast<int>(width), MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  ~RowType() { MPI_Type_free(&type_); }
  RowType(const RowType&) = delete;
  RowType(RowType&&) = delete;
  RowType& operator=(const RowType&) = delete;
  RowType& operator=(RowType&&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace matapprox::mpi
