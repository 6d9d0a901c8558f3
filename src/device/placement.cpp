#include "matapprox/device/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/gpu_factors.hpp"
#include "device/placed_operator.hpp"
#include "device/processes.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

constexpr double kBytesOfADouble = 8;
/// Number of blocks on the GPU: input and output, and a copy of each in another layout.
constexpr double kBlocksPerProduct = 4;

double product_seconds(const GpuWork& work, const ComputeRates& rates) {
  return std::max(work.flops / rates.flops, work.read / rates.bandwidth) + rates.start;
}

double gigabytes(Index bytes) { return static_cast<double>(bytes) / 1e9; }

std::string not_placeable(const LinearOperator& A) {
  return fmt::format(
      "{} cannot be placed on a GPU; only dense, sparse and kernel matrices and products of "
      "factors can",
      A.description());
}

SpreadOverProcesses& spread_over_processes() {
  static SpreadOverProcesses spread;
  return spread;
}

Placement on_cpu(std::shared_ptr<const LinearOperator> A, std::string reason) {
  if (const SpreadOverProcesses& spread = spread_over_processes(); spread) {
    if (auto on_all = spread(A)) {
      A = std::move(on_all);
      reason += "; over all processes";
    } else {
      reason += "; on the first process alone";
    }
  }
  return {std::move(A), Device::kCpu, {}, std::move(reason), {}};
}

Placement placed_on_gpu(std::shared_ptr<const LinearOperator> A, std::string reason) {
  const Index free_bytes = gpu_info().free_bytes;
  std::string note = streaming_note(gpu_work(*A, 1, free_bytes).value().host_bytes);
  if (!note.empty()) reason += "; " + note;
  return {
      make_placed(std::move(A), free_bytes), Device::kCuda, {}, std::move(reason), std::move(note)};
}

Placement by_estimate(std::shared_ptr<const LinearOperator> A, const Workload& workload) {
  if (const std::string why = why_no_gpu(); !why.empty()) return on_cpu(std::move(A), why);
  if (!is_placeable(*A)) {
    std::string reason = not_placeable(*A);
    return on_cpu(std::move(A), std::move(reason));
  }
  std::optional<PlacementEstimate> estimate;
  Placement result;
  try {
    const GpuInfo gpu = gpu_info();
    estimate = estimate_placement(
        *A, workload, cpu_rates(), gpu_rates(gpu, gpu_copy_bandwidth()), gpu.free_bytes);
    result = estimate->gpu_is_faster()
                 ? placed_on_gpu(A, "the GPU is faster")
                 : on_cpu(A,
                          estimate->fits ? "the GPU is not faster"
                                         : "the matrix does not fit on the GPU");
  } catch (const NotAvailable& error) {
    // The GPU is broken or full: an error only for a caller that requested it.
    result = on_cpu(std::move(A), error.what());
  }
  result.estimate = estimate;
  return result;
}

}  // namespace

void set_spread_over_processes(SpreadOverProcesses spread) {
  spread_over_processes() = std::move(spread);
}

ComputeRates cpu_rates() {
  // One thread of a recent CPU in products with blocks; all threads share the memory bandwidth.
  constexpr double kThreadFlops = 2e10;
  constexpr double kThreadBandwidth = 1e10;
  constexpr double kMaxBandwidth = 2e11;
  const double count = threads();
  return {kThreadFlops * count, std::min(kThreadBandwidth * count, kMaxBandwidth), 0, 1e-6};
}

ComputeRates gpu_rates(const GpuInfo& gpu, double copy_bandwidth) {
  // GPUs for computing (P100, V100, A100, H100, B200) have up to 64 double-precision units per
  // multiprocessor; others have two, including later ones with minor 0 (11.0, 12.0). Half of the
  // peak rate is assumed, and half of a PCIe 4 bus.
  constexpr std::array kMajorsForComputing{6, 7, 8, 9, 10};
  const bool for_computing =
      gpu.capability_minor == 0 &&
      std::ranges::find(kMajorsForComputing, gpu.capability_major) != kMajorsForComputing.end();
  const double units = for_computing ? 64 : 2;
  constexpr double kTransfer = 1e10;
  constexpr double kStart = 1e-4;
  return {0.5 * 2 * units * gpu.multiprocessors * gpu.clock_hz, copy_bandwidth, kTransfer, kStart};
}

bool is_placeable(const LinearOperator& A) { return gpu_work(A, 1).has_value(); }

PlacementEstimate estimate_placement(const LinearOperator& A,
                                     const Workload& workload,
                                     const ComputeRates& cpu,
                                     const ComputeRates& gpu,
                                     Index gpu_free_bytes) {
  require(workload.columns >= 1, "place: {} columns; at least 1 is needed", workload.columns);
  require(workload.products >= 1, "place: {} products; at least 1 is needed", workload.products);
  const std::optional<GpuWork> found = gpu_work(A, workload.columns, gpu_free_bytes);
  require(found.has_value(), "place: {}", not_placeable(A));
  const GpuWork& work = *found;
  const auto products = static_cast<double>(workload.products);
  const auto columns = static_cast<double>(workload.columns);
  const double block_bytes = kBytesOfADouble * columns * static_cast<double>(A.rows() + A.cols());
  PlacementEstimate estimate;
  estimate.cpu_seconds = products * product_seconds(work, cpu);
  estimate.gpu_seconds =
      products * (product_seconds(work, gpu) + (block_bytes + work.streamed) / gpu.transfer);
  estimate.gpu_bytes = work.gpu_bytes;
  estimate.host_bytes = work.host_bytes;
  estimate.place_seconds = static_cast<double>(work.gpu_bytes) / gpu.transfer;
  // Blocks are processed in pieces if there is little room: one column has to fit.
  const double column_bytes =
      kBlocksPerProduct * kBytesOfADouble * static_cast<double>(work.longest);
  estimate.fits =
      static_cast<double>(work.gpu_bytes) + column_bytes < static_cast<double>(gpu_free_bytes);
  return estimate;
}

std::string to_text(const PlacementEstimate& estimate) {
  return fmt::format(
      "estimate: {:.3g} s on the CPU, {:.3g} s on the GPU and {:.3g} s to copy {:.3g} GB there{}{}",
      estimate.cpu_seconds,
      estimate.gpu_seconds,
      estimate.place_seconds,
      gigabytes(estimate.gpu_bytes),
      estimate.fits ? "" : ", which do not fit",
      estimate.host_bytes == 0 ? ""
                               : fmt::format("; {:.3g} GB stay on the host and are streamed",
                                             gigabytes(estimate.host_bytes)));
}

Placement place(std::shared_ptr<const LinearOperator> A, Device device, const Workload& workload) {
  require(A != nullptr, "place: there is no matrix");
  if (device == Device::kCpu) return on_cpu(std::move(A), "as requested");
  if (device == Device::kAuto) return by_estimate(std::move(A), workload);
  if (const std::string why = why_no_gpu(); !why.empty()) throw NotAvailable("cuda: " + why);
  if (!is_placeable(*A)) throw NotAvailable("cuda: " + not_placeable(*A));
  return placed_on_gpu(std::move(A), "as requested");
}

}  // namespace matapprox
