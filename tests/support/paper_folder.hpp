#pragma once

#include <string>

namespace matapprox::test {

/// A folder with the layout of the paper's, with small matrices of our own under some of its names:
/// Sawmill (N = 49), Strike (N = 9), Votes (N = 16, a .mat file), and the images ship and chess
/// (gradient), 24 x 24.
std::string paper_folder();

}  // namespace matapprox::test
