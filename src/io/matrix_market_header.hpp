#pragma once

#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox::matrix_market {

enum class Field { kReal, kInteger, kPattern };
enum class Symmetry { kGeneral, kSymmetric, kSkewSymmetric };

/// Content of the first two lines that are not comments, already checked against the length of the
/// file, so that memory may be reserved for it.
struct Header {
  bool coordinate = false;
  Field field = Field::kReal;
  Symmetry symmetry = Symmetry::kGeneral;
  Index rows = 0;
  Index cols = 0;
  Index entries = 0;     ///< number of lines (coordinate) or of numbers (array) that must follow
  Index size_line = 0;   ///< line with the sizes, for messages
  std::size_t body = 0;  ///< position of the first entry
};

/// Throws FileError like read_matrix_market.
Header parse_header(std::string_view text, const std::string& name);

/// Throws FileError if a file with this start is no MatrixMarket file.
void check_start(std::string_view start, const std::string& name);

}  // namespace matapprox::matrix_market
