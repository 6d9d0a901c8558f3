#pragma once

#include <string_view>

namespace matapprox::reproduction {

/// matrices/paper.csv as it was when the library was built.
std::string_view paper_csv();

}  // namespace matapprox::reproduction
