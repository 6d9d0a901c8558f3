#include "matapprox/core/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

/// The number behind "key:" in a /proc file, in bytes (the files count in kB); 0 if not there.
Index proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// A control group's number; the largest Index if there is none or it says "max".
Index group_value(const char* path) {
  std::ifstream file(path);
  Index value = 0;
  return file >> value ? value : std::numeric_limits<Index>::max();
}

}  // namespace

Index available_memory_bytes() {
  const Index system = proc_value("/proc/meminfo", "MemAvailable");
  const Index limit = group_value("/sys/fs/cgroup/memory.max");
  if (limit == std::numeric_limits<Index>::max()) return system;
  const Index used = group_value("/sys/fs/cgroup/memory.current");
  const Index group = std::max<Index>(0, limit - std::min(limit, used));
  return system == 0 ? group : std::min(system, group);
}

Index peak_memory_bytes() { return proc_value("/proc/self/status", "VmHWM"); }

void reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5";  // resets VmHWM, see proc(5)
}

void require_memory(double bytes, const std::string& what) {
  const auto available = static_cast<double>(available_memory_bytes());
  if (available > 0 && bytes > available) {
    throw NotAvailable(fmt::format("{} needs {:.3g} GB of memory, this machine has {:.3g} GB left",
                                   what,
                                   bytes / 1e9,
                                   available / 1e9));
  }
}

}  // namespace matapprox
