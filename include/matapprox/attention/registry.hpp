#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/attention.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox::attention {

/// A mechanism by name.
struct Mechanism {
  std::string_view name;
  std::string_view summary;
  std::vector<OptionText> (*options)();  ///< its own, with their defaults
};

/// All, in the order of the tables.
std::vector<Mechanism> mechanisms();

/// The mechanism `name` with the options given as text; its parameters are added to the list under
/// names that begin with `prefix`. T is float, double or ceres::Jet<double, 1>.
/// Throws InvalidArgument for a name or an option that does not exist (the nearest is suggested),
/// text that does not fit, or a shape that the mechanism refuses.
template <class T>
std::unique_ptr<Attention<T>> make_attention(std::string_view name,
                                             ParameterList& list,
                                             const std::string& prefix,
                                             const AttentionShape& shape,
                                             const NamedOptions& options = {});

}  // namespace matapprox::attention
