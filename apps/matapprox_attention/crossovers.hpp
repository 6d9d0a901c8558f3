#pragma once

#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// The lengths from which on a mechanism costs less than softmax attention, at width 384 with six
/// heads [WKZL23, Table 3]: as published, as derived from its Table 1, as counted and as measured.
struct CrossoversChoice {
  std::vector<Index> lengths{16, 32, 64, 128, 192, 256, 384, 512, 768, 1024};
  int rounds = 5;
};

/// Times the layers on one thread. A layer of FLASH replaces both attention and feed-forward layer:
/// its multiplications are compared with those of both, and its time is not compared. The charts
/// show time and memory against the length. Throws InvalidArgument unless there are two lengths or
/// more, in rising order.
ShownRows crossovers(const CrossoversChoice& choice);

}  // namespace matapprox::app
