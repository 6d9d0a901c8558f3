#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

/// Registry entry of a mechanism.
struct Mechanism {
  std::string_view name;
  std::string_view summary;
  std::vector<OptionText> (*options)();  ///< its own options, with their defaults
};

/// Returns all mechanisms in the order of the tables; those of the caller come last.
std::vector<Mechanism> mechanisms();

/// Creates the mechanism `name` with options given as text; its parameters are added to the list
/// under names that begin with `prefix`. T is float or double. Throws InvalidArgument for a name or
/// an option that does not exist (the nearest is suggested), illegal text, or a shape that the
/// mechanism refuses.
template <class T>
std::unique_ptr<Attention<T>> make_attention(std::string_view name,
                                             ParameterList& list,
                                             const std::string& prefix,
                                             const AttentionShape& shape,
                                             const NamedOptions& options = {});

/// Creates a mechanism from its options as text.
template <class T>
using MakeAttention = std::unique_ptr<Attention<T>> (*)(ParameterList& list,
                                                        const std::string& prefix,
                                                        const AttentionShape& shape,
                                                        const NamedOptions& options);

/// Registers a mechanism of the caller by name, for make_attention and hence for models, training
/// and saved models. Must not be called while another thread creates a mechanism. The name and the
/// summary must exist until the program ends. Throws InvalidArgument for a name that is taken.
void add_mechanism(const Mechanism& mechanism,
                   MakeAttention<float> in_float,
                   MakeAttention<double> in_double);

/// Removes a mechanism that add_mechanism registered; models that use it are not affected. Returns
/// false if there is none of that name. Must not be called while another thread creates a
/// mechanism.
bool remove_mechanism(std::string_view name);

/// `function`, which takes Options instead of text, as a MakeAttention.
template <class T, class Options, auto function>
std::unique_ptr<Attention<T>> attention_from_text(ParameterList& list,
                                                  const std::string& prefix,
                                                  const AttentionShape& shape,
                                                  const NamedOptions& options) {
  return function(list, prefix, shape, options_from<Options>(options));
}

/// The same, given the functions themselves:
///
///     add_mechanism<MyOptions, mine<float>, mine<double>>("mine", "what it does");
template <class Options, auto in_float, auto in_double>
void add_mechanism(std::string_view name, std::string_view summary) {
  add_mechanism({name, summary, [] { return list_options(Options{}); }},
                attention_from_text<float, Options, in_float>,
                attention_from_text<double, Options, in_double>);
}

}  // namespace matapprox::attention
