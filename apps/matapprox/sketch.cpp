#include <algorithm>
#include <utility>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/row_stream.hpp"

namespace matapprox::app {
namespace {

struct SketchCommand : BasicOptions {
  std::string source;
  std::string variable;
  bool allow_external = false;
  std::string output;
  std::optional<Index> rows;
  NamedFlags sizes;
  std::string checkpoint;
  double checkpoint_seconds = 60;
  std::optional<Option> checkpoint_seconds_option;
  bool resume = false;

  SketchOptions options() const {
    NamedOptions named = sizes.given();
    named.emplace_back("seed", fmt::format("{}", common.seed()));
    return options_from<SketchOptions>(named);
  }
};

/// Number of rows that enter the sketch together. It depends on the width alone, so that the result
/// depends neither on how the stream is split into files and blocks nor on where it was resumed.
Index panel_rows(Index cols) {
  constexpr Index kPanelNumbers = Index{1} << 21;
  return std::clamp<Index>(kPanelNumbers / cols, 16, 4096);
}

struct Finished {
  SketchedApproximation result;
  double seconds = 0;
};

/// Reads a stream of rows into a sketch.
class StreamRun {
 public:
  explicit StreamRun(const SketchCommand& command)
      : command_(command),
        line_(command.common.quiet()),
        stream_(open_row_stream(command.source, command.variable, command.allow_external)),
        rows_(command.rows ? command.rows : stream_->rows()) {
    const std::optional<Index> known = stream_->rows();
    if (known && *known != *rows_) {
      throw FileError(
          fmt::format("{}: has {} rows, not {} (--rows)", command.source, *known, *rows_));
    }
    control_.stop = &catch_interrupts();
    line_.start("sketch");
    if (command.resume) resume();
    clock_.restart();
  }

  /// Returns false if interrupted.
  bool read_all() {
    try {
      Matrix piece;
      while (next(piece)) {
        add(piece);
        if (!command_.checkpoint.empty() &&
            since_checkpoint_.seconds() >= command_.checkpoint_seconds)
          write_checkpoint();
        if (interrupt_requested()) return false;
      }
      if (rows_ && done_ + filled_ != *rows_) fail_rows(done_ + filled_);
      flush();
    } catch (const Interrupted&) {
      return false;
    } catch (const FileError&) {
      // Without the rows of an unfinished panel, so that the rows that follow form the same panels.
      write_checkpoint();
      throw;
    }
    require(sketch_.has_value(), "{}: no rows", command_.source);
    return true;
  }

  void write_checkpoint() {
    since_checkpoint_.restart();
    if (command_.checkpoint.empty() || !sketch_) return;
    std::vector<StreamPart> parts;
    Index rows = 0;
    for (const StreamPart& part : stream_->parts()) {
      rows += part.rows;
      if (rows > done_) break;
      parts.push_back(part);
    }
    save_sketch(command_.checkpoint, *sketch_, {command_.source, parts, seconds()});
  }

  const StreamingSketch& sketch() const { return *sketch_; }
  Index rows() const { return done_; }
  /// Includes the seconds of earlier runs.
  double seconds() const { return earlier_seconds_ + clock_.seconds(); }
  /// Rate of this run, where `total_seconds` is the value of seconds() at its end.
  double rows_per_second(double total_seconds) const {
    return static_cast<double>(done_ - resumed_rows_) /
           std::max(total_seconds - earlier_seconds_, 1e-9);
  }
  void end_line() { line_.clear(); }
  /// Returns nullopt if interrupted.
  std::optional<Finished> finish() const {
    const StopScope scope(control_, "sketch");
    const Stopwatch clock;
    try {
      SketchedApproximation result = sketch_->finish();
      throw_if_stop_requested();
      return Finished{std::move(result), clock.seconds()};
    } catch (const Interrupted&) {
      return std::nullopt;
    }
  }

 private:
  [[noreturn]] void fail_rows(Index found) const {
    throw FileError(fmt::format("{}: ends after {} of {} rows", command_.source, found, *rows_));
  }

