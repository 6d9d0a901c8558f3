#pragma once

#include <mpi.h>

#include <utility>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// Several numbers as one thing that MPI counts: the number of all in a message may be beyond int.
class NumberType {
 public:
  /// `width` numbers one behind the other.
  static NumberType row(Index width);
  /// `columns` stretches of `rows` numbers, `apart` numbers from the begin of one to the next.
  static NumberType columns(Index rows, Index columns, Index apart);
  ~NumberType();
  NumberType(NumberType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  NumberType(const NumberType&) = delete;
  NumberType& operator=(const NumberType&) = delete;
  NumberType& operator=(NumberType&&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  NumberType() = default;

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace matapprox::mpi
