#include "mpi/number_type.hpp"

namespace matapprox::mpi {

NumberType NumberType::row(Index width) {
  NumberType result;
  MPI_Type_contiguous(static_cast<int>(width), MPI_DOUBLE, &result.type_);
  MPI_Type_commit(&result.type_);
  return result;
}

NumberType NumberType::columns(Index rows, Index columns, Index apart) {
  NumberType column = row(rows);
  NumberType result;
  MPI_Type_create_hvector(static_cast<int>(columns),
                          1,
                          static_cast<MPI_Aint>(apart * Index{sizeof(double)}),
                          column.type_,
                          &result.type_);
  MPI_Type_commit(&result.type_);
  return result;
}

NumberType::~NumberType() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

}  // namespace matapprox::mpi
