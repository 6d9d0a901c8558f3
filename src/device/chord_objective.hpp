#pragma once

#include <functional>
#include <memory>
#include <span>

#include "kernels/adam.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {

/// A memory space of a GPU or of several processes that takes the Adam steps of a Chord fit there.
class AdamSpace : public MemorySpace {
 public:
  /// Does the same as kernels::adam_step with addresses of this memory space.
  virtual void adam_step(const kernels::AdamStep& step,
                         const double* gradient,
                         Index count,
                         double* mean,
                         double* square,
                         double* x) const = 0;
};

/// The objective of a Chord fit on a GPU or over several processes: kernels::chord_objective with
/// its panels there.
class DeviceChordObjective {
 public:
  virtual ~DeviceChordObjective() = default;
  /// Memory space of values and gradients, an AdamSpace.
  virtual const std::shared_ptr<const MemorySpace>& space() const = 0;
  /// Returns f over the columns J (at most `max_columns` of them) and, unless null, computes its
  /// gradient, in the layout of ChordFactors at addresses of space(). The results have the same
  /// bits each time. Throws NotAvailable if the GPU fails or a process runs out of memory.
  virtual double evaluate(std::span<const Index> J, const double* values, double* gradient) = 0;
};

/// The matrix that the factors are fitted to, matrix / unit, possibly with rows and columns in
/// another order. Both the matrix and `columns` must outlive the objective.
struct ChordTarget {
  const LinearOperator& matrix;
  double unit = 1;
  /// Fills the row-major N x |J| panel with columns J. May throw any exception.
  std::function<void(std::span<const Index> J, double* panel)> columns;
  bool ordered = false;      ///< `columns` has another order than `matrix`
  bool symmetrized = false;  ///< the fit is that of (P + P^T) / 2, P the product of the factors
};

/// Creates the objective on the first GPU. Columns of a kernel matrix in its own order are computed
/// there when needed; those of a sparse matrix are taken from its entries, which are copied there.
/// Any other target is copied there as a whole now if it takes at most half of the GPU's free
/// memory and `max_columns` is the order; else `target.columns` is called for one panel at a time,
/// in the caller's thread. Throws NotAvailable if there is no GPU, it is too small, or this build
/// has no CUDA.
std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target);

/// Creates the objective of a fit on a GPU.
using ChordObjectiveMaker = std::function<std::unique_ptr<DeviceChordObjective>(
    const ChordPattern& pattern, Index max_columns, const ChordTarget& target)>;

/// An operator distributed over several processes that creates the objective of a fit to it there.
class ChordObjectiveSource {
 public:
  virtual ~ChordObjectiveSource() = default;
  ChordObjectiveSource(const ChordObjectiveSource&) = delete;
  ChordObjectiveSource(ChordObjectiveSource&&) = delete;
  ChordObjectiveSource& operator=(const ChordObjectiveSource&) = delete;
  ChordObjectiveSource& operator=(ChordObjectiveSource&&) = delete;

  /// Returns null if the fit is faster on this process alone. `target`: for this operator.
  virtual std::unique_ptr<DeviceChordObjective> chord_objective(
      const ChordPattern& pattern, Index max_columns, const ChordTarget& target) const = 0;
  /// Returns the chain with these values, which stay in the memory space of such an objective.
  /// Throws NotAvailable if a process runs out of memory.
  virtual PlacedChord placed_chord(const ChordPattern& pattern,
                                   std::shared_ptr<const MultiVector> values) const = 0;

 protected:
  ChordObjectiveSource() = default;
};

}  // namespace matapprox
