#pragma once

namespace matapprox {

/// One function object of several, for std::visit: Overloaded{[](const Matrix&) {...}, ...}.
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace matapprox
