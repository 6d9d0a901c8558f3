#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <sstream>
#include <vector>

#include "command_line/file_plan.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "experiments.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/attention/mechanisms/timing.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/safetensors.hpp"
#include "report/json.hpp"
#include "run_flags.hpp"

namespace matapprox::app {
namespace {

using attention::ChosenMechanism;
using attention::TimedAttention;

constexpr Index kTableOneLength = 1024;

struct BenchCommand {
  std::vector<std::string> mechanisms;
  std::vector<Index> lengths{256, 1024, 4096};
  Index width = 64;
  Index heads = 4;
  int rounds = 3;
  std::string tensors;
  DeviceOptions device;
  JsonOptions json;
  ChartOption time_chart;
  ChartOption memory_chart;
};

/// Splits a text at its colons; an empty text has one part, which is empty.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  if (parts.empty()) parts.emplace_back();
  return parts;
}

/// Parses "linformer:rank=256:tied=true". Throws InvalidArgument for a part without =.
ChosenMechanism mechanism_from(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  ChosenMechanism mechanism{parts.front(), {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equal = parts[i].find('=');
    require(equal != std::string::npos,
            "--mechanisms: '{}' of '{}' is not OPTION=VALUE",
            parts[i],
            text);
    mechanism.options.emplace_back(parts[i].substr(0, equal), parts[i].substr(equal + 1));
  }
  return mechanism;
}

std::vector<ChosenMechanism> chosen_mechanisms(const BenchCommand& command) {
  std::vector<ChosenMechanism> all;
  for (const std::string& text : command.mechanisms) all.push_back(mechanism_from(text));
  if (!all.empty()) return all;
  for (const attention::Mechanism& m : attention::mechanisms())
    all.push_back({std::string(m.name), {}});
  return all;
}

std::string number_or_dash(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

std::string crossover_text(const std::vector<TimedAttention>& rows, const std::string& name) {
  if (name == "softmax") return "";
  if (always_faster(rows, name)) return "all these lengths";
  return number_or_dash(attention::measured_crossover(rows, name, "softmax"), "N = {:.0f}");
}

std::string times_text(const std::vector<ChosenMechanism>& mechanisms,
                       const std::vector<TimedAttention>& rows) {
  std::string text =
      "                           N     forward    training    memory      counted    GF/s\n"
      "                                us/token    us/token   B/token   mult/token        \n";
  for (const TimedAttention& row : rows) {
    const auto n = static_cast<double>(row.length);
    const auto count = static_cast<double>(row.cost.multiplications);
    text += fmt::format("{:<20} {:>7} {:>11.3f} {:>11.3f} {:>9.0f} {:>12.0f} {:>7.1f}\n",
                        row.mechanism,
                        row.length,
                        1e6 * row.forward_seconds / n,
                        1e6 * row.training_seconds / n,
                        static_cast<double>(row.bytes) / n,
                        count / n,
                        2e-9 * count / row.forward_seconds);
  }
  text += "\n                     growth of time     faster than softmax from\n";
  for (const ChosenMechanism& mechanism : mechanisms) {
    const std::string name = mechanism.label();
    text += fmt::format("{:<20} {:>14} {:>28}\n",
                        name,
                        number_or_dash(attention::time_slope(rows, name), "N^{:.2f}"),
                        crossover_text(rows, name));
  }
  return text;
}

/// Chart with one line per mechanism, against the length.
report::Chart chart_of(const std::vector<ChosenMechanism>& mechanisms,
                       const std::vector<TimedAttention>& rows,
                       const char* label,
                       const std::function<double(const TimedAttention&)>& value) {
  report::Chart chart =
      empty_chart("bench", "tokens N", label, report::Scale::kLog, report::Scale::kLog);
  for (const ChosenMechanism& mechanism : mechanisms) {
    Curve points;
    for (const TimedAttention& row : rows) {
      if (row.mechanism == mechanism.label())
        points.emplace_back(static_cast<double>(row.length), value(row));
    }
    chart.series.push_back(
        report::numbered_series(mechanism.label(), std::move(points), chart.series.size()));
  }
  return chart;
}

/// The text of an option; empty if it is at its default.
std::string given(const std::vector<ChosenMechanism>& mechanisms,
                  std::string_view name,
                  std::string_view option) {
  for (const ChosenMechanism& m : mechanisms) {
    for (const auto& [key, value] : m.options) {
      if (m.name == name && key == option) return value;
    }
  }
  return "";
}

/// The setting of Table 1 for this run.
attention::TableOneSetting setting_of(const BenchCommand& command,
                                      const std::vector<ChosenMechanism>& mechanisms) {
  attention::TableOneSetting setting;
  setting.width = command.width;
  setting.heads = command.heads;
  const std::string linformer = given(mechanisms, "linformer", "rank");
  const std::string singularformer = given(mechanisms, "singularformer", "rank");
  setting.linformer_rank =
      linformer.empty() ? attention::LinformerOptions{}.rank : std::stoll(linformer);
  setting.singularformer_rank = singularformer.empty() ? 0 : std::stoll(singularformer);
  if (setting.singularformer_rank == 0)  // its default
    setting.singularformer_rank = command.width / command.heads;
  return setting;
}

/// Table 1 at the setting of the run and, if different, at that of the paper's experiments.
std::vector<TableOne> tables_one(const attention::TableOneSetting& setting) {
  std::vector<TableOne> tables{TableOne(setting, kTableOneLength)};
  const attention::TableOneSetting published;
  if (setting != published) tables.emplace_back(published, kTableOneLength);
  return tables;
}

report::Json to_json(const TimedAttention& row) {
  return {{"mechanism", row.mechanism},
          {"length", row.length},
          {"forward_seconds", row.forward_seconds},
          {"training_seconds", row.training_seconds},
          {"bytes", row.bytes},
          {"multiplications", row.cost.multiplications},
          {"stored", row.cost.stored}};
}

/// Writes the tensors of the one mechanism at the one length.
void write_tensors(const std::string& path,
                   const ChosenMechanism& mechanism,
                   const attention::AttentionShape& shape,
                   Index length) {
  std::vector<NamedTensor> tensors;
  for (const attention::LayerTensor& tensor : attention::timed_tensors(mechanism, shape, length)) {
    const auto& values = tensor.values;
    tensors.push_back({tensor.name,
                       {values.rows(), values.cols()},
                       std::vector<float>(values.data(), values.data() + values.size())});
  }
  write_safetensors(path, tensors, {{"writer", "matapprox"}, {"mechanism", mechanism.label()}});
}

int run_bench(const BenchCommand& command) {
  command.device.check_cpu_only("attention bench");
  const std::vector<ChosenMechanism> mechanisms = chosen_mechanisms(command);
  FilePlan files = command.json.files();
  if (!command.tensors.empty()) {
    require(command.tensors.ends_with(".safetensors"),
            "--tensors {}: the name must end with .safetensors",
            command.tensors);
    require(mechanisms.size() == 1 && command.lengths.size() == 1,
            "--tensors needs one mechanism and one length, not {} and {}",
            mechanisms.size(),
            command.lengths.size());
    files.replaces("--tensors", command.tensors);
  }
  command.time_chart.check(files);
  command.memory_chart.check(files);
  set_threads(1);  // times are those of the calling thread
  attention::AttentionShape shape;
  shape.width = command.width;
  shape.heads = command.heads;
  if (!command.tensors.empty())
    write_tensors(command.tensors, mechanisms.front(), shape, command.lengths.front());
  const std::vector<TimedAttention> rows =
      attention::time_attention(mechanisms, shape, command.lengths, command.rounds);
  report::Json json = report::document_head(1, 1);
  json["width"] = command.width;
  json["heads"] = command.heads;
  json["rounds"] = command.rounds;
  json["rows"] = report::Json::array();
  for (const TimedAttention& row : rows) json["rows"].push_back(to_json(row));
  json["growth"] = report::Json::object();
  json["crossover_with_softmax"] = report::Json::object();
  for (const ChosenMechanism& mechanism : mechanisms) {
    const std::string name = mechanism.label();
    json["growth"][name] = report::number_or_null(attention::time_slope(rows, name));
    json["crossover_with_softmax"][name] =
        report::number_or_null(attention::measured_crossover(rows, name, "softmax"));
  }
  std::string tables_text;
  json["table_one"] = report::Json::array();
  for (const TableOne& table : tables_one(setting_of(command, mechanisms))) {
    json["table_one"].push_back(table.json());
    tables_text += table.text();
  }
  command.json.write(json);
  command.time_chart.write([&] {
    return chart_of(mechanisms, rows, "seconds of a forward pass", [](const TimedAttention& row) {
      return row.forward_seconds;
    });
  });
  command.memory_chart.write([&] {
    return chart_of(
        mechanisms, rows, "bytes of a forward and a backward pass", [](const TimedAttention& row) {
          return static_cast<double>(row.bytes);
        });
  });
  if (command.json.replaces_text()) return kDone;
  write_stdout(
      fmt::format("one layer of width {}, {} heads, one thread, float, median of {} rounds\n\n",
                  command.width,
                  command.heads,
                  command.rounds) +
      times_text(mechanisms, rows) + tables_text);
  return kDone;
}

}  // namespace

bool always_faster(const std::vector<TimedAttention>& rows, const std::string& name) {
  bool compared = false;
  for (const TimedAttention& own : rows) {
    for (const TimedAttention& other : rows) {
      if (own.mechanism != name || other.mechanism != "softmax" || own.length != other.length)
        continue;
      if (own.forward_seconds >= other.forward_seconds) return false;
      compared = true;
    }
  }
  return compared;
}

void add_attention_bench(const Command& attention) {
  auto command = std::make_shared<BenchCommand>();
  const Command sub = attention.add_command(
      "bench", "Measures time and memory of the mechanisms by length, and where they cross");
  sub.add_option("--mechanisms",
                 command->mechanisms,
                 "Mechanisms, separated by commas, with options: linformer:rank=256 [all]")
      .delimiter(',');
  sub.add_option("--lengths", command->lengths, "Values of the length N [256,1024,4096]")
      .range(1)
      .delimiter(',');
  sub.add_option("--width", command->width, "Width d of a token [64]").range(1);
  sub.add_option("--heads", command->heads, "Number of heads, for mechanisms with several [4]")
      .range(1);
  sub.add_option(
         "--rounds", command->rounds, "Number of interleaved rounds, whose median is reported [3]")
      .range(1);
  sub.add_option(
         "--tensors",
         command->tensors,
         "Also write input, parameters, result and gradients; needs a single mechanism and length")
      .type_name("FILE.safetensors");
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  command->time_chart.add(sub, "--chart", "Draw the time of a forward pass against N");
  command->memory_chart.add(sub, "--memory-chart", "Draw the memory of a training step against N");
  sub.footer(
      "Examples:\n"
      "  matapprox attention bench --mechanisms softmax,psf,singularformer --lengths 64,256,1024\n"
      "  matapprox attention bench --width 384 --heads 6 --lengths 64,128,256,512,1024 "
      "--mechanisms "
      "softmax,linformer:rank=256,singularformer");
  sub.action([command] { return run_bench(*command); });
}

}  // namespace matapprox::app