  void resume() {
    SavedSketch saved = load_sketch(command_.checkpoint);
    const SketchState& state = saved.sketch.state();
    require(saved.position.source == command_.source,
            "{}: was made from {}, not {}; cannot resume",
            command_.checkpoint,
            saved.position.source,
            command_.source);
    require(state.rows == rows_.value_or(0) && state.cols == stream_->cols().value_or(state.cols),
            "{}: belongs to a stream with {} rows (0: unknown) and {} columns; cannot resume",
            command_.checkpoint,
            state.rows,
            state.cols);
    const auto wanted =
        list_options(resolved_sketch_options(state.rows, state.cols, command_.options()));
    const auto stored = list_options(state.options);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      // The ranks and sizes that follow from the budgets are compared, not the budgets.
      const bool is_budget = wanted[i].name == "budget" || wanted[i].name == "sketch_budget";
      require(is_budget || wanted[i].value == stored[i].value,
              "{}: was made with {} = '{}', not '{}'; cannot resume",
              command_.checkpoint,
              wanted[i].name,
              stored[i].value,
              wanted[i].value);
    }
    done_ = saved.sketch.rows_seen();
    resumed_rows_ = done_;
    earlier_seconds_ = saved.position.seconds;
    const StopScope scope(control_, "sketch");
    stream_->skip(done_, saved.position.parts);
    sketch_ = std::move(saved.sketch);
    panel_.resize(panel_rows(sketch_->state().cols), sketch_->state().cols);
    command_.note("{}: continues after {} rows", command_.checkpoint, done_);
  }

  bool next(Matrix& piece) {
    const StopScope scope(control_, "sketch");
    const Index room = panel_.rows() > filled_ ? panel_.rows() - filled_ : first_piece_rows();
    const bool more = stream_->next(room, piece);
    for (const std::string& text : stream_->take_notes())
      command_.note("{}: {}", command_.source, text);
    return more;
  }

  Index first_piece_rows() const {
    return stream_->cols() ? panel_rows(*stream_->cols()) : Index{1};
  }

  void add(const Matrix& piece) {
    if (!sketch_) {
      sketch_.emplace(rows_.value_or(0), piece.cols(), command_.options());
      panel_.resize(panel_rows(piece.cols()), piece.cols());
    }
    if (piece.cols() != panel_.cols()) {
      throw FileError(fmt::format("{}: has rows of {} numbers after rows of {}",
                                  command_.source,
                                  piece.cols(),
                                  panel_.cols()));
    }
    if (rows_ && done_ + filled_ + piece.rows() > *rows_) {
      throw FileError(fmt::format("{}: has more than {} rows (--rows)", command_.source, *rows_));
    }
    for (Index first = 0; first < piece.rows();) {
      const Index count = std::min(piece.rows() - first, panel_.rows() - filled_);
      panel_.middleRows(filled_, count) = piece.middleRows(first, count);
      filled_ += count;
      first += count;
      if (filled_ == panel_.rows()) flush();
    }
  }

  void flush() {
    if (filled_ == 0) return;
    sketch_->update(done_, panel_.topRows(filled_));
    done_ += filled_;
    filled_ = 0;
    line_.show([&] {
      const std::string share = rows_ ? fmt::format(" of {}", *rows_) : std::string();
      return fmt::format(
          "sketch: {}{} rows, {:.0f} rows/s", done_, share, rows_per_second(seconds()));
    });
  }

