#include "methods/hierarchical/median_order.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace matapprox::blocks {
namespace {

Index widest_coordinate(const Matrix& points, std::span<const Index> members) {
  Vector least = points.row(members.front()).transpose();
  Vector greatest = least;
  for (const Index member : members) {
    least = least.cwiseMin(points.row(member).transpose());
    greatest = greatest.cwiseMax(points.row(member).transpose());
  }
  Index widest = 0;
  (greatest - least).maxCoeff(&widest);
  return widest;
}

void halve(const Matrix& points, std::span<Index> members, Index leaf) {
  if (static_cast<Index>(members.size()) < 2 * leaf) {
    // Makes the order independent of the selection algorithm of the standard library.
    std::sort(members.begin(), members.end());
    return;
  }
  const Index coordinate = widest_coordinate(points, members);
  const std::size_t upper = (members.size() + 1) / 2;
  std::nth_element(members.begin(),
                   members.begin() + static_cast<std::ptrdiff_t>(upper),
                   members.end(),
                   [&](Index a, Index b) {
                     const double x = points(a, coordinate);
                     const double y = points(b, coordinate);
                     return x != y ? x < y : a < b;
                   });
  halve(points, members.first(upper), leaf);
  halve(points, members.subspan(upper), leaf);
}

}  // namespace

std::vector<Index> median_order(const Matrix& points, Index leaf) {
  std::vector<Index> order(static_cast<std::size_t>(points.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  halve(points, order, std::max<Index>(leaf, 1));
  return order;
}

}  // namespace matapprox::blocks
