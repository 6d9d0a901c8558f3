#include "matapprox/attention/training/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/hdf5_output.hpp"
#include "io/hdf5_values.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::training {
namespace {

using hdf5::Handle;
using hdf5::Location;

const std::string kModelFormat = "matapprox model";
/// Version 1 had other names for some options and for validations_without_gain.
constexpr Index kModelVersion = 2;
constexpr Index kLargestCount = Index{1} << 48;
constexpr Index kHistoryColumns = 5;
const std::array<std::string_view, 4> kAnswerNames{"number", "class", "token_class", "labels"};

[[noreturn]] void damaged(const Location& place, const std::string& what) {
  throw FileError(fmt::format("{}: {}: the file is damaged", place.file, what));
}

void write_options(const Location& root, const std::string& name, const NamedOptions& options) {
  const Handle group = hdf5::create_group(root, name);
  for (const auto& [option, value] : options) hdf5::write_text({group, root.file}, option, value);
}

NamedOptions read_options(const Location& root, const std::string& name) {
  const Handle group = hdf5::open_group(root, name);
  const Location place{group, root.file};
  NamedOptions options;
  for (const std::string& option : hdf5::member_names(place))
    options.emplace_back(present_name(option), hdf5::read_text(place, option));
  return options;
}

void write_shape(const Location& root, const tasks::TaskShape& shape) {
  const Handle group = hdf5::create_group(root, "shape");
  const Location place{group, root.file};
  hdf5::put_integer(place, "length", shape.length);
  hdf5::put_integer(place, "features", shape.features);
  hdf5::put_integer(place, "vocabulary", shape.vocabulary);
  hdf5::put_text(
      place, "answer", std::string(kAnswerNames[static_cast<std::size_t>(shape.answer)]));
  hdf5::put_integer(place, "classes", shape.classes);
  hdf5::put_number(place, "tolerance", shape.tolerance);
}

tasks::TaskShape read_shape(const Location& root) {
  const Handle group = hdf5::open_group(root, "shape");
  const Location place{group, root.file};
  tasks::TaskShape shape;
  shape.length = hdf5::get_integer(place, "length", 1, kLargestCount);
  shape.features = hdf5::get_integer(place, "features", 0, kLargestCount);
  shape.vocabulary = hdf5::get_integer(place, "vocabulary", 0, kLargestCount);
  const std::string answer = hdf5::get_text(place, "answer");
  const auto found = std::find(kAnswerNames.begin(), kAnswerNames.end(), answer);
  if (found == kAnswerNames.end()) damaged(place, fmt::format("unknown answer '{}'", answer));
  shape.answer = static_cast<tasks::Answer>(found - kAnswerNames.begin());
  shape.classes = hdf5::get_integer(place, "classes", 0, kLargestCount);
  shape.tolerance = hdf5::get_number(place, "tolerance");
  return shape;
}

/// Writes floats as an array with one or two extents.
void write_floats(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  const float* values) {
  const Index cols = extents.size() == 2 ? extents[1] : 1;
  hdf5::write_values(
      group, name, extents, Precision::kFloat, [&](Index first, Index count, double* rows) {
        std::copy_n(values + first * cols, count * cols, rows);
      });
}

void write_parameters(const Location& root,
                      const attention::ParameterList& list,
                      const std::vector<float>& values) {
  const Handle group = hdf5::create_group(root, "parameters");
  for (const attention::Parameter& p : list.parameters()) {
    const float* own = values.data() + p.offset;
    if (!std::all_of(own, own + p.size(), [](float x) { return std::isfinite(x); })) {
      throw NumericalError(fmt::format("{}: {} holds NaN or Inf", root.file, p.name));
    }
    write_floats({group, root.file}, p.name, {p.rows, p.cols}, own);
  }
}

std::vector<float> read_parameters(const Location& root, const attention::ParameterList& list) {
  const Handle group = hdf5::open_group(root, "parameters");
  const Location place{group, root.file};
  std::vector<float> values(static_cast<std::size_t>(list.size()));
  for (const attention::Parameter& p : list.parameters()) {
    hdf5::read_values(
        place, p.name, {p.rows, p.cols}, [&](Index first, Index count, const double* rows) {
          float* own = values.data() + p.offset + first * p.cols;
          std::transform(
              rows, rows + count * p.cols, own, [](double x) { return static_cast<float>(x); });
          if (!std::all_of(own, own + count * p.cols, [](float x) { return std::isfinite(x); }))
            damaged(root, p.name + " holds NaN or Inf");
        });
  }
  return values;
}

std::vector<TrainingPoint> read_history(const Location& place) {
  const std::vector<Index> extents = hdf5::extents_of(place, "history");
  if (extents.size() != 2 || extents[1] != kHistoryColumns)
    damaged(place, "a history without five columns");
  const std::vector<double> rows = hdf5::read_values(place, "history");
  std::vector<TrainingPoint> history;
  for (std::size_t i = 0; i + kHistoryColumns <= rows.size(); i += kHistoryColumns) {
    if (!(rows[i] >= 0 && rows[i] < 9e15)) damaged(place, "a history with a wrong step");
    history.push_back(
        {static_cast<Index>(rows[i]), rows[i + 1], rows[i + 2], rows[i + 3], rows[i + 4]});
  }
  return history;
}

/// Writes a row of `columns` numbers for each validation.
void write_rows(const Location& place,
                const std::string& name,
                const std::vector<std::vector<double>>& rows,
                Index columns) {
  hdf5::write_values(place,
                     name,
                     {static_cast<Index>(rows.size()), columns},
                     Precision::kDouble,
                     [&](Index first, Index count, double* values) {
                       for (Index i = 0; i < count; ++i) {
                         const auto& own = rows[static_cast<std::size_t>(first + i)];
                         std::copy(own.begin(), own.end(), values + columns * i);
                       }
                     });
}

/// `parameters` is the number of parameter arrays, not of their entries.
void write_state(const Location& root, std::size_t parameters, const TrainingState& state) {
  const Handle group = hdf5::create_group(root, "state");
  const Location place{group, root.file};
  const auto flat = [&](const std::string& name, const std::vector<float>& values) {
    write_floats(place, name, {static_cast<Index>(values.size())}, values.data());
  };
  flat("parameters", state.parameters);
  flat("first", state.optimizer.first);
  flat("second", state.optimizer.second);
  hdf5::put_integer(place, "step", state.optimizer.step);
  hdf5::put_integer(place, "best_step", state.best_step);
  hdf5::put_number(place, "best_error", state.best_error);
  hdf5::put_number(place, "best_loss", state.best_loss);
  hdf5::put_integer(place, "validations_without_gain", state.validations_without_gain);
  hdf5::put_number(place, "loss_sum", state.loss_sum);
  hdf5::put_integer(place, "loss_steps", state.loss_steps);
  hdf5::put_number(place, "seconds", state.seconds);
  std::vector<std::vector<double>> history;
  for (const TrainingPoint& p : state.history) {
    history.push_back({static_cast<double>(p.step),
                       p.seconds,
                       p.training_loss,
                       p.validation_loss,
                       p.validation_error});
  }
  write_rows(place, "history", history, kHistoryColumns);
  if (!state.attention_std.empty()) {
    write_rows(
        place, "attention_std", state.attention_std, std::ssize(state.attention_std.front()));
  }
  if (state.start.empty()) return;
  flat("start", state.start);
  write_rows(place, "deviations", state.deviations, static_cast<Index>(parameters));
}

std::vector<float> read_flat(const Location& place, const std::string& name, Index size) {
  const std::vector<double> values = hdf5::read_values(place, name);
  if (static_cast<Index>(values.size()) != size) {
    damaged(place, fmt::format("{} has {} numbers, not {}", name, values.size(), size));
  }
  std::vector<float> floats(values.size());
  std::transform(
      values.begin(), values.end(), floats.begin(), [](double x) { return static_cast<float>(x); });
  return floats;
}

/// Reads `columns` numbers for each validation.
std::vector<std::vector<double>> read_rows(const Location& place,
                                           const std::string& name,
                                           std::size_t validations,
                                           std::size_t columns) {
  if (hdf5::extents_of(place, name) !=
      std::vector<Index>{static_cast<Index>(validations), static_cast<Index>(columns)})
    damaged(place, fmt::format("{} that are not those of the history", name));
  const std::vector<double> values = hdf5::read_values(place, name);
  std::vector<std::vector<double>> rows;
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(columns))
    rows.emplace_back(row, row + static_cast<std::ptrdiff_t>(columns));
  return rows;
}