  const SketchCommand& command_;
  ProgressLine line_;
  RunControl control_;
  std::unique_ptr<RowStream> stream_;
  std::optional<Index> rows_;
  std::optional<StreamingSketch> sketch_;
  Matrix panel_;
  Index filled_ = 0;        ///< rows in the panel
  Index done_ = 0;          ///< rows in the sketch
  Index resumed_rows_ = 0;  ///< rows in the sketch that came from the checkpoint
  double earlier_seconds_ = 0;
  Stopwatch clock_;
  Stopwatch since_checkpoint_;
};

/// Bytes used by the command in addition to the program itself: docs/streams.md.
double memory_bound(const StreamingSketch& sketch, Index rows) {
  const Index b = panel_rows(sketch.state().cols);
  // memory_bytes includes the panel; the piece being read exists both as read and as doubles.
  return sketch.memory_bytes(rows, b) +
         16 * static_cast<double>(b) * static_cast<double>(sketch.state().cols);
}

report::Json interrupted_json(const SketchCommand& command,
                              const StreamRun& run,
                              double stream_seconds) {
  report::Json json = report::document_head(command.common.seed(), threads());
  json["source"] = command.source;
  json["interrupted"] = true;
  json["rows_seen"] = run.rows();
  json["stream_seconds"] = stream_seconds;
  json["checkpoint"] = nullptr;
  if (!command.checkpoint.empty()) json["checkpoint"] = actual_output_path(command.checkpoint);
  return json;
}

report::Json sketch_json(const SketchCommand& command,
                         const StreamRun& run,
                         const Finished& finished,
                         double stream_seconds) {
  const StreamingSketch& sketch = run.sketch();
  const SketchOptions& o = sketch.state().options;
  const Approximation& B = finished.result.approximation;
  report::Json json = report::document_head(o.seed, threads());
  json["source"] = command.source;
  json["interrupted"] = false;
  json["rows"] = B.rows();
  json["cols"] = B.cols();
  json["rank"] = o.rank;
  json["range_size"] = o.range_size;
  json["core_size"] = o.core_size;
  json["error_samples"] = o.error_samples;
  json["stored_numbers"] = B.storage().numbers;
  json["sketch_numbers"] = sketch.stored_numbers();
  for (const char* key : {"error_frobenius", "error_interval", "relative_error", "frobenius_norm"})
    json[key] = nullptr;
  if (const auto& error = finished.result.error) {
    json["error_frobenius"] = error->error;
    json["error_interval"] = {error->low, error->high};
    json["frobenius_norm"] = error->frobenius_norm;
    json["relative_error"] = report::number_or_null(error->error / error->frobenius_norm);
  }
  json["stream_seconds"] = stream_seconds;
  json["finish_seconds"] = finished.seconds;
  json["rows_per_second"] = run.rows_per_second(stream_seconds);
  json["memory_bound_bytes"] = memory_bound(sketch, B.rows());
  json["peak_memory_bytes"] = peak_memory_bytes();
  json["saved_to"] = actual_output_path(command.output);
  return json;
}

std::string sketch_text(const SketchCommand& command,
                        const StreamRun& run,
                        const Finished& finished,
                        double stream_seconds) {
  const StreamingSketch& sketch = run.sketch();
  const SketchOptions& o = sketch.state().options;
  const Approximation& B = finished.result.approximation;
  const double all = static_cast<double>(B.rows()) * static_cast<double>(B.cols());
  const auto share = [&](Index numbers) { return 100 * static_cast<double>(numbers) / all; };
  std::string text =
      fmt::format("{}: {} x {}, read once\n",
                  command.source == "-" ? "standard input" : visible_text(command.source),
                  B.rows(),
                  B.cols());
  text += fmt::format("saved to     {}\n", visible_text(actual_output_path(command.output)));
  text += fmt::format("rank         {}, from a sketch with k = {}, s = {}, q = {}\n",
                      o.rank,
                      o.range_size,
                      o.core_size,
                      o.error_samples);
  text += fmt::format("stores       {} numbers, {:.3g} % of the matrix; the sketch {}, {:.3g} %\n",
                      B.storage().numbers,
                      share(B.storage().numbers),
                      sketch.stored_numbers(),
                      share(sketch.stored_numbers()));
  if (const auto& error = finished.result.error) {
    text += fmt::format(
        "|A - B|_F    about {:.4e}, 95 % interval {:.3e} .. {:.3e}, estimated from {} random "
        "vectors\n",
        error->error,
        error->low,
        error->high,
        error->samples);
    if (error->frobenius_norm > 0) {
      text += fmt::format("relative     about {:.4e} of |A|_F = {:.6e} (exact)\n",
                          error->error / error->frobenius_norm,
                          error->frobenius_norm);
    }
  } else {
    text += "|A - B|_F    not estimated: no error samples\n";
  }
  text += fmt::format("stream       {:.3g} s, {:.0f} rows/s; finishing {:.3g} s\n",
                      stream_seconds,
                      run.rows_per_second(stream_seconds),
                      finished.seconds);
  return text;
}

void save_result(const SketchCommand& command, const Finished& finished, double seconds) {
  const Approximation& B = finished.result.approximation;
  SavedRecord record;
  record.provenance = {command.source, "matrix", B.rows(), B.cols(), {}};
  record.fit_seconds = seconds;
  if (const auto& error = finished.result.error) {
    record.error_frobenius = error->error;
    if (error->frobenius_norm > 0) record.relative_error = error->error / error->frobenius_norm;
    record.error_is_exact = false;
  }
  save(command.output, B, record);
}

void check_command(const SketchCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("sketch");
  static_cast<void>(command.options());  // throws for invalid options
  require(command.checkpoint_seconds > 0,
          "--checkpoint-seconds {} is not positive",
          command.checkpoint_seconds);
  require(!command.checkpoint.empty() || !command.resume, "--resume needs --checkpoint FILE");
  require(!command.checkpoint.empty() || command.checkpoint_seconds_option->count() == 0,
          "--checkpoint-seconds has no effect without --checkpoint");
  check_factors_output(command.output);
  require(command.checkpoint != "-",
          "--checkpoint: a sketch is written to a file, not to standard output");
  check_hdf5_name(
      "--checkpoint", command.checkpoint, "save the sketch to a name such as sketch.h5");
  command.json.files()
      .reads(command.source)
      .replaces("-o", command.output)
      .replaces("--checkpoint", command.checkpoint, command.resume);
}

int run_sketch(const SketchCommand& command) {
  check_command(command);
  StreamRun run(command);
  const bool complete = run.read_all();
  const double stream_seconds = run.seconds();
  run.write_checkpoint();
  run.end_line();
  const std::optional<Finished> finished = complete ? run.finish() : std::nullopt;
  if (!finished) {
    command.note("interrupted after {} rows; {}",
                 run.rows(),
                 command.checkpoint.empty() ? "without --checkpoint nothing is saved"
                                            : "the same command with --resume continues");
    command.json.write(interrupted_json(command, run, stream_seconds));
    return kInterrupted;
  }
  save_result(command, *finished, stream_seconds + finished->seconds);
  command.json.show(sketch_json(command, run, *finished, stream_seconds),
                    sketch_text(command, run, *finished, stream_seconds));
  return kDone;
}

}  // namespace

