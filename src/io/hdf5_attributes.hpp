#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/types.hpp"

// Groups, attributes and texts of this project's files, besides arrays. The caller holds an
// ErrorSilencer. All functions throw FileError; messages start with `file`.
namespace matapprox::hdf5 {

/// Location of an attribute or dataset: an open group, and the file name for messages.
struct Location {
  const Handle& object;
  const std::string& file;
};

Handle create_group(const Location& parent, const std::string& name);
Handle open_group(const Location& parent, const std::string& name);
bool has_link(const Location& parent, const std::string& name);
/// Names of the members of a group, in the order of creation if the file records it.
std::vector<std::string> member_names(const Location& group);

void put_text(const Location& place, const std::string& name, const std::string& value);
void put_integer(const Location& place, const std::string& name, Index value);
void put_seed(const Location& place, const std::string& name, std::uint64_t value);
void put_number(const Location& place, const std::string& name, double value);

bool has_attribute(const Location& place, const std::string& name);
std::string get_text(const Location& place, const std::string& name);
Index get_integer(const Location& place, const std::string& name);
/// Reads an integer; throws unless it is in lowest..highest.
Index get_integer(const Location& place, const std::string& name, Index lowest, Index highest);
std::uint64_t get_seed(const Location& place, const std::string& name);
double get_number(const Location& place, const std::string& name);

/// Writes a scalar dataset of text of any length.
void write_text(const Location& group, const std::string& name, const std::string& value);
std::string read_text(const Location& group, const std::string& name);

}  // namespace matapprox::hdf5