TrainingState read_state(const Location& root, const Model<float>& model, bool has_second) {
  const attention::ParameterList& list = model.parameters();
  const Index parameters = list.size();
  const Handle group = hdf5::open_group(root, "state");
  const Location place{group, root.file};
  TrainingState state;
  state.parameters = read_flat(place, "parameters", parameters);
  state.optimizer.first = read_flat(place, "first", parameters);
  state.optimizer.second = read_flat(place, "second", has_second ? parameters : 0);
  state.optimizer.step = hdf5::get_integer(place, "step", 0, kLargestCount);
  state.best_step = hdf5::get_integer(place, "best_step", -1, kLargestCount);
  state.best_error = hdf5::get_number(place, "best_error");
  state.best_loss = hdf5::get_number(place, "best_loss");
  const char* const without_gain = hdf5::has_attribute(place, "validations_without_gain")
                                       ? "validations_without_gain"
                                       : "looks_without_gain";
  state.validations_without_gain = hdf5::get_integer(place, without_gain, 0, kLargestCount);
  state.loss_sum = hdf5::get_number(place, "loss_sum");
  state.loss_steps = hdf5::get_integer(place, "loss_steps", 0, kLargestCount);
  state.seconds = hdf5::get_number(place, "seconds");
  state.history = read_history(place);
  const std::size_t validations = state.history.size();
  if (hdf5::has_link(place, "attention_std")) {
    state.attention_std =
        read_rows(place, "attention_std", validations, static_cast<std::size_t>(model.layers()));
  }
  if (hdf5::has_link(place, "start")) {  // in runs that were started from another model
    state.start = read_flat(place, "start", parameters);
    state.deviations = read_rows(place, "deviations", validations, list.parameters().size());
  }
  return state;
}

