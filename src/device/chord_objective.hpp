#pragma once

#include <functional>
#include <memory>
#include <span>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/placed_chord.hpp"

namespace matapprox {

/// The objective of a Chord fit on a GPU or over several processes: kernels::chord_objective with
/// its panels there.
class DeviceChordObjective {
 public:
  virtual ~DeviceChordObjective() = default;
  /// Where values and gradients lie.
  virtual const std::shared_ptr<const MemorySpace>& space() const = 0;
  /// f over the columns J (at most as many as it was made for) and, unless null, its gradient; in
  /// the layout of ChordFactors, at addresses of space(). The same bits each time. Throws
  /// NotAvailable if the GPU fails or a process has no memory.
  virtual double evaluate(std::span<const Index> J, const double* values, double* gradient) = 0;
};

/// What the factors are fitted to, matrix / unit, its rows and columns perhaps in another order;
/// both must outlive the objective.
struct ChordTarget {
  const LinearOperator& matrix;
  double unit = 1;
  /// Fills the row-major N x |J| panel with columns J. May throw what it wants.
  std::function<void(std::span<const Index> J, double* panel)> columns;
  bool ordered = false;      ///< `columns` have another order than those of `matrix`
  bool symmetrized = false;  ///< the factors are P of (P + P^T) / 2, which is fitted
};

/// On the first GPU. Columns of a kernel matrix in its own order are made there when they are
/// needed, those of a sparse one from its entries, which lie there. Of another matrix the whole
/// target is copied there now, if it takes at most half of the GPU's free memory and
/// `max_columns` is the order; else `target.columns` is asked a panel at a time, from the caller's
/// thread. Throws NotAvailable if there is no GPU, it is too small, or this build has no CUDA.
std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target);

/// Makes the objective of a fit that is to be on a GPU.
using ChordObjectiveMaker = std::function<std::unique_ptr<DeviceChordObjective>(
    const ChordPattern& pattern, Index max_columns, const ChordTarget& target)>;

/// An operator whose numbers lie elsewhere, by several processes, and that makes the objective of a
/// fit to it there.
class ChordObjectiveSource {
 public:
  virtual ~ChordObjectiveSource() = default;
  ChordObjectiveSource(const ChordObjectiveSource&) = delete;
  ChordObjectiveSource(ChordObjectiveSource&&) = delete;
  ChordObjectiveSource& operator=(const ChordObjectiveSource&) = delete;
  ChordObjectiveSource& operator=(ChordObjectiveSource&&) = delete;

  /// Null where the fit is better on this process alone. `target` is of this operator.
  virtual std::unique_ptr<DeviceChordObjective> chord_objective(
      const ChordPattern& pattern, Index max_columns, const ChordTarget& target) const = 0;
  /// The chain of these values, which lie where those of such an objective do and stay there.
  /// Throws NotAvailable if a process has no memory.
  virtual PlacedChord placed_chord(const ChordPattern& pattern,
                                   std::shared_ptr<const MultiVector> values) const = 0;

 protected:
  ChordObjectiveSource() = default;
};

}  // namespace matapprox
