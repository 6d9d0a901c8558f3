#include "matapprox/factors/permutation.hpp"

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {

Permutation::Permutation(std::vector<Index> sources) : sources_(std::move(sources)) {
  require(!sources_.empty(), "permutation: it is empty; its order must be at least 1");
  std::vector<bool> seen(sources_.size());
  for (const Index source : sources_) {
    require(source >= 0 && source < rows(),
            "permutation: index {} is outside 0..{}",
            source,
            rows() - 1);
    require(!seen[static_cast<std::size_t>(source)], "permutation: index {} occurs twice", source);
    seen[static_cast<std::size_t>(source)] = true;
  }
}

Matrix Permutation::apply(const ConstBlock& X) const {
  require(X.rows() == rows(),
          "permutation: the order is {}, but the block has {} rows",
          rows(),
          X.rows());
  Matrix Y(rows(), X.cols());
  parallel_for(X.cols(), [&](Index c) {
    const double* x = X.col(c).data();
    double* y = Y.col(c).data();
    for (std::size_t i = 0; i < sources_.size(); ++i) y[i] = x[sources_[i]];
  });
  return Y;
}

Matrix Permutation::apply_transpose(const ConstBlock& X) const {
  require(X.rows() == rows(),
          "permutation: the order is {}, but the block has {} rows",
          rows(),
          X.rows());
  Matrix Y(rows(), X.cols());
  parallel_for(X.cols(), [&](Index c) {
    const double* x = X.col(c).data();
    double* y = Y.col(c).data();
    for (std::size_t i = 0; i < sources_.size(); ++i) y[sources_[i]] = x[i];
  });
  return Y;
}

}  // namespace matapprox
