#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::test {

/// A small operator together with its expected matrix, which was computed in another way.
struct OperatorCase {
  std::string name;  ///< letters, digits and underscores
  std::shared_ptr<const LinearOperator> op;
  Matrix expected;
  double tolerance = 1e-13;  ///< relative, Frobenius
};

/// One entry per operator type and variant of the library, including lazy ones and products of
/// factors. Each is made by its function when needed: making an operator may write a file, and
/// listing the names must not.
struct OperatorMaker {
  std::string name;
  std::function<OperatorCase()> make;
};
const std::vector<OperatorMaker>& all_operators();

std::ostream& operator<<(std::ostream& out, const OperatorMaker& maker);

}  // namespace matapprox::test
