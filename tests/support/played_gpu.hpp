#pragma once

#include <memory>

#include "device/chord_objective.hpp"
#include "device/cuda/kernels/grid.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox::test {

/// A placed as on a GPU by GPU code, whose kernels run on the host in the given order. Products
/// with dense and sparse factors, which a GPU's libraries compute, are plain loops. `room` is the
/// number of values that intermediate blocks may use, `free_bytes` the number of bytes that are
/// free for the matrix.
std::shared_ptr<const LinearOperator> placed_on_host(
    std::shared_ptr<const LinearOperator> A,
    cuda::HostOrder order = cuda::HostOrder::kForward,
    Index room = Index{1} << 30,
    Index free_bytes = Index{1} << 40);

/// The memory space of a GPU, by GPU code on the host.
std::shared_ptr<const MemorySpace> host_gpu_space(
    cuda::HostOrder order = cuda::HostOrder::kForward);

/// The objective of a fit on a GPU with the given number of free bytes, by GPU code on the host.
std::unique_ptr<DeviceChordObjective> host_gpu_objective(
    const ChordPattern& pattern,
    Index max_columns,
    const ChordTarget& target,
    cuda::HostOrder order = cuda::HostOrder::kForward,
    Index free = Index{1} << 30);

/// Makes objectives of host_gpu_objective whose GPU fails from call number `calls` on, counted over
/// the objective and its memory: each further call throws NotAvailable, except releasing memory.
ChordObjectiveMaker failing_gpu(Index calls);

}  // namespace matapprox::test
