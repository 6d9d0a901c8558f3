#pragma once

#include <mpi.h>

#include <utility>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// An MPI datatype of several numbers, for messages with more numbers than an int can count.
class NumberType {
 public:
  /// `width` contiguous numbers.
  static NumberType row(Index width);
  /// `columns` columns of `rows` numbers, with `apart` numbers from one start to the next.
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
