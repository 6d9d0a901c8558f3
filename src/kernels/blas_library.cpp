#include "kernels/blas_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::kernels {

namespace {

/// The function of that name, or null.
template <class Function>
Function* find_function(void* library, const char* name) {
  void* address = dlsym(library, name);
  Function* function = nullptr;
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(function));
  return function;
}

struct OpenBlas {
  char* (*config)() = nullptr;
  char* (*core)() = nullptr;
  int (*threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  // Exported by builds that contain kernels for several cores.
  void (*quit)() = nullptr;
  void (*init)() = nullptr;
};

/// The functions whose names begin with `prefix`, except those that choose a core.
OpenBlas find_open_blas(void* library, const std::string& prefix) {
  OpenBlas found;
  found.config = find_function<char*()>(library, (prefix + "openblas_get_config").c_str());
  found.core = find_function<char*()>(library, (prefix + "openblas_get_corename").c_str());
  found.threads = find_function<int()>(library, (prefix + "openblas_get_num_threads").c_str());
  found.set_threads =
      find_function<void(int)>(library, (prefix + "openblas_set_num_threads").c_str());
  return found;
}

/// The functions in this process.
OpenBlas find_open_blas() {
  OpenBlas found = find_open_blas(RTLD_DEFAULT, "");
  found.quit = find_function<void()>(RTLD_DEFAULT, "gotoblas_dynamic_quit");
  found.init = find_function<void()>(RTLD_DEFAULT, "gotoblas_dynamic_init");
  return found;
}

OpenBlas& open_blas() {
  static OpenBlas functions = find_open_blas();
  return functions;
}

enum class VectorInstructions { kNone, kAvx2, kAvx512 };

VectorInstructions cpu_instructions() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return VectorInstructions::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return VectorInstructions::kAvx2;
  }
#endif
  return VectorInstructions::kNone;
}

/// Vector instructions that the kernels for an x86 core of OpenBLAS use; names as
/// openblas_get_corename spells them. An unknown name counts as a good core.
VectorInstructions core_instructions(const std::string& core) {
  constexpr std::array<const char*, 18> kOld{"Prescott",
                                             "Core2",
                                             "Penryn",
                                             "Dunnington",
                                             "Nehalem",
                                             "Sandybridge",
                                             "Atom",
                                             "Nano",
                                             "Athlon",
                                             "Opteron",
                                             "Opteron_SSE3",
                                             "Barcelona",
                                             "Bobcat",
                                             "Bulldozer",
                                             "Piledriver",
                                             "Steamroller",
                                             "Katmai",
                                             "Northwood"};
  constexpr std::array<const char*, 3> kAvx2{"Haswell", "Zen", "Excavator"};
  const auto is_core = [&](const char* name) { return core == name; };
  if (std::any_of(kOld.begin(), kOld.end(), is_core)) return VectorInstructions::kNone;
  if (std::any_of(kAvx2.begin(), kAvx2.end(), is_core)) return VectorInstructions::kAvx2;
  return VectorInstructions::kAvx512;
}

/// Sets an environment variable for the lifetime of this object.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    const char* old = std::getenv(name);
    was_set_ = old != nullptr;
    if (was_set_) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() {
    if (was_set_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  bool was_set_ = false;
  std::string old_;
};

bool& core_was_repaired() {
  static bool repaired = false;
  return repaired;
}

struct SingleThreadCount {
  std::mutex mutex;
  int guards = 0;
  int max_guards = 0;  ///< largest number so far; OpenBLAS keeps the buffers of that many threads
  int threads_before = 1;
};

SingleThreadCount& single_thread_count() {
  static SingleThreadCount count;
  return count;
}

}  // namespace

void look_for_open_blas(void* library) {
  open_blas() = find_open_blas(library, "scipy_");  // prefix in the wheels of SciPy
  if (!blas_is_open_blas()) open_blas() = find_open_blas(library, "");
}

bool blas_is_open_blas() { return open_blas().config != nullptr; }

std::string blas_library_name() {
  if (!blas_is_open_blas()) return "BLAS";
  std::istringstream words(open_blas().config());
  std::string name;
  std::string version;
  words >> name >> version;
  return name + " " + version;
}

std::string blas_core() { return open_blas().core == nullptr ? "" : open_blas().core(); }

int blas_threads() { return open_blas().threads == nullptr ? 1 : open_blas().threads(); }

void set_blas_threads(int count) {
  if (open_blas().set_threads != nullptr) open_blas().set_threads(count);
}

std::string better_blas_core(const std::string& core) {
  const VectorInstructions has = cpu_instructions();
  const VectorInstructions used = core_instructions(core);
  if (core.empty() || used != VectorInstructions::kNone) return "";
  switch (has) {
    case VectorInstructions::kAvx512:
      return "SkylakeX";
    case VectorInstructions::kAvx2:
      return "Haswell";
    case VectorInstructions::kNone:
      break;
  }
  return "";
}

bool restart_blas_with_core(const std::string& core) {
  if (open_blas().quit == nullptr || open_blas().init == nullptr) return false;
  const EnvironmentVariable choice("OPENBLAS_CORETYPE", core);
  open_blas().quit();
  open_blas().init();
  return blas_core() == core;
}

bool repair_blas_core() {
  const std::string core = better_blas_core(blas_core());
  if (core.empty() || !restart_blas_with_core(core)) return false;
  core_was_repaired() = true;
  return true;
}

void require_blas_buffer() {
  if (!blas_is_open_blas()) return;
  constexpr std::size_t kBuffer = (std::size_t{128} << 20) + (std::size_t{1} << 20);
  void* const room =
      mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room != MAP_FAILED) {
    munmap(room, kBuffer);
    return;
  }
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  throw NotAvailable(fmt::format(
      "{} needs 128 MiB of address space for each thread that calls it, and there is no "
      "room for that{}",
      blas_library_name(),
      limited ? fmt::format(" within the limit of {} kB (ulimit -v)", limit.rlim_cur / 1024) : ""));
}

SingleBlasThread::SingleBlasThread() {
  SingleThreadCount& count = single_thread_count();
  const std::lock_guard lock(count.mutex);
  if (count.guards == count.max_guards) {
    require_blas_buffer();
    ++count.max_guards;
  }
  if (count.guards++ > 0) return;
  count.threads_before = blas_threads();
  if (count.threads_before != 1) set_blas_threads(1);
}

SingleBlasThread::~SingleBlasThread() {
  SingleThreadCount& count = single_thread_count();
  const std::lock_guard lock(count.mutex);
  if (--count.guards > 0) return;
  if (count.threads_before != 1) set_blas_threads(count.threads_before);
}

}  // namespace matapprox::kernels

namespace matapprox {

void configure_blas() {
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr) kernels::repair_blas_core();
}

BlasInfo blas_info() {
  return {kernels::blas_library_name(), kernels::blas_core(), kernels::core_was_repaired()};
}

}  // namespace matapprox
