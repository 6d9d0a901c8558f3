#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "attention/subcommands.hpp"
#include "core/require.hpp"
#include "exit_codes.hpp"
#include "matapprox/attention/crossover.hpp"
#include "matapprox/attention/registry.hpp"
#include "matapprox/attention/timing.hpp"
#include "output.hpp"
#include "report/json.hpp"
#include "shared_options.hpp"

namespace matapprox::app {
namespace {

using attention::TimedAttention;

struct BenchCommand {
  std::vector<std::string> mechanisms;
  std::vector<Index> lengths{256, 1024, 4096};
  Index width = 64;
  Index heads = 4;
  int rounds = 3;
  DeviceOptions device;
  JsonOptions json;
};

std::vector<std::string> chosen_mechanisms(const BenchCommand& command) {
  if (!command.mechanisms.empty()) return command.mechanisms;
  std::vector<std::string> all;
  for (const attention::Mechanism& m : attention::mechanisms()) all.emplace_back(m.name);
  return all;
}

std::string number_or_dash(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

/// Whether `name` takes less time than softmax at every length that both were timed at.
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

std::string crossover_text(const std::vector<TimedAttention>& rows, const std::string& name) {
  if (name == "softmax") return "";
  if (always_faster(rows, name)) return "all these lengths";
  return number_or_dash(attention::measured_crossover(rows, name, "softmax"), "N = {:.0f}");
}

std::string times_text(const std::vector<std::string>& mechanisms,
                       const std::vector<TimedAttention>& rows) {
  std::string text = fmt::format("{:<20} {:>7} {:>11} {:>11} {:>9} {:>12} {:>7}\n",
                                 "",
                                 "N",
                                 "forward",
                                 "training",
                                 "memory",
                                 "counted",
                                 "GF/s");
  text += fmt::format("{:<20} {:>7} {:>11} {:>11} {:>9} {:>12} {:>7}\n",
                      "",
                      "",
                      "us/token",
                      "us/token",
                      "B/token",
                      "mult/token",
                      "");
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
  text += fmt::format("\n{:<20} {:>14} {:>28}\n", "", "growth of time", "faster than softmax from");
  for (const std::string& name : mechanisms) {
    text += fmt::format("{:<20} {:>14} {:>28}\n",
                        name,
                        number_or_dash(attention::time_slope(rows, name), "N^{:.2f}"),
                        crossover_text(rows, name));
  }
  return text;
}

/// Table 1 of the Singularformer paper at its experiments' setting.
struct TableOneRow {
  const char* name;
  attention::AttentionCost (*cost)(const attention::TableOneSetting&, Index);
};
constexpr std::array<TableOneRow, 3> kTableOne{
    {{"softmax", attention::table_one_softmax},
     {"linformer", attention::table_one_linformer},
     {"singularformer", attention::table_one_singularformer}}};
constexpr Index kTableOneLength = 1024;

attention::Crossover table_one_crossover(const TableOneRow& row) {
  const attention::TableOneSetting setting;
  return attention::crossover([&](Index n) { return row.cost(setting, n); },
                              [&](Index n) { return attention::table_one_softmax(setting, n); },
                              1 << 14);
}

std::string table_one_text() {
  const attention::TableOneSetting setting;
  std::string text = fmt::format(
      "\ntheory [WKZL23, Table 1], d = {}, {} heads, k = {}, r = {}; at N = {}\n"
      "{:<20} {:>16} {:>14} {:>28}\n",
      setting.width,
      setting.heads,
      setting.linformer_rank,
      setting.singularformer_rank,
      kTableOneLength,
      "",
      "multiplications",
      "numbers",
      "below softmax from N (mult., numbers)");
  for (const TableOneRow& row : kTableOne) {
    const attention::AttentionCost cost = row.cost(setting, kTableOneLength);
    const attention::Crossover from = table_one_crossover(row);
    text += fmt::format("{:<20} {:>16} {:>14} {:>14} {:>13}\n",
                        row.name,
                        cost.multiplications,
                        cost.stored,
                        from.multiplications ? fmt::format("{}", *from.multiplications) : "",
                        from.stored ? fmt::format("{}", *from.stored) : "");
  }
  return text;
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

int run_bench(const BenchCommand& command) {
  command.device.check_cpu_only("attention bench");
  command.json.check();
  const std::vector<std::string> mechanisms = chosen_mechanisms(command);
  attention::AttentionShape shape;
  shape.width = command.width;
  shape.heads = command.heads;
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
  for (const std::string& name : mechanisms) {
    json["growth"][name] = report::number_or_null(attention::time_slope(rows, name));
    json["crossover_with_softmax"][name] =
        report::number_or_null(attention::measured_crossover(rows, name, "softmax"));
  }
  command.json.write(json);
  if (command.json.replaces_text()) return kDone;
  write_stdout(
      fmt::format("one layer of width {}, {} heads, one thread, float, median of {} rounds\n\n",
                  command.width,
                  command.heads,
                  command.rounds) +
      times_text(mechanisms, rows) + table_one_text());
  return kDone;
}

}  // namespace

void add_attention_bench(CLI::App& app, Action& chosen) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App& sub = *app.add_subcommand(
      "bench", "Time and memory of the mechanisms against the length, and where they cross");
  sub.add_option("--mechanisms", command->mechanisms, "Which, by commas [all]")
      ->delimiter(',')
      ->type_name("");
  sub.add_option("--lengths", command->lengths, "Values of N [256,1024,4096]")
      ->delimiter(',')
      ->type_name("");
  sub.add_option("--width", command->width, "d, of a token [64]")->type_name("");
  sub.add_option("--heads", command->heads, "Heads of those that have several [4]")->type_name("");
  sub.add_option("--rounds", command->rounds, "Interleaved rounds, of which the median [3]")
      ->type_name("");
  command->device.add(sub);
  command->json.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox attention bench --mechanisms softmax,psf,singularformer --lengths 64,256,1024");
  sub.callback([command, &chosen] { chosen = [command] { return run_bench(*command); }; });
}

}  // namespace matapprox::app
