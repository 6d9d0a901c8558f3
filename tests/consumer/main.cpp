#include <iostream>

#include "matapprox/matapprox.hpp"

int main(int, char** arguments) {
  const auto A = matapprox::load(arguments[1]);
  const auto svd = matapprox::truncated_svd(*A.matrix, {.rank = 40});
  const auto error = matapprox::measure(*A.matrix, svd, matapprox::describe(*A.matrix));
  std::cout << "relative error " << error.relative_error.value_or(0) << '\n';
  matapprox::save(arguments[2], svd, {.provenance = A.provenance});
}