void require_model(const Location& root) {
  if (!hdf5::has_attribute(root, "format") || hdf5::get_text(root, "format") != kModelFormat) {
    throw FileError(
        fmt::format("{}: an HDF5 file, but not a model that `attention train` saved", root.file));
  }
  const Index version = hdf5::get_integer(root, "format_version", 1, kLargestCount);
  if (version > kModelVersion) {
    throw FileError(
        fmt::format("{}: format version {} is newer than {}, the newest this program "
                    "reads",
                    root.file,
                    version,
                    kModelVersion));
  }
}

/// Reads the file's description of the model. Options are read as anywhere else; if they do not
/// fit, the file is damaged.
SavedModel read_description(const Location& root) {
  SavedModel saved;
  saved.seed = hdf5::get_seed(root, "seed");
  saved.task = hdf5::get_text(root, "task");
  saved.task_options = read_options(root, "task_options");
  saved.training_options = read_options(root, "training_options");
  saved.model.attention_options = read_options(root, "attention_options");
  saved.model.seed = saved.seed;
  saved.model.task = read_shape(root);
  try {
    const NamedOptions options = read_options(root, "model_options");
    check_names("model", options, list_options(ModelOptions{}));
    saved.model.options = options_from<ModelOptions>(options);
  } catch (const InvalidArgument& misfit) {
    damaged(root, misfit.what());
  }
  return saved;
}

SavedModel read_model_file(const std::string& path) {
  const hdf5::ErrorSilencer silencer;
  const Handle file = hdf5::open_file(path);
  const Location root{file, path};
  require_model(root);
  SavedModel saved = read_description(root);
  try {
    const Model<float> model(saved.model);
    const auto training = options_from<TrainingOptions>(saved.training_options);
    const bool has_second = training.optimizer.kind != OptimizerKind::kSgd;
    saved.state = read_state(root, model, has_second);
    saved.state.best = read_parameters(root, model.parameters());
  } catch (const InvalidArgument& misfit) {
    damaged(root, misfit.what());
  }
  return saved;
}

}  // namespace

void save_model(const std::string& path, const SavedModel& saved) {
  const Model<float> model(saved.model);
  const hdf5::ErrorSilencer silencer;
  hdf5::OutputFile output(path);
  const Location root{output.file(), path};
  hdf5::put_text(root, "format", kModelFormat);
  hdf5::put_integer(root, "format_version", kModelVersion);
  hdf5::put_text(root, "writer", "matapprox " MATAPPROX_VERSION);
  hdf5::put_seed(root, "seed", saved.seed);
  hdf5::put_text(root, "task", saved.task);
  write_options(root, "task_options", saved.task_options);
  write_options(root, "model_options", named_options(saved.model.options));
  write_options(root, "attention_options", saved.model.attention_options);
  write_options(root, "training_options", saved.training_options);
  write_shape(root, saved.model.task);
  write_parameters(root, model.parameters(), saved.state.best);
  write_state(root, model.parameters().parameters().size(), saved.state);
  output.commit();
}

SavedModel load_model(const std::string& path) {
  try_read({path, "HDF5", [&] { read_model_file(path); }});
  return read_model_file(path);
}

}  // namespace matapprox::training