void add_sketch(const Command& program) {
  auto command = std::make_shared<SketchCommand>();
  const Command sub = program.add_command(
      "sketch", "Approximates a matrix that is read only once, row by row, and saves the factors");
  sub.add_option("source DIRECTORY|FILE",
                 command->source,
                 "A directory of row blocks, a file, or - for .npy arrays or lines from a pipe")
      .required();
  sub.add_option("-o,--output OUT.h5", command->output, "The HDF5 file to write").required();
  sub.add_option("--rows",
                 command->rows,
                 "Number of rows of the whole matrix, if the source does not state it")
      .range(1);
  sub.add_option("--variable", command->variable, "Name of the array in .mat, .npz and .h5 files");
  sub.add_flag("--allow-external",
               command->allow_external,
               "HDF5, .mat 7.3: follow external links, external storage and virtual datasets");
  std::vector<OptionText> sizes = list_options(SketchOptions{});
  std::erase_if(sizes, [](const OptionText& option) { return option.name == "seed"; });
  command->sizes.add(sub, sizes, "Sketch size");
  sub.add_option("--checkpoint FILE.h5",
                 command->checkpoint,
                 "Save checkpoints of the sketch in this file, for --resume");
  command->checkpoint_seconds_option = sub.add_option(
      "--checkpoint-seconds", command->checkpoint_seconds, "Seconds between checkpoints [60]");
  sub.add_flag("--resume",
               command->resume,
               "Continue from the checkpoint; the source must start from its beginning again");
  command->add_basic(sub, true, true);
  sub.footer(
      "Files of a directory are row blocks in natural order of name: part-2 before part-10.\n"
      "Memory in bytes, without the program: 8 (k (m + n) + s^2 + q n + n (k + s)) + 16 b n and "
      "the\n"
      "larger of 8 b (n + 2 k + 2 s + q), b = 2^21 / n rows (16..4096), and 8 ((m + n)(k + r) + 6 "
      "s^2);\n"
      "up to 12 k m more if the number of rows is not known. Files other than .npy, .h5 and "
      "plain\n"
      "text are loaded one at a time.\n"
      "Examples:\n"
      "  matapprox sketch blocks/ --rank 20 -o A.h5\n"
      "  simulate | matapprox sketch - --rank 20 -o A.h5 --checkpoint sketch.h5\n"
      "  simulate | matapprox sketch - --rank 20 -o A.h5 --checkpoint sketch.h5 --resume");
  sub.action([command] { return run_sketch(*command); });
}

}  // namespace matapprox::app
