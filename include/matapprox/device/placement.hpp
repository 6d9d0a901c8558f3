#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox {

/// Where products are computed.
enum class Device {
  kCpu,
  kCuda,  ///< the first NVIDIA GPU that the driver shows (CUDA_VISIBLE_DEVICES chooses)
  kAuto   ///< the GPU where there is one and the estimate says that it is faster
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
  double clock_hz = 0;      ///< of those, at most
  int driver_version = 0;   ///< CUDA version of the driver, 1000 major + 10 minor
  int runtime_version = 0;  ///< CUDA version of this build, likewise
  Index memory_bytes = 0;
  Index free_bytes = 0;
};

/// Why no GPU can be used: no CUDA in this build, no driver, a driver too old, no GPU; empty if
/// one can.
std::string why_no_gpu();
/// The GPU. Throws NotAvailable with why_no_gpu().
GpuInfo gpu_info();
/// Bytes read and written in a second by a copy within the memory of the GPU, the best of a few.
/// Throws NotAvailable as gpu_info does.
double gpu_copy_bandwidth();

/// How fast a machine works: the rates that an estimate is made with.
struct ComputeRates {
  double flops = 0;      ///< additions and multiplications in a second, double precision
  double bandwidth = 0;  ///< bytes in a second from its memory
  double transfer = 0;   ///< bytes in a second between host and GPU; unused for the CPU
  double start = 0;      ///< seconds that a product takes whatever its size
};
/// Of this machine with threads() threads: round figures, nothing is measured.
ComputeRates cpu_rates();
/// Of the GPU: from its description and its copy bandwidth.
ComputeRates gpu_rates(const GpuInfo& gpu, double copy_bandwidth);

/// What an operator is wanted for.
struct Workload {
  Index columns = 64;   ///< of a block
  Index products = 10;  ///< with such blocks
};

/// What an estimate says of one operator on the CPU and on the GPU.
struct PlacementEstimate {
  double cpu_seconds = 0;    ///< all products
  double gpu_seconds = 0;    ///< all products, with blocks and streamed factors over the bus
  double place_seconds = 0;  ///< the matrix to the GPU, once
  Index gpu_bytes = 0;       ///< that the matrix takes there
  Index host_bytes = 0;      ///< of Chord factors that stay on the host, streamed at each product
  bool fits = true;          ///< with room for a block
  bool gpu_is_faster() const { return fits && place_seconds + gpu_seconds < cpu_seconds; }
};

/// Whether place() can put A on a GPU: dense, sparse and kernel matrices, and products of factors.
bool is_placeable(const LinearOperator& A);
/// Throws InvalidArgument unless is_placeable(A) and the workload is positive.
PlacementEstimate estimate_placement(const LinearOperator& A,
                                     const Workload& workload,
                                     const ComputeRates& cpu,
                                     const ComputeRates& gpu,
                                     Index gpu_free_bytes);
/// The estimate in one line.
std::string to_text(const PlacementEstimate& estimate);

struct Placement {
  std::shared_ptr<const LinearOperator> matrix;  ///< A itself where the device is the CPU
  Device device = Device::kCpu;                  ///< kCpu or kCuda
  std::optional<PlacementEstimate> estimate;     ///< of kAuto, where there is a GPU
  std::string reason;                            ///< one sentence: why there
  std::string note;  ///< what the user has to know of it: factors that are streamed; or empty
};

/// A on the device. On the GPU it is the same operator: blocks of the host go in and come out
/// there, those of its memory_space() stay on the GPU. A itself is kept, for its description and
/// what it knows. Chord factors that the GPU has no room for stay on the host, in A, and go
/// through the GPU at each product. Products agree with those of the CPU up to rounding, and are
/// the same bits each time. Throws NotAvailable for kCuda if there is no GPU, no room on it or A
/// is not placeable. A product of a placed operator throws NotAvailable if the GPU fails or is
/// full.
Placement place(std::shared_ptr<const LinearOperator> A,
                Device device,
                const Workload& workload = {});

}  // namespace matapprox
