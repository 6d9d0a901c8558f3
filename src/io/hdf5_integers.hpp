#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/hdf5_values.hpp"

// Arrays of integers, and of words and floats as they are, with checksums as those of
// hdf5_values.hpp. The caller holds an ErrorSilencer. Everything throws FileError; messages start
// with `file`.
namespace matapprox::hdf5 {

/// Writes integers as 64 bits, or as 32 if `narrow` (they must fit).
void write_integers(const Location& group,
                    const std::string& name,
                    std::span<const Index> values,
                    bool narrow = false);
std::vector<Index> read_integers(const Location& group, const std::string& name);

/// An array of bytes, 16-bit words or floats as it is, without copies in other types. Stored is
/// std::uint8_t, std::uint16_t or float; reading throws where the file holds another type.
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

/// Reads what write_table wrote, as a whole.
std::vector<Index> read_table(const Location& group, const std::string& name, Index columns);

/// How integers are stored in a table.
enum class IntegerType { kInt8, kInt32 };

/// Writes an array of integers (one extent or two, all at least 1), in chunks that are compressed;
/// they must fit the type.
void write_integer_rows(const Location& group,
                        const std::string& name,
                        const std::vector<Index>& extents,
                        IntegerType type,
                        const RowSource& source);
/// Reads integers of any type in pieces; the extents must be those given. Beyond 2^53 they are
/// rounded. Verifies the checksum where there is one. Memory: a piece, whatever the extents.
void read_integer_rows(const Location& group,
                       const std::string& name,
                       const std::vector<Index>& extents,
                       const RowSink& sink);

}  // namespace matapprox::hdf5
