#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/mechanisms/softmax.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/operators/dense.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

constexpr Index kLargestSpectrum = 8192;
constexpr Index kLargestHeadWidth = 65536;

struct SpectrumCommand {
  std::optional<Command> self;
  InputOptions input;
  std::string random;
  Index order = 512;
  Index head_width = 64;
  std::vector<Index> ranks;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
  ChartOption chart;
};

/// softmax(Q K^T / sqrt(p)) of standard normal Q and K.
Matrix random_attention(Index n, Index width, std::uint64_t seed) {
  const Matrix Q = random_normal_matrix(seed, RandomStream::kGenerator, n, width);
  const Matrix K = random_normal_matrix(seed + 1, RandomStream::kGenerator, n, width);
  return attention::softmax_map(Q, K);
}

Matrix random_of(const SpectrumCommand& command) {
  const Index n = command.order;
  const std::uint64_t seed = command.common.seed();
  if (command.random == "normal") return random_normal_matrix(seed, RandomStream::kGenerator, n, n);
  if (command.random == "attention") return random_attention(n, command.head_width, seed);
  require(command.random == "uniform" || command.random == "symmetric_uniform",
          "--random '{}' is not uniform, symmetric_uniform, normal or attention",
          command.random);
  const bool symmetric = command.random == "symmetric_uniform";
  Matrix A(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      const double x = random_uniform(seed, RandomStream::kGenerator, i, j);
      A(i, j) = symmetric ? 2 * x - 1 : x;
    }
  }
  return A;
}

std::shared_ptr<const LinearOperator> matrix_of(const SpectrumCommand& command) {
  require(command.input.path().empty() != command.random.empty(), "give a matrix file or --random");
  const auto given = [&](const char* flag) { return command.self->find_option(flag)->count() > 0; };
  if (command.random.empty()) {
    for (const char* flag : {"--order", "--head-width"})
      require(!given(flag), "{} is for --random, not for a file", flag);
    if (given("--seed")) {
      note(command.common.quiet(),
           "--seed has no effect: the spectrum of a file involves no random numbers");
    }
  } else {
    require(!command.input.changed(),
            "options for reading a matrix apply to a file, not to --random");
    require(command.random == "attention" || !given("--head-width"),
            "--head-width is for --random attention, not for {}",
            command.random);
  }
  if (!command.random.empty()) return std::make_shared<DenseOperator>(random_of(command));
  return command.input.load(command.common.quiet()).matrix;
}

std::vector<Index> ranks_of(const SpectrumCommand& command, Index count) {
  std::vector<Index> ranks = command.ranks;
  if (ranks.empty()) {
    for (Index k = 1; k < count; k *= 2) ranks.push_back(k);
    ranks.push_back(count);
  }
  for (const Index k : ranks) {
    require(k >= 1 && k <= count, "--ranks: {} is outside 1..{}", k, count);
  }
  return ranks;
}

report::Json spectrum_json(const CumulativeSpectrum& spectrum, const std::vector<Index>& ranks) {
  report::Json json = {{"centered", spectrum.centered}, {"shares", report::Json::array()}};
  for (const Index k : ranks) {
    json["shares"].push_back({{"rank", k},
                              {"values", report::number_or_null(spectrum.share(k, 1))},
                              {"squares", report::number_or_null(spectrum.share(k, 2))}});
  }
  json["singular_values"] =
      std::vector<double>(spectrum.values.data(), spectrum.values.data() + spectrum.values.size());
  return json;
}

/// Chart of the shares against k; a zero matrix has none.
report::Chart spectrum_chart(const CumulativeSpectrum& plain, const CumulativeSpectrum& centered) {
  report::Chart chart =
      empty_chart("spectrum", "k, the number of largest singular values", "share of all");
  chart.y.range = {{0, 1}};
  int style = 0;
  for (const CumulativeSpectrum* spectrum : {&plain, &centered}) {
    for (const int power : {2, 1}) {
      Curve points;
      for (Index k = 1; k <= spectrum->values.size(); ++k) {
        const double share = spectrum->share(k, power);
        if (std::isfinite(share)) points.emplace_back(static_cast<double>(k), share);
      }
      const char* of = power == 2 ? "sum of squares" : "sum";
      report::ChartSeries series = report::styled_series(
          spectrum->centered ? fmt::format("{}, columns centered", of) : of, points, style);
      series.point_type = 0;
      series.dashed = spectrum->centered;
      chart.series.push_back(std::move(series));
      style += 2;
    }
  }
  return chart;
}

/// A zero matrix has no shares.
std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.4f}", share) : "-";
}

int run_spectrum(const SpectrumCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("attention spectrum");
  FilePlan files = command.json.files();
  files.reads(command.input.path());
  command.chart.check(files);
  const auto A = matrix_of(command);
  require(std::max(A->rows(), A->cols()) <= kLargestSpectrum,
          "a matrix of {} x {}: all singular values are computed only for up to {} rows and "
          "columns; `approximate FILE truncated_svd` computes the leading ones",
          A->rows(),
          A->cols(),
          kLargestSpectrum);
  const CumulativeSpectrum plain = cumulative_spectrum(*A, false);
  const CumulativeSpectrum centered = cumulative_spectrum(*A, true);
  const std::vector<Index> ranks = ranks_of(command, plain.values.size());
  report::Json json = report::document_head(command.common.seed(), threads());
  json["matrix"] = command.random.empty() ? command.input.path() : command.random;
  json["rows"] = A->rows();
  json["cols"] = A->cols();
  json["spectra"] = {spectrum_json(plain, ranks), spectrum_json(centered, ranks)};
  command.json.write(json);
  command.chart.write([&] { return spectrum_chart(plain, centered); });
  if (command.json.replaces_text()) return kDone;
  std::string text = fmt::format(
      "{} x {}, share of the largest k of {} singular values\n"
      "                     original         columns centered\n"
      "       k        sum    squares         sum    squares\n",
      A->rows(),
      A->cols(),
      plain.values.size());
  for (const Index k : ranks) {
    text += fmt::format("{:>8} {:>10} {:>10}  {:>10} {:>10}\n",
                        k,
                        share_text(plain.share(k, 1)),
                        share_text(plain.share(k, 2)),
                        share_text(centered.share(k, 1)),
                        share_text(centered.share(k, 2)));
  }
  write_stdout(text);
  return kDone;
}

}  // namespace

void add_attention_spectrum(const Command& attention) {
  auto command = std::make_shared<SpectrumCommand>();
  const Command sub = attention.add_command(
      "spectrum",
      "Computes cumulative singular values of a matrix, with and without its column means");
  command->self = sub;
  command->input.add(sub, "The matrix").required(false);
  sub.add_option("--random",
                 command->random,
                 "Random matrix instead of a file: entries uniform in 0..1, symmetric_uniform in "
                 "-1..1, normal, or attention, softmax(Q K^T / sqrt(p)) of normal Q and K");
  sub.add_option("--order", command->order, "Order N of a random matrix [512]")
      .range(1, kLargestSpectrum);
  sub.add_option("--head-width", command->head_width, "Head width p of random attention [64]")
      .range(1, kLargestHeadWidth);
  sub.add_option("--ranks", command->ranks, "Values of k: 64,128 [powers of two]")
      .range(1)
      .delimiter(',');
  command->common.add(sub, true);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  command->chart.add(sub, "--chart", "Draw the shares against k");
  sub.footer(
      "Examples:\n"
      "  matapprox attention spectrum --random uniform --ranks 128\n"
      "  matapprox attention spectrum map.npy");
  sub.action([command] { return run_spectrum(*command); });
}

}  // namespace matapprox::app
