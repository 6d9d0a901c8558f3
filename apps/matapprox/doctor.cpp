#include <algorithm>
#include <functional>
#include <thread>

#include "command_parts.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/device/placement.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/inverse.hpp"
#include "report/build_info.hpp"

namespace matapprox::app {
namespace {

struct DoctorCommand {
  CommonOptions common;
  JsonOptions json;
};

struct Findings {
  double blas_gflops = 0;     ///< dgemm of the BLAS, one thread
  double own_gflops = 0;      ///< our own product, one thread
  double own_gflops_all = 0;  ///< our own product, all threads
  double bandwidth_gb = 0;    ///< triad, all threads
  BlasInfo blas;
  bool has_suitesparse = false;
  std::string no_gpu;  ///< why there is none; empty if there is one
  std::optional<GpuInfo> gpu;
  double gpu_bandwidth_gb = 0;  ///< bytes read and written by a copy, per second
  std::vector<std::string> advice;
};

/// Shortest of five runs, in seconds, so that rates do not depend on other load of the machine.
double best_seconds(const std::function<void()>& body) {
  double best = 1e300;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const Stopwatch clock;
    body();
    best = std::min(best, clock.seconds());
  }
  return best;
}

void measure_products(Findings& findings) {
  constexpr Index kOrder = 768;
  const double gigaflops = 2.0 * kOrder * kOrder * kOrder / 1e9;
  const Matrix A = random_normal_matrix(1, RandomStream::kMeasure, kOrder, kOrder);
  const Matrix B = random_normal_matrix(2, RandomStream::kMeasure, kOrder, kOrder);
  Matrix C = Matrix::Zero(kOrder, kOrder);
  const int all = threads();
  findings.own_gflops_all = gigaflops / best_seconds([&] {
                              kernels::gemm(kernels::Trans::kNo, A, kernels::Trans::kNo, B, C);
                            });
  set_threads(1);
  findings.own_gflops = gigaflops / best_seconds([&] {
                          kernels::gemm(kernels::Trans::kNo, A, kernels::Trans::kNo, B, C);
                        });
  findings.blas_gflops = gigaflops / best_seconds([&] { kernels::blas_gemm(A, B, C); });
  set_threads(all);
}

/// a = b + 3 c on arrays well beyond the caches: 24 bytes per entry.
void measure_bandwidth(Findings& findings) {
  const Index count = Index{1} << 24;
  const Index piece = Index{1} << 16;
  Vector a = Vector::Zero(count);
  const Vector b = Vector::Constant(count, 1.0);
  const Vector c = Vector::Constant(count, 2.0);
  const double seconds = best_seconds([&] {
    parallel_for(count / piece, [&](Index p) {
      a.segment(p * piece, piece) = b.segment(p * piece, piece) + 3.0 * c.segment(p * piece, piece);
    });
  });
  findings.bandwidth_gb = 24.0 * static_cast<double>(count) / seconds / 1e9;
}

bool suitesparse_works() {
  SparseMatrix one(1, 1);
  one.insert(0, 0) = 2.0;
  one.makeCompressed();
  try {
    inverse_operator(one);
    return true;
  } catch (const NotAvailable&) {
    return false;
  }
}

/// A GPU that is detected but cannot be used counts as none.
void examine_gpu(Findings& findings) {
  findings.no_gpu = why_no_gpu();
  if (!findings.no_gpu.empty()) return;
  try {
    findings.gpu_bandwidth_gb = gpu_copy_bandwidth() / 1e9;
    findings.gpu = gpu_info();
  } catch (const NotAvailable& error) {
    findings.no_gpu = error.what();
  }
}

Findings examine() {
  Findings findings;
  findings.blas = blas_info();
  measure_products(findings);
  measure_bandwidth(findings);
  findings.has_suitesparse = suitesparse_works();
  examine_gpu(findings);
  if (findings.blas_gflops < 0.5 * findings.own_gflops) {
    findings.advice.push_back(fmt::format(
        "The BLAS reaches {:.0f} % of the speed of matapprox's own product, because it detects "
        "this CPU as '{}'. This slows down only LAPACK decompositions. Set OPENBLAS_CORETYPE to "
        "the type of this CPU (SkylakeX, Haswell, Zen) or install a newer OpenBLAS.",
        100 * findings.blas_gflops / findings.own_gflops,
        findings.blas.core));
  }
  if (!findings.has_suitesparse) {
    findings.advice.emplace_back(
        "This build cannot invert sparse matrices (--as inverse, spectrum); that needs SuiteSparse "
        "and -DMATAPPROX_WITH_SUITESPARSE=ON.");
  }
  return findings;
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

report::Json gpu_json(const Findings& findings) {
  if (!findings.gpu) return nullptr;
  const GpuInfo& gpu = *findings.gpu;
  return {{"name", gpu.name},
          {"capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)},
          {"driver_cuda", cuda_version(gpu.driver_version)},
          {"build_cuda", cuda_version(gpu.runtime_version)},
          {"memory_bytes", gpu.memory_bytes},
          {"memory_free_bytes", gpu.free_bytes},
          {"copy_gb_per_second", findings.gpu_bandwidth_gb}};
}

std::string gpu_text(const Findings& findings) {
  if (!findings.gpu) return "none: " + findings.no_gpu;
  const GpuInfo& gpu = *findings.gpu;
  return fmt::format(
      "{}, {:.1f} of {:.1f} GB free, copies at {:.0f} GB/s (sm_{}{}, driver for "
      "CUDA {}, build with {})",
      gpu.name,
      static_cast<double>(gpu.free_bytes) / 1e9,
      static_cast<double>(gpu.memory_bytes) / 1e9,
      findings.gpu_bandwidth_gb,
      gpu.capability_major,
      gpu.capability_minor,
      cuda_version(gpu.driver_version),
      cuda_version(gpu.runtime_version));
}

report::Json to_json(const Findings& findings) {
  report::Json json = report::document_head(1, threads());
  json["compiler"] = compiler_description();
  json["instruction_set"] = kernels::instruction_set();
  json["cpus"] = std::thread::hardware_concurrency();
  json["memory_available_bytes"] = available_memory_bytes();
  json["blas"] = {{"library", findings.blas.library},
                  {"core", findings.blas.core},
                  {"core_was_repaired", findings.blas.core_was_repaired},
                  {"gflops_1_thread", findings.blas_gflops}};
  json["own_gflops_1_thread"] = findings.own_gflops;
  json["own_gflops_all_threads"] = findings.own_gflops_all;
  json["bandwidth_gb_per_second"] = findings.bandwidth_gb;
  json["suitesparse"] = findings.has_suitesparse;
  json["gpu"] = gpu_json(findings);
  json["no_gpu"] = findings.no_gpu;
  json["libraries"] = report::Json::object();
  for (const auto& [name, text] : library_versions()) json["libraries"][name] = text;
  json["advice"] = findings.advice;
  return json;
}

std::string to_text(const Findings& findings) {
  std::string text = fmt::format("matapprox {}, {}\n", version(), compiler_description());
  text += fmt::format("machine      {}\n", machine_description());
  text += fmt::format("threads      {}\n", threads());
  text += fmt::format("memory       {:.1f} GB available\n",
                      static_cast<double>(available_memory_bytes()) / 1e9);
  text += fmt::format("product      {:.1f} GF/s on 1 thread, {:.1f} on {} ({})\n",
                      findings.own_gflops,
                      findings.own_gflops_all,
                      threads(),
                      kernels::instruction_set());
  text += fmt::format("BLAS         {:.1f} GF/s on 1 thread ({}, core {}{})\n",
                      findings.blas_gflops,
                      findings.blas.library,
                      findings.blas.core,
                      findings.blas.core_was_repaired ? ", set by matapprox" : "");
  text += fmt::format("bandwidth    {:.1f} GB/s\n", findings.bandwidth_gb);
  text += fmt::format("SuiteSparse  {}\n", findings.has_suitesparse ? "yes" : "no");
  text += fmt::format("GPU          {}\n", gpu_text(findings));
  text += "libraries   ";
  for (const auto& [name, number] : library_versions()) text += fmt::format(" {} {}", name, number);
  text += "\n";
  for (const std::string& advice : findings.advice) text += "advice       " + advice + "\n";
  if (findings.advice.empty()) text += "advice       none\n";
  return text;
}

int run_doctor(const DoctorCommand& command) {
  command.common.apply();
  command.json.files();
  const Findings findings = examine();
  command.json.show(to_json(findings), to_text(findings));
  return kDone;
}

}  // namespace

void add_doctor(const Command& program) {
  auto command = std::make_shared<DoctorCommand>();
  const Command sub =
      program.add_command("doctor", "Reports what this build and this machine support");
  command->common.add(sub, false);
  command->json.add(sub);
  sub.footer("Example:\n  matapprox doctor");
  sub.action([command] { return run_doctor(*command); });
}

}  // namespace matapprox::app
