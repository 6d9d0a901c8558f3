#include "matapprox/methods/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "matapprox/core/require.hpp"
#include "matapprox/methods/butterfly.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/methods/cur.hpp"
#include "matapprox/methods/exact.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/kronecker.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/toeplitz.hpp"
#include "matapprox/methods/transform.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/methods/wavelet.hpp"
#include "methods/chord/optimizers.hpp"
#include "methods/spectra.hpp"
#include "operators/sparse_solvers.hpp"

namespace matapprox {
namespace {

template <class Options>
std::vector<OptionText> options_of() {
  return list_options(Options{});
}

template <class Options>
void read_named(const NamedOptions& named) {
  options_from<Options>(named);
}

template <class Options, auto function>
Approximation run_named(const LinearOperator& A,
                        const NamedOptions& named,
                        const RunControl& control) {
  return function(A, options_from<Options>(named), control);
}

template <class Options, auto function>
constexpr Method make(std::string_view name,
                      std::string_view summary,
                      bool has_checkpoints = false) {
  return {name,
          summary,
          &options_of<Options>,
          &read_named<Options>,
          &run_named<Options, function>,
          has_checkpoints};
}

constexpr bool kHasCheckpoints = true;

/// One line per method, in the order of the comparison table.
constexpr std::array kMethods{
    make<TruncatedSvdOptions, truncated_svd>(
        "truncated_svd", "best approximation of rank k: U S V^T", kHasCheckpoints),
    make<NystromOptions, nystrom>(
        "nystrom", "sampled columns of a square matrix: C W^+ C^T", kHasCheckpoints),
    make<JlProjectionOptions, jl_projection>("jl_projection",
                                             "random projection: (A R^T) R, R from a seed"),
    make<CurOptions, cur>("cur", "actual columns and rows: C U R, sparse if A is"),
    make<ChordOptions, chord>(
        "chord", "product of sparse factors with Chord links: W_1 W_2 ... W_M", kHasCheckpoints),
    make<HierarchicalOptions, hierarchical>(
        "hierarchical", "blocks of low rank, dense or sparse, with few bits per value"),
    make<ToeplitzOptions, toeplitz>("toeplitz",
                                    "one value for each diagonal or antidiagonal, also of blocks"),
    make<KroneckerOptions, kronecker>("kronecker",
                                      "sum of Kronecker products, with few bits per value"),
    make<ButterflyOptions, butterfly>(
        "butterfly", "product of log N sparse stages of a fast transform, with few bits per value"),
    make<TransformOptions, transform>(
        "transform", "few coefficients in bases of cosines, sines, waves or signs: T C T^T"),
    make<WaveletOptions, wavelet>("wavelet",
                                  "wavelet coefficients with few bits per value, entropy coded"),
    make<ExactOptions, exact>("exact", "the matrix itself, without loss, in the fewest bytes"),
};

}  // namespace

bool Method::has_option(std::string_view option) const {
  const auto all = options();
  return std::any_of(all.begin(), all.end(), [&](const OptionText& candidate) {
    return candidate.name == option;
  });
}

void Method::check(const NamedOptions& named) const {
  check_names(name, named, options());
  try {
    read(named);
  } catch (const InvalidArgument& problem) {
    throw InvalidArgument(fmt::format("{}: {}", name, problem.what()));
  }
}

Approximation Method::run(const LinearOperator& A,
                          const NamedOptions& named,
                          const RunControl& control) const {
  check(named);
  return function(A, named, control);
}

std::span<const Method> methods() { return kMethods; }

const Method& find_method(std::string_view name) {
  std::vector<std::string> known;
  for (const Method& method : kMethods) {
    if (method.name == name) return method;
    known.emplace_back(method.name);
  }
  throw InvalidArgument(fmt::format("there is no method '{}'{}; the methods are {}",
                                    name,
                                    suggestion(name, known),
                                    fmt::join(known, ", ")));
}

std::vector<std::pair<std::string, std::string>> linked_engines() {
  std::vector<std::pair<std::string, std::string>> all = sparse_solver_versions();
  if (chord_fit::ceres_is_available()) all.emplace_back("Ceres", chord_fit::ceres_version());
  if (spectra_is_available()) all.emplace_back("Spectra", spectra_version());
  return all;
}

}  // namespace matapprox
