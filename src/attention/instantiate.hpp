#pragma once

// What a template is made for cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

/// Makes a class template of a layer for both scalars that it serves.
#define MATAPPROX_INSTANTIATE_LAYER(Class) \
  template class Class<float>;             \
  template class Class<double>

/// The same for the function that makes a mechanism from its options.
#define MATAPPROX_INSTANTIATE_MECHANISM(function, Options)                        \
  template std::unique_ptr<Attention<float>> function(                            \
      ParameterList&, const std::string&, const AttentionShape&, const Options&); \
  template std::unique_ptr<Attention<double>> function(                           \
      ParameterList&, const std::string&, const AttentionShape&, const Options&)

// NOLINTEND(bugprone-macro-parentheses)
