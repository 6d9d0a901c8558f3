#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/tokens.hpp"

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
  double scale =
      0;  ///< the constant; half the width; the standard deviation, cut off at two of them

  static Initial constant(double value) { return {Distribution::kConstant, value}; }
  /// The value in the first column, else 0.
  static Initial first_column(double value) { return {Distribution::kFirstColumn, value}; }
  static Initial uniform(double bound) { return {Distribution::kUniform, bound}; }
  static Initial normal(double standard_deviation) {
    return {Distribution::kNormal, standard_deviation};
  }
  /// Blocks of cols orthogonal rows, the last one perhaps not whole, each row with the norm of a
  /// standard normal vector of that many entries. [CLD+21]
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
};

/// Where each parameter lies in the one contiguous block of all of them: the block is the
/// optimizer's vector, and gradients have the same layout. Layers add theirs when they are made and
/// keep the place; they hold no numbers themselves.
class ParameterList {
 public:
  /// The place of a new parameter. Throws InvalidArgument if the name is taken, a size is not
  /// positive, or all parameters together are more than 2^40 numbers.
  const Parameter& add(const std::string& name, Index rows, Index cols, Initial initial);
  /// The parameter of that name and size, added if it is new: layers that ask for the same share
  /// it.
  const Parameter& add_shared(const std::string& name, Index rows, Index cols, Initial initial);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Throws InvalidArgument if there is none.
  const Parameter& find(std::string_view name) const;
  Index size() const { return size_; }  ///< of all
  /// Names that begin with `prefix` are from here on taken as they are (frozen) or trained.
  void set_trained(std::string_view prefix, bool trained);

  /// All parameters at their start. Each entry depends on the seed, the name of its parameter and
  /// its place only: not on what else the list holds.
  template <class T>
  std::vector<T> initial_values(std::uint64_t seed) const;

 private:
  const Parameter* lookup(std::string_view name) const;
  std::vector<Parameter> parameters_;
  Index size_ = 0;
};

/// Where a parameter lies, as a layer keeps it.
struct ParameterSlot {
  Index offset = 0;
  Index rows = 0;
  Index cols = 0;
  ParameterSlot() = default;
  ParameterSlot(const Parameter& p) : offset(p.offset), rows(p.rows), cols(p.cols) {}  // NOLINT
};

}  // namespace matapprox::attention
