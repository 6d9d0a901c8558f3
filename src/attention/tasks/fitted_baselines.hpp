#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/tasks/task.hpp"

namespace matapprox::tasks {

/// A predictor that sees one number of a sample, its cell, and answers with the class that is most
/// frequent among the training samples of that cell.
struct CellReader {
  std::string name;
  Index cells = 0;
  std::function<Index(const Sample& sample)> cell;  ///< 0 .. cells-1; called by several threads
};

/// Computes the errors of such predictors on samples 0 .. samples-1 of a split of a kClass task.
/// They are fitted to twice as many training samples, at least 2000, from number `samples` on:
/// never to those they are measured on. A cell without training samples answers with the majority
/// class. Throws InvalidArgument for samples below 1.
std::vector<Baseline> fitted_baselines(const Task& task,
                                       Split split,
                                       Index samples,
                                       std::span<const CellReader> readers);

/// Computes the mean share of wrong answers, 0..1, that `wrong` returns for samples 0 .. samples-1.
/// Throws InvalidArgument for samples below 1.
Baseline measured_baseline(std::string name,
                           const Task& task,
                           Split split,
                           Index samples,
                           const std::function<double(const Sample& sample)>& wrong);

/// Number of occurrences of the most frequent id.
Index largest_count(std::span<const std::int32_t> ids);

/// Throws InvalidArgument unless an option that counts symbols is in 2..32768.
void require_symbols(std::string_view who, std::string_view option, Index symbols);

}  // namespace matapprox::tasks
