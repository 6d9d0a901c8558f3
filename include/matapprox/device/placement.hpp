#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox {

/// Device on which products are computed.
enum class Device {
  kCpu,
  kCuda,  ///< the first NVIDIA GPU that the driver shows (CUDA_VISIBLE_DEVICES chooses)
  kAuto   ///< the GPU if there is one and it is estimated to be faster
};

template <>
struct EnumNames<Device> {
  static constexpr std::array<std::string_view, 3> values{"cpu", "cuda", "auto"};
};

struct GpuInfo {
  std::string name;
  int capability_major = 0;
  int capability_minor = 0;
  int multiprocessors = 0;  ///< streaming multiprocessors
  double clock_hz = 0;      ///< maximum clock rate of the multiprocessors
  int driver_version = 0;   ///< CUDA version of the driver, 1000 major + 10 minor
  int runtime_version = 0;  ///< CUDA version of this build, in the same form
  Index memory_bytes = 0;
  Index free_bytes = 0;
};

/// Returns the reason why no GPU can be used (no CUDA in this build, no driver, a driver too old,
/// no GPU), or an empty string if one can.
std::string why_no_gpu();
/// Describes the GPU. Throws NotAvailable with why_no_gpu().
GpuInfo gpu_info();
/// Bytes read and written per second by a copy within the GPU's memory, the best of a few copies.
/// Throws NotAvailable as gpu_info does.
double gpu_copy_bandwidth();

/// Speed of a machine: the rates used by an estimate.
struct ComputeRates {
  double flops = 0;      ///< additions and multiplications per second, double precision
  double bandwidth = 0;  ///< bytes per second from its memory
  double transfer = 0;   ///< bytes per second between host and GPU; unused for the CPU
  double start = 0;      ///< seconds per product, independent of its size
};
/// Rates of this machine with threads() threads: round figures, not measured.
ComputeRates cpu_rates();
/// Rates of the GPU, from its description and its copy bandwidth.
ComputeRates gpu_rates(const GpuInfo& gpu, double copy_bandwidth);

/// Intended use of an operator.
struct Workload {
  Index columns = 64;   ///< columns of a block
  Index products = 10;  ///< number of products with such blocks
};

/// Estimated cost of an operator on the CPU and on the GPU.
struct PlacementEstimate {
  double cpu_seconds = 0;    ///< all products
  double gpu_seconds = 0;    ///< all products, including transfers of blocks and streamed factors
  double place_seconds = 0;  ///< one transfer of the matrix to the GPU
  Index gpu_bytes = 0;       ///< bytes of the matrix on the GPU
  Index host_bytes = 0;  ///< bytes of Chord factors that stay on the host, streamed at each product
  bool fits = true;      ///< true if the matrix and one column of a block fit on the GPU
  bool gpu_is_faster() const { return fits && place_seconds + gpu_seconds < cpu_seconds; }
};

/// True if place() can put A on a GPU: dense, sparse and kernel matrices, and products of factors.
bool is_placeable(const LinearOperator& A);
/// Throws InvalidArgument unless is_placeable(A) and the workload is positive.
PlacementEstimate estimate_placement(const LinearOperator& A,
                                     const Workload& workload,
                                     const ComputeRates& cpu,
                                     const ComputeRates& gpu,
                                     Index gpu_free_bytes);
/// Returns the estimate as one line of text.
std::string to_text(const PlacementEstimate& estimate);

struct Placement {
  std::shared_ptr<const LinearOperator> matrix;  ///< A itself if the device is the CPU
  Device device = Device::kCpu;                  ///< kCpu or kCuda
  std::optional<PlacementEstimate> estimate;     ///< set for kAuto if there is a GPU
  std::string reason;                            ///< reason for this device, one sentence
  std::string note;  ///< note for the user about streamed factors, or empty
};

/// Places A on the device. On the GPU the result is the same operator: blocks on the host are
/// transferred there and back, blocks in its memory_space() stay on the GPU. A is kept, for its
/// description and its known facts. Chord factors for which the GPU has no room stay on the host,
/// in A, and are streamed through the GPU at each product. Products agree with those of the CPU up
/// to rounding and are bit-identical in every run. Throws NotAvailable for kCuda if there is no
/// GPU, no room on it or A is not placeable. A product of a placed operator throws NotAvailable if
/// the GPU fails or is full.
Placement place(std::shared_ptr<const LinearOperator> A,
                Device device,
                const Workload& workload = {});

}  // namespace matapprox
