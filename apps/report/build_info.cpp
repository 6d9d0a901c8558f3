#include "report/build_info.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <hwy/highway.h>
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <Eigen/Core>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "matapprox/core/types.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {
namespace {

/// Value of the first line "key ... : value" of a /proc file; empty if there is none.
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

std::string libjpeg_version() {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
  return fmt::format("{}.{}.{}",
                     LIBJPEG_TURBO_VERSION_NUMBER / 1000000,
                     LIBJPEG_TURBO_VERSION_NUMBER / 1000 % 1000,
                     LIBJPEG_TURBO_VERSION_NUMBER % 1000);
#else
  return fmt::format("{}", JPEG_LIB_VERSION);
#endif
}

}  // namespace

std::string version() { return MATAPPROX_VERSION; }

std::string machine_description() {
  std::string cpu = proc_field("/proc/cpuinfo", "model name");
  if (cpu.empty()) cpu = "unknown CPU";
  const std::string total = proc_field("/proc/meminfo", "MemTotal");
  const double gigabytes = total.empty() ? 0.0 : std::strtod(total.c_str(), nullptr) * 1024 / 1e9;
  return fmt::format("{}, {} CPUs, {}, {:.1f} GB",
                     cpu,
                     std::thread::hardware_concurrency(),
                     kernels::instruction_set(),
                     gigabytes);
}

std::string compiler_description() {
#if defined(__clang__)
  const std::string compiler = fmt::format("clang {}", __clang_version__);
#else
  const std::string compiler = fmt::format("g++ {}", __VERSION__);
#endif
#if defined(NDEBUG)
  return compiler + ", optimized";
#else
  return compiler + ", with assertions";
#endif
}

std::vector<std::pair<std::string, std::string>> library_versions() {
  const auto dotted = [](int major, int minor, int patch) {
    return fmt::format("{}.{}.{}", major, minor, patch);
  };
  std::vector<std::pair<std::string, std::string>> all = {
      {"Eigen", dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
      {"Highway", dotted(HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
      {"HDF5", dotted(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE)},
      {"fmt", dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"json",
       dotted(
           NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"libpng", PNG_LIBPNG_VER_STRING},
      {"libjpeg", libjpeg_version()},
      {"zlib", ZLIB_VERSION}};
  if (const std::string matio = matio_version(); !matio.empty()) all.emplace_back("matio", matio);
  for (auto& engine : linked_engines()) all.push_back(std::move(engine));
  return all;
}

}  // namespace matapprox
