#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// What a .npy file says about its array; sizes already checked against the length of the file.
struct NpyHeader {
  char kind = 'f';      ///< b bool, i signed, u unsigned, f floating
  Index item_size = 8;  ///< bytes of one number
  bool big_endian = false;
  bool fortran_order = false;
  Index rows = 0;
  Index cols = 0;        ///< 1 for a one-dimensional array
  std::size_t data = 0;  ///< where the numbers begin
};

/// Throws FileError as read_npy does.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& name);

/// The header of a new file; `shape` as Python writes it: "(3, 4)", "(5,)", "()".
std::string make_npy_header(const std::string& descr, bool fortran_order, const std::string& shape);

}  // namespace matapprox
