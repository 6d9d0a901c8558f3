#include "matapprox/core/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

/// Value of "key:" in a /proc file, converted from kB to bytes; 0 if the key is missing.
Index proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// Value in a control group's file; the largest Index if the file is missing or contains "max".
Index group_value(const char* path) {
  std::ifstream file(path);
  Index value = 0;
  return file >> value ? value : std::numeric_limits<Index>::max();
}

/// Bytes that the limit on a resource (setrlimit) still allows; the largest Index without a limit.
/// /proc/self/status lists the bytes in use under the key `used`.
template <class Resource>
Index below_limit(Resource resource, const char* used) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<Index>::max();
  const auto most = static_cast<Index>(
      std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<Index>::max())));
  return std::max<Index>(1, most - proc_value("/proc/self/status", used));
}

/// Bytes that the control group still allows; the largest Index if it sets no limit.
Index below_group_limit() {
  const Index limit = group_value("/sys/fs/cgroup/memory.max");
  if (limit == std::numeric_limits<Index>::max()) return limit;
  const Index used = group_value("/sys/fs/cgroup/memory.current");
  return std::max<Index>(1, limit - std::min(limit, used));
}

}  // namespace

Index available_memory_bytes() {
  const Index system = proc_value("/proc/meminfo", "MemAvailable");
  const Index limits = std::min(
      {below_group_limit(), below_limit(RLIMIT_AS, "VmSize"), below_limit(RLIMIT_DATA, "VmData")});
  if (system == 0) return limits == std::numeric_limits<Index>::max() ? 0 : limits;
  return std::min(system, limits);
}

Index peak_memory_bytes() { return proc_value("/proc/self/status", "VmHWM"); }

void reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5";  // resets VmHWM, see proc(5)
}

void require_memory(double bytes, const std::string& what) {
  const auto available = static_cast<double>(available_memory_bytes());
  if (available > 0 && bytes > available) {
    throw NotAvailable(fmt::format("{} needs {:.3g} GB of memory; this machine has {:.3g} GB left",
                                   what,
                                   bytes / 1e9,
                                   available / 1e9));
  }
}

}  // namespace matapprox
