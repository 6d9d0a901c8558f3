#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {

/// Content of a file before its conversion to the requested kind of operator.
struct Source {
  FileMatrix matrix;
  bool is_image = false;
  std::shared_ptr<const LinearOperator> ready;  ///< operator, if ready; `matrix` is then empty
  std::vector<std::string> notes;
};

/// Calls check_effect for all options that are not at their defaults.
void check_kind_options(const std::string& path, const LoadOptions& options);

/// Converts the numbers to the operator that options.kind requests, adding to the notes. Moves from
/// `source`. Throws InvalidArgument, starting with `path`, if that is impossible.
std::shared_ptr<const LinearOperator> make_operator(const std::string& path,
                                                    Source& source,
                                                    const LoadOptions& options);

}  // namespace matapprox
