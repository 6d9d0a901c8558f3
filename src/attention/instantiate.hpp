#pragma once

#include <ceres/jet.h>

// What a template is made for cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

/// Makes a class or function template of a layer for every scalar that it serves. Jets carry a
/// derivative along one direction through the forward pass: a Jacobian-vector product, which the
/// tests hold against the backward pass.
#define MATAPPROX_INSTANTIATE_LAYER(Class) \
  template class Class<float>;             \
  template class Class<double>;            \
  template class Class<ceres::Jet<double, 1>>

/// The same for the function that makes a mechanism from its options.
#define MATAPPROX_INSTANTIATE_MECHANISM(function, Options)                        \
  template std::unique_ptr<Attention<float>> function(                            \
      ParameterList&, const std::string&, const AttentionShape&, const Options&); \
  template std::unique_ptr<Attention<double>> function(                           \
      ParameterList&, const std::string&, const AttentionShape&, const Options&); \
  template std::unique_ptr<Attention<ceres::Jet<double, 1>>> function(            \
      ParameterList&, const std::string&, const AttentionShape&, const Options&)

// NOLINTEND(bugprone-macro-parentheses)
