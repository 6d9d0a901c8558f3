#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "matapprox/attention/tasks/task.hpp"

namespace matapprox::test {

inline tasks::Sample sample_of(const tasks::Task& task, tasks::Split split, Index i) {
  tasks::Sample sample;
  task.make(split, i, sample);
  return sample;
}

inline bool same_sample(const tasks::Sample& a, const tasks::Sample& b) {
  return a.tokens == b.tokens && a.features == b.features && a.mask == b.mask &&
         a.number == b.number && a.label == b.label && a.labels == b.labels;
}

}  // namespace matapprox::test
