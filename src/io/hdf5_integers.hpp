#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/hdf5_values.hpp"

// Arrays of integers, and of words and floats without conversion, with checksums like those of
// hdf5_values.hpp. The caller holds an ErrorSilencer. All functions throw FileError; messages start
// with `file`.
namespace matapprox::hdf5 {

/// Writes integers as 64 bits, or as 32 if `narrow` (they must fit).
void write_integers(const Location& group,
                    const std::string& name,
                    std::span<const Index> values,
                    bool narrow = false);
std::vector<Index> read_integers(const Location& group, const std::string& name);

/// Writes or reads an array of bytes, 16-bit words or floats without copies in other types. Stored
/// is std::uint8_t, std::uint16_t or float; reading throws if the file has another type.
template <class Stored>
void write_array(const Location& group, const std::string& name, std::span<const Stored> values);
template <class Stored>
std::vector<Stored> read_array(const Location& group, const std::string& name);

/// Writes a table of integers of at least 0, row-major, in the narrowest of 8 and 16 bits
/// (unsigned), 32 and 64 (signed) that holds them all.
void write_table(const Location& group,
                 const std::string& name,
                 std::span<const Index> values,
                 Index columns);

/// Reads a whole table that write_table wrote.
std::vector<Index> read_table(const Location& group, const std::string& name, Index columns);

/// Type in which integers are stored.
enum class IntegerType { kInt8, kInt32 };

/// Writes an array of integers (one extent or two, all at least 1) in compressed chunks. The
/// integers must fit the type.
void write_integer_rows(const Location& group,
                        const std::string& name,
                        const std::vector<Index>& extents,
                        IntegerType type,
                        const RowSource& source);
/// Reads integers of any type in pieces; the extents must be those given. Integers beyond 2^53 are
/// rounded. Verifies the checksum if there is one. Memory: one piece, for any extents.
void read_integer_rows(const Location& group,
                       const std::string& name,
                       const std::vector<Index>& extents,
                       const RowSink& sink);

}  // namespace matapprox::hdf5
