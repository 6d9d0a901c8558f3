#pragma once

#include <cstddef>
#include <cstdint>

#include "check.hpp"
#include "grid.hpp"

namespace matapprox::cuda {

struct DeviceMemory {
  Index free = 0;
  Index total = 0;
};

/// Returns the pool of cudaMallocAsync on the current device; null if there is none.
inline cudaMemPool_t memory_pool() {
  int device = 0;
  int supported = 0;
  check(cudaGetDevice(&device), "the current device");
  check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device),
        "attribute of the device");
  cudaMemPool_t pool = nullptr;
  if (supported != 0) check(cudaDeviceGetMemPool(&pool, device), "memory pool");
  return pool;
}

inline Index pool_bytes(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool, attribute, &bytes), "attribute of the memory pool");
  return static_cast<Index>(bytes);
}

/// Returns the memory of the current device. Unused memory in its pool counts as free, since the
/// next array takes it. Waits for all streams, because memory that they release counts as used
/// until they reach that point.
inline DeviceMemory device_memory() {
  check(cudaDeviceSynchronize(), "work on the device");
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "memory of the device");
  DeviceMemory memory{static_cast<Index>(free), static_cast<Index>(total)};
  if (const cudaMemPool_t pool = memory_pool(); pool != nullptr) {
    memory.free += pool_bytes(pool, cudaMemPoolAttrReservedMemCurrent) -
                   pool_bytes(pool, cudaMemPoolAttrUsedMemCurrent);
  }
  return memory;
}

/// Lets the pool of the current device keep a sixteenth of its memory between products; by default
/// the pool returns all memory at each synchronization of a stream. The rest is left for users
/// without the pool, such as libraries. Returns false if there is no pool.
inline bool keep_pool_memory() {
  const cudaMemPool_t pool = memory_pool();
  if (pool == nullptr) return false;
  constexpr Index kShare = 16;
  const Index kept = device_memory().total / kShare;
  // Never lowers a threshold set by others; its largest value is not a number of bytes.
  std::uint64_t now = 0;
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &now),
        "attribute of the memory pool");
  if (auto wanted = static_cast<std::uint64_t>(kept); now < wanted) {
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &wanted),
          "attribute of the memory pool");
  }
  return true;
}

}  // namespace matapprox::cuda
