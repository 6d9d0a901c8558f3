#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <string>

#include "matapprox/core/memory.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {
namespace {

/// A fixed sequence of random numbers from which test files are made.
class Sequence {
 public:
  Index index(Index count) {
    return static_cast<Index>(next_() % static_cast<std::uint64_t>(count));
  }
  double value() { return static_cast<double>(next_() >> 11) * 0x1p-52 - 1; }

 private:
  std::mt19937_64 next_{1};
};

/// A coordinate file with full-precision values: 65 MB for 2 million entries.
std::string coordinate_text(Index entries) {
  const Index order = entries / 10 + 1;
  Sequence random;
  std::string text =
      fmt::format("%%MatrixMarket matrix coordinate real general\n{0} {0} {1}\n", order, entries);
  for (Index k = 0; k < entries; ++k) {
    fmt::format_to(std::back_inserter(text),
                   "{} {} {}\n",
                   k * order / entries + 1,
                   random.index(order) + 1,
                   random.value());
  }
  return text;
}

std::string table_text(Index numbers) {
  Sequence random;
  std::string text;
  for (Index k = 0; k < numbers; ++k)
    fmt::format_to(std::back_inserter(text), "{}{}", random.value(), k % 50 == 49 ? '\n' : ',');
  return text;
}

std::string edge_text(Index edges) {
  Sequence random;
  std::string text;
  for (Index k = 0; k < edges; ++k) {
    fmt::format_to(
        std::back_inserter(text), "{}\t{}\n", random.index(edges / 5), random.index(edges / 5));
  }
  return text;
}

void time_parsing(benchmark::State& state, const std::string& text, const auto& parse) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(parse(text));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(text.size()));
}

void parse_coordinate(benchmark::State& state) {
  const int before = threads();
  set_threads(static_cast<int>(state.range(1)));
  time_parsing(state, coordinate_text(state.range(0)), [](const std::string& text) {
    return parse_matrix_market(text, "bench");
  });
  set_threads(before);
}
BENCHMARK(parse_coordinate)
    ->ArgNames({"entries", "threads"})
    ->ArgsProduct({{20000, 2000000}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void parse_table(benchmark::State& state) {
  time_parsing(state, table_text(state.range(0)), [](const std::string& text) {
    return parse_delimited(text, "bench");
  });
}
BENCHMARK(parse_table)->ArgName("numbers")->Arg(20000)->Arg(2000000)->Unit(benchmark::kMillisecond);

void parse_edges(benchmark::State& state) {
  time_parsing(state, edge_text(state.range(0)), [](const std::string& text) {
    return parse_edge_list(text, "bench");
  });
}
BENCHMARK(parse_edges)->ArgName("edges")->Arg(20000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace matapprox
