#pragma once

#include "io/hdf5_handle.hpp"
#include "matapprox/factors/block_matrix.hpp"
#include "matapprox/factors/packed.hpp"

// Content of values of the kinds `packed`, `blocks` and `packed_sparse` (docs/file-format.md).

namespace matapprox {

void write_packed(const hdf5::Location& group, const PackedMatrix& matrix);
/// Throws FileError if the file is damaged, and InvalidArgument if its arrays are inconsistent.
PackedMatrix read_packed(const hdf5::Location& group);

void write_blocks(const hdf5::Location& group, const BlockMatrix& matrix);
/// Throws like read_packed.
BlockMatrix read_blocks(const hdf5::Location& group);

void write_packed_sparse(const hdf5::Location& group, const PackedSparse& matrix);
/// Throws like read_packed.
PackedSparse read_packed_sparse(const hdf5::Location& group);

}  // namespace matapprox
