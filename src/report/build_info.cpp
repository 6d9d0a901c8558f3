#include "matapprox/report/build_info.hpp"

#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "kernels/gemm.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {
namespace {

/// The value behind the first "key ... : value" of a /proc file; empty if there is none.
std::string proc_field(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

}  // namespace

std::string version() { return MATAPPROX_VERSION; }

std::string machine_description() {
  std::string processor = proc_field("/proc/cpuinfo", "model name");
  if (processor.empty()) processor = "unknown processor";
  const std::string total = proc_field("/proc/meminfo", "MemTotal");
  const double gigabytes = total.empty() ? 0.0 : std::strtod(total.c_str(), nullptr) * 1024 / 1e9;
  return fmt::format("{}, {} processors, {}, {:.1f} GB",
                     processor,
                     std::thread::hardware_concurrency(),
                     kernels::instruction_set(),
                     gigabytes);
}

}  // namespace matapprox
