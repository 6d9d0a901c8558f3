#include "matapprox/attention/crossover.hpp"

#include "matapprox/core/require.hpp"

namespace matapprox::attention {

AttentionCost table_one_softmax(const TableOneSetting& setting, Index length) {
  const Index d = setting.width;
  const Index n = length;
  return {2 * d * n * n + 4 * d * d * n, setting.heads * n * n + 5 * d * n};
}

AttentionCost table_one_linformer(const TableOneSetting& setting, Index length) {
  const Index d = setting.width;
  const Index k = setting.linformer_rank;
  return {(4 * d * d + 4 * k * d) * length,
          (5 * d + 2 * k + setting.heads * k) * length + 2 * k * d};
}

AttentionCost table_one_singularformer(const TableOneSetting& setting, Index length) {
  const Index d = setting.width;
  const Index r = setting.singularformer_rank;
  return {3 * r * d * length + 4 * r * d * d + 2 * r * r * d,
          (d + r) * length + 6 * r * d + setting.heads * r * r};
}

Crossover crossover(const CostOfLength& cost, const CostOfLength& reference, Index longest) {
  require(longest >= 1, "crossover: longest {} is below 1", longest);
  Index last_multiplications = 0;  // the largest length at which `cost` is not below
  Index last_stored = 0;
  for (Index n = 1; n <= longest; ++n) {
    const AttentionCost a = cost(n);
    const AttentionCost b = reference(n);
    if (a.multiplications >= b.multiplications) last_multiplications = n;
    if (a.stored >= b.stored) last_stored = n;
  }
  const auto next = [&](Index last) {
    return last == longest ? std::nullopt : std::optional<Index>(last + 1);
  };
  return {next(last_multiplications), next(last_stored)};
}

}  // namespace matapprox::attention
