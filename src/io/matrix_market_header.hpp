#pragma once

#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox::matrix_market {

enum class Field { kReal, kInteger, kPattern };
enum class Symmetry { kGeneral, kSymmetric, kSkewSymmetric };

/// The first two lines that are not comments: what the file says about itself, already checked
/// against its length, so that memory may be reserved for it.
struct Header {
  bool coordinate = false;
  Field field = Field::kReal;
  Symmetry symmetry = Symmetry::kGeneral;
  Index rows = 0;
  Index cols = 0;
  Index entries = 0;     ///< lines that must follow (coordinate) or numbers (array)
  Index size_line = 0;   ///< where the sizes stand, for messages
  std::size_t body = 0;  ///< where the entries begin
};

/// Throws FileError as read_matrix_market does.
Header parse_header(std::string_view text, const std::string& name);

/// Throws FileError if a file that begins so is no MatrixMarket file.
void check_start(std::string_view start, const std::string& name);

}  // namespace matapprox::matrix_market
