#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/layers/tokens.hpp"
#include "matapprox/attention/options.hpp"

namespace matapprox::attention {

/// The distribution that the initial entries of a parameter are drawn from.
struct Initial {
  enum class Distribution {
    kConstant,
    kFirstColumn,
    kUniform,
    kNormal,
    kTruncatedNormal,
    kOrthogonal
  };
  Distribution distribution = Distribution::kConstant;
  /// The constant; the bound of the uniform distribution; or the standard deviation, of which
  /// kTruncatedNormal allows two at most.
  double scale = 0;

  static Initial constant(double value) { return {Distribution::kConstant, value}; }
  /// The value in the first column, 0 elsewhere.
  static Initial first_column(double value) { return {Distribution::kFirstColumn, value}; }
  static Initial uniform(double bound) { return {Distribution::kUniform, bound}; }
  static Initial normal(double standard_deviation) {
    return {Distribution::kNormal, standard_deviation};
  }
  /// Blocks of `cols` orthogonal rows, the last one possibly incomplete, each row with the norm of
  /// a standard normal vector of that length. [CLD+21]
  static Initial orthogonal() { return {Distribution::kOrthogonal, 1}; }
  static Initial truncated_normal(double standard_deviation) {
    return {Distribution::kTruncatedNormal, standard_deviation};
  }
};

/// One parameter: rows x cols numbers, row-major, at `offset` in the block of all parameters.
struct Parameter {
  std::string name;  ///< "block0.attention.query.weight"
  Index rows = 0;
  Index cols = 0;
  Index offset = 0;
  Initial initial = {};
  bool trained = true;
  Index size() const { return rows * cols; }
  operator ParameterSlot() const { return {offset, rows, cols}; }
};

/// Positions of all parameters in one contiguous block. The block is the optimizer's vector, and
/// gradients have the same layout. Layers add their parameters at construction and keep the
/// positions; they hold no numbers themselves.
class ParameterList {
 public:
  /// Adds a parameter and returns it with its position. Throws InvalidArgument if the name is
  /// taken, a size is not positive, or all parameters together are more than 2^40 numbers.
  const Parameter& add(const std::string& name, Index rows, Index cols, Initial initial);
  /// Returns the parameter of that name and size, and adds it if it is new: layers that request the
  /// same parameter share it.
  const Parameter& add_shared(const std::string& name, Index rows, Index cols, Initial initial);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Throws InvalidArgument if there is no parameter of that name.
  const Parameter& find(std::string_view name) const;
  Index size() const { return size_; }  ///< number of values of all parameters
  /// Marks all parameters whose names begin with `prefix` as trained or frozen.
  void set_trained(std::string_view prefix, bool trained);

  /// Initial values of all parameters. Each entry depends only on the seed, the name of its
  /// parameter and its position in it, not on other parameters in the list.
  template <class T>
  std::vector<T> initial_values(std::uint64_t seed) const;

 private:
  const Parameter* lookup(std::string_view name) const;
  std::vector<Parameter> parameters_;
  Index size_ = 0;
};

}  // namespace matapprox::attention
