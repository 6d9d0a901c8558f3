#include "kernels/amx.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace matapprox::kernels {
namespace {

std::atomic<bool> amx_allowed = true;

#if defined(__x86_64__) && defined(__linux__)

thread_local int scopes = 0;  // nested scopes of this thread

/// Operand of LDTILECFG: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};

bool ask_for_amx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1U << 22U;
  constexpr unsigned kTile = 1U << 24U;
  if ((d & kBf16) == 0 || (d & kTile) == 0) return false;
  // The system grants the registers on request: ARCH_REQ_XCOMP_PERM for XTILEDATA.
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#else

bool ask_for_amx() { return false; }

#endif

}  // namespace

bool has_amx() {
  static const bool has = ask_for_amx();
  return has;
}

bool uses_amx() { return amx_allowed.load(std::memory_order_relaxed) && has_amx(); }

void allow_amx(bool allowed) { amx_allowed.store(allowed, std::memory_order_relaxed); }

#if defined(__x86_64__) && defined(__linux__)

AmxScope::AmxScope() {
  static constexpr TileConfiguration kConfiguration;
  if (scopes++ == 0) asm volatile("ldtilecfg %0" ::"m"(kConfiguration));
}

AmxScope::~AmxScope() {
  if (--scopes == 0) asm volatile("tilerelease");
}

#else

AmxScope::AmxScope() = default;
AmxScope::~AmxScope() = default;

#endif

}  // namespace matapprox::kernels
