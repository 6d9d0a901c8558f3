#pragma once

// Names of templates and types cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

/// Instantiates the class template of a layer for both scalar types.
#define MATAPPROX_INSTANTIATE_LAYER(Class) \
  template class Class<float>;             \
  template class Class<double>

/// Instantiates, for both scalar types, the function that creates a mechanism from its options.
#define MATAPPROX_INSTANTIATE_MECHANISM(function, Options)                        \
  template std::unique_ptr<Attention<float>> function(                            \
      ParameterList&, const std::string&, const AttentionShape&, const Options&); \
  template std::unique_ptr<Attention<double>> function(                           \
      ParameterList&, const std::string&, const AttentionShape&, const Options&)

// NOLINTEND(bugprone-macro-parentheses)
