#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Whether copies of repeated singular values may be missing from what a Krylov space of `width`
/// random starting columns found. With probability one such a space holds min(width, m) copies of a
/// value that A has m times (of the part of A that the space was kept away from). So where fewer
/// than `width` of the values found lie together, all copies were found; and a copy that is missing
/// matters only if its value is above the least of those that are wanted.
///
/// `found`: the first `rank` values, descending by magnitude, eigenvalues with their signs: l and
/// -l are not copies. `known`: those that were there before this space, likewise, or empty.
/// `spread`: the relative distance up to which values count as copies.
bool may_lack_copies(
    const Vector& found, const Vector& known, Index rank, Index width, double spread);

}  // namespace matapprox
