#pragma once

#include "io/hdf5_attributes.hpp"
#include "matapprox/factors/block_matrix.hpp"
#include "matapprox/factors/packed_matrix.hpp"
#include "matapprox/factors/packed_sparse.hpp"

// The content of values of the kinds `packed`, `blocks` and `packed_sparse` (docs/file-format.md).

namespace matapprox {

void write_packed(const hdf5::Location& group, const PackedMatrix& matrix);
/// Throws FileError where the file is damaged, and InvalidArgument where its arrays do not fit
/// together.
PackedMatrix read_packed(const hdf5::Location& group);

void write_blocks(const hdf5::Location& group, const BlockMatrix& matrix);
/// As read_packed.
BlockMatrix read_blocks(const hdf5::Location& group);

void write_packed_sparse(const hdf5::Location& group, const PackedSparse& matrix);
/// As read_packed.
PackedSparse read_packed_sparse(const hdf5::Location& group);

}  // namespace matapprox
