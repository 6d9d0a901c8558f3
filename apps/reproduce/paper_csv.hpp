#pragma once

#include <string_view>

namespace matapprox::reproduction {

/// Contents of matrices/paper.csv at the time when the library was built.
std::string_view paper_csv();

}  // namespace matapprox::reproduction
