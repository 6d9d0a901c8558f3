#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/mechanisms/softmax.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

constexpr Index kMaxOrder = 8192;
constexpr Index kMaxHeadWidth = 4096;
/// Distortions for which the dimensions of the lemma are printed.
constexpr std::array kDistortions{0.1, 0.25, 0.5};

struct ProjectionCommand {
  Index order = 512;
  Index head_width = 64;
  std::vector<Index> ranks{64, 128, 256};
  std::vector<double> deltas;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
  ChartOption chart;
};

/// 1, 0.1, 0.01 and the 2^-N of the proof, if that is representable as a double.
std::vector<double> deltas_of(const ProjectionCommand& command) {
  if (!command.deltas.empty()) return command.deltas;
  std::vector<double> deltas{1, 0.1, 0.01};
  if (command.order <= 1022) deltas.push_back(std::exp2(-static_cast<double>(command.order)));
  return deltas;
}

/// Chart of errors against k.
report::Chart projection_chart(const std::vector<Index>& ranks,
                               const std::vector<attention::ProjectedSoftmaxErrors>& errors,
                               const std::vector<double>& deltas) {
  report::Chart chart =
      empty_chart("projection", "k, rows of R", "error", report::Scale::kLog, report::Scale::kLog);
  const auto add = [&](std::string title, const auto& error_of) {
    Curve points;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      points.emplace_back(static_cast<double>(ranks[i]), error_of(errors[i]));
    chart.series.push_back(
        report::numbered_series(std::move(title), std::move(points), chart.series.size()));
  };
  add("P R'R V, relative", [](const auto& each) { return each.product; });
  add("what the lemma bounds", [](const auto& each) { return each.pair; });
  for (std::size_t d = 0; d < deltas.size(); ++d) {
    add(fmt::format("layer with delta = {:.3g}, relative", deltas[d]),
        [d](const auto& each) { return each.constructed[d]; });
  }
  return chart;
}

int run_projection(const ProjectionCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("attention projection");
  FilePlan files = command.json.files();
  command.chart.check(files);
  const Index n = command.order;
  const std::uint64_t seed = command.common.seed();
  const auto normal = [&](std::uint64_t which) {
    return random_normal_matrix(seed + which, RandomStream::kGenerator, n, command.head_width);
  };
  const Matrix Q = normal(0);
  const Matrix K = normal(1);
  const Matrix V = normal(2);
  const std::vector<double> deltas = deltas_of(command);
  report::Json json = report::document_head(seed, threads());
  json["order"] = n;
  json["head_width"] = command.head_width;
  json["deltas"] = deltas;
  json["dimensions"] = report::Json::array();
  json["errors"] = report::Json::array();
  std::string text = fmt::format(
      "P = softmax(Q K^T / sqrt({0})), V: {1} x {0}, all normal; R: k x {1}, N(0, 1/k)\n"
      "relative to |P V|_F, except \"pair\": see docs/reproduction.md\n\n"
      "       k   P R^T R V      pair",
      command.head_width,
      n);
  for (const double delta : deltas) text += fmt::format("  {:>12}", fmt::format("d={:.3g}", delta));
  text += "\n";
  std::vector<attention::ProjectedSoftmaxErrors> all;
  for (const Index k : command.ranks) {
    const auto& errors =
        all.emplace_back(attention::projected_softmax_errors(Q, K, V, k, deltas, seed));
    json["errors"].push_back({{"k", k},
                              {"product", errors.product},
                              {"pair", errors.pair},
                              {"constructed", errors.constructed}});
    text += fmt::format("{:>8}  {:>10.3f}  {:>8.3f}", k, errors.product, errors.pair);
    for (const double error : errors.constructed) text += fmt::format("  {:>12.3f}", error);
    text += "\n";
  }
  text += fmt::format("\nrows of R that the lemma requires at N = {}\n", n);
  for (const double epsilon : kDistortions) {
    const Index published = linformer_dimension(n, epsilon);
    const Index least = jl_dimension(n, epsilon);
    json["dimensions"].push_back(
        {{"epsilon", epsilon}, {"linformer", published}, {"dasgupta_gupta", least}});
    text += fmt::format("  epsilon {:<5} 5 ln N / (e^2 - e^3) = {:>6}   [DG03] {:>6}{}\n",
                        epsilon,
                        published,
                        least,
                        published > n ? "   more than N" : "");
  }
  command.json.write(json);
  command.chart.write([&] { return projection_chart(command.ranks, all, deltas); });
  if (!command.json.replaces_text()) write_stdout(text);
  return kDone;
}

}  // namespace

void add_attention_projection(const Command& attention) {
  auto command = std::make_shared<ProjectionCommand>();
  const Command sub = attention.add_command(
      "projection",
      "Measures the error of softmax attention with randomly projected keys and values");
  sub.add_option("--order", command->order, "Number N of tokens [512]").range(2, kMaxOrder);
  sub.add_option("--head-width", command->head_width, "Number p of columns of Q, K and V [64]")
      .range(1, kMaxHeadWidth);
  sub.add_option("--ranks", command->ranks, "Values of k [64,128,256]").range(1).delimiter(',');
  sub.add_option("--deltas",
                 command->deltas,
                 "Values of delta in E = delta R, F = e^-delta R [1,0.1,0.01,2^-N]")
      .delimiter(',');
  command->common.add(sub, true);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  command->chart.add(sub, "--chart", "Draw the errors against k");
  sub.footer("Examples:\n  matapprox attention projection --order 512 --ranks 64,128,256,462");
  sub.action([command] { return run_projection(*command); });
}

}  // namespace matapprox::app
