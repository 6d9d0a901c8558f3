#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/io/file_matrix.hpp"
#include "matapprox/io/load.hpp"

namespace matapprox {

/// What a reader found, before it is known as what it is wanted.
struct Source {
  FileMatrix matrix;
  bool is_image = false;
  std::shared_ptr<const LinearOperator> ready;  ///< an operator already; `matrix` is empty then
  std::vector<std::string> notes;
};

/// check_effect for all options that are not at their defaults.
void check_kind_options(const std::string& path, const LoadOptions& options);

/// Turns the numbers into the operator that options.kind asks for, adding to the notes. Moves from
/// `source`. Throws InvalidArgument, starting with `path`, if it cannot be.
std::shared_ptr<const LinearOperator> make_operator(const std::string& path,
                                                    Source& source,
                                                    const LoadOptions& options);

}  // namespace matapprox
