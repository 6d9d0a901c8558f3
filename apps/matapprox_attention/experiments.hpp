#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "experiment.hpp"
#include "matapprox/attention/mechanisms/timing.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {

/// Data and sizes shared by the experiments with SimpleTRON.
struct SimpletronSetting {
  std::string data;  ///< a token file in place of generated texts
  Index length = 0;  ///< N; 0: 64 for generated texts, the longest sequence for a file
  Index width = 32;  ///< d
  Index heads = 2;
  Index steps = 2000;  ///< steps of each row
  std::vector<std::uint64_t> seeds{1, 2, 3};
};

/// Options of a model in post_norm blocks, as in BERT, with an output layer after the attention,
/// and of its training. Options appended later take precedence.
NamedOptions simpletron_options(const SimpletronSetting& setting,
                                const std::string& mechanism,
                                Index layers);

/// A row with these options.
ExperimentRow simpletron_row(const SimpletronSetting& setting,
                             const std::string& model,
                             const NamedOptions& options,
                             std::uint64_t seed);

/// One line for each baseline of the texts. `rows` must not be empty.
std::string baselines_of_texts(const std::vector<FinishedRow>& rows);

/// The lengths from which on a mechanism costs less than softmax attention, at width 384 with six
/// heads [WKZL23, Table 3]: as published, as derived from its Table 1, as counted and as measured.
struct CrossoversChoice {
  std::vector<Index> lengths{16, 32, 64, 128, 192, 256, 384, 512, 768, 1024};
  int rounds = 5;
};

/// Times the layers on one thread. A layer of FLASH replaces both attention and feed-forward layer:
/// its multiplications are compared with those of both, and its time is not compared. The charts
/// show time and memory against the length. Throws InvalidArgument unless there are two lengths or
/// more, in rising order.
ShownRows crossovers(const CrossoversChoice& choice);

/// Selects the part of [KYCY22, Fig. 5] that is trained; empty lists select all of it.
struct FigureFiveChoice {
  std::vector<std::string> tasks;   ///< adding, temporal_order
  std::vector<std::string> models;  ///< psf, softmax, linformer, performer, tokenwise
  std::vector<std::string> heads;   ///< flatten, cls
  std::vector<Index> lengths;       ///< empty: 128 .. 1024, for psf also 4096
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 0;  ///< steps of each row; 0: the default of the row
};

/// Returns the rows, in the order of the table. Throws InvalidArgument for an unknown name.
std::vector<ExperimentRow> figure_five_rows(const FigureFiveChoice& choice);

/// Medians and ranges over the seeds, lengths side by side, with the published errors.
std::string figure_five_table(const std::vector<FinishedRow>& rows);

/// Median errors against lengths, one chart per task and head.
std::vector<report::Chart> figure_five_charts(const std::vector<FinishedRow>& rows);

/// Selects the part of [KYCY22, Table 2] that is trained; the task is to tell two kinds of
/// sequences apart.
struct GenomeChoice {
  std::vector<std::string> models;  ///< psf, softmax, linformer, performer, tokenwise; empty: all
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index length = 128;  ///< N of generated sequences
  Index steps = 0;     ///< steps of each row; 0: those of its setting
  std::string data;    ///< a token file of two classes in place of generated sequences
};

/// Rows on sequences with planted words, whose best predictor is known, with three pre_norm blocks
/// each; on a token file, one layer each in the setting of the paper's public code. Throws
/// InvalidArgument for an unknown model.
std::vector<ExperimentRow> genome_rows(const GenomeChoice& choice);

/// Areas under the ROC curve with those published for the paper's genomes, test errors, and
/// validation errors against steps. The models are read from the folder.
ShownRows genome_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

/// Selects the part that is trained of the table of lengths by k in the report on [WLK+20].
struct LinformerGridChoice {
  std::vector<Index> lengths{256, 512, 1024};
  std::vector<Index> ranks;  ///< k; empty: those of the report at each length
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 1500;  ///< steps of each row
  std::string data;    ///< a token file in place of generated texts
};

/// Rows of softmax attention and of Linformer with every k, at each length: one pre_norm block of
/// width 32 with two heads, on generated texts whose class mostly follows from the bag of words.
/// Throws InvalidArgument for a k above its length.
std::vector<ExperimentRow> linformer_grid_rows(const LinformerGridChoice& choice);

/// Accuracies with those of the report for IMDb, and seconds of a training.
ShownRows linformer_grid_shown(const std::vector<FinishedRow>& rows);

/// Selects the part of the Long Range Arena [TDA+21] that is trained in a small form; [KYCY22,
/// Table 3] and [YKV+21, Table 1] have it at full size.
struct LongRangeArenaChoice {
  std::vector<std::string> tasks;   ///< listops, text, matching, image, pathfinder; empty: all
  std::vector<std::string> models;  ///< psf, simpletron, softmax, tokenwise; empty: all
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 0;    ///< steps of each row; 0: those of its task
  std::string image;  ///< token file of small images; empty: the task image is left out
};

/// Rows on generated tasks of the arena's five kinds, with images from a token file. Throws
/// InvalidArgument for an unknown task or model, and for the task image without a file.
std::vector<ExperimentRow> long_range_arena_rows(const LongRangeArenaChoice& choice);

/// Test errors beside every baseline and beside the same model without attention, the number of
/// seeds below them, and validation errors against steps. The models are read from the folder.
ShownRows long_range_arena_shown(const LongRangeArenaChoice& choice,
                                 const std::string& folder,
                                 const std::vector<FinishedRow>& rows);

/// Selects the part of [YKV+21, Sec. 5.2, Figs. 3 and 5] that is trained: models of many blocks,
/// with the standard deviation of each block's attention output during the training.
struct BlocksChoice {
  SimpletronSetting setting;
  Index layers = 8;
};

/// Rows of softmax attention and of SimpleTRON: with an output layer after the attention, without
/// one, and with one and a second skip connection around the block.
std::vector<ExperimentRow> blocks_rows(const BlocksChoice& choice);

/// Errors and standard deviations after the last step, as medians of the seeds; errors against
/// steps; and the standard deviations against steps for the models of the first seed. The models
/// are read from the folder.
ShownRows blocks_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

/// Selects the part of [YKV+21, Table 2] that is trained: accuracy by the number of blocks.
struct DepthChoice {
  SimpletronSetting setting;
  std::vector<std::string> models;        ///< softmax, simpletron; empty: both
  std::vector<Index> layers{1, 2, 4, 6};  ///< numbers of blocks
};

/// Rows of softmax attention in post_norm blocks, as in BERT, and of SimpleTRON with its second
/// skip connection and output layer, each with every number of blocks. Throws InvalidArgument for
/// an unknown model.
std::vector<ExperimentRow> depth_rows(const DepthChoice& choice);

/// Accuracies with those published for AG News.
ShownRows depth_shown(const std::vector<FinishedRow>& rows);

/// Selects the part of [YKV+21, Sec. 4.2 and Fig. 2(c)] that is trained: queries, keys and values
/// of a SimpleTRON are transferred to a model with softmax attention and frozen there.
struct TransferChoice {
  SimpletronSetting setting;
  Index layers = 2;
};

/// Rows of SimpleTRON; of softmax attention from scratch; of the same with queries, keys and values
/// frozen at their random start, as reference for the next; and of softmax attention with all
/// weights from the SimpleTRON of equal seed, with queries, keys and values frozen and with nothing
/// frozen.
std::vector<ExperimentRow> transfer_rows(const TransferChoice& choice);

/// Errors, validation errors against steps, and the deviation of the parameters from their start
/// for the transferred models of the first seed. The models are read from the folder.
ShownRows transfer_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

/// Selects the part of [WKZL23, Figs. 7 to 9] that is trained.
struct SingularformerChoice {
  std::vector<Index> ranks{2, 4, 8, 16, 32};  ///< r of Singularformer
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index length = 64;   ///< N of Adding
  Index steps = 2000;  ///< steps of each row
  Index samples = 50;  ///< test samples of each seed on which attention is correlated
};

/// Rows of Singularformer with each r, then of the quadratic models: softmax attention in post_norm
/// and pre_norm blocks, and Realformer. The task is Adding, with a head that reads the first token
/// and two layers of width 32 with four heads, so that d/m = 8.
std::vector<ExperimentRow> singularformer_rows(const SingularformerChoice& choice);

/// Errors by r, and the attention correlation [WKZL23, Sec. 5.2] of the models of equal seed, which
/// are read from the folder. Cost: two forward passes of a model in double precision for each
/// sample and pair. Omits all correlations once `stop` is set.
ShownRows singularformer_shown(const SingularformerChoice& choice,
                               const std::string& folder,
                               const std::vector<FinishedRow>& rows,
                               const std::atomic<bool>& stop);

/// Table 1 of [WKZL23] at one setting, beside the counts of this program's layers, and the lengths
/// from which on a mechanism costs less than softmax attention by either.
class TableOne {
 public:
  TableOne(const attention::TableOneSetting& setting, Index length);
  std::string text() const;
  report::Json json() const;
  /// Lengths from which on, by the table, the mechanism costs less than softmax attention; nullopt
  /// if the table does not contain it.
  std::optional<attention::Crossover> crossover(const std::string& mechanism) const;
  /// The same lengths by the counts of the layer.
  std::optional<attention::Crossover> counted_crossover(const std::string& mechanism) const;

 private:
  struct Row {
    std::string mechanism;
    attention::AttentionCost theory;
    attention::AttentionCost counted;
    attention::Crossover theory_from;
    attention::Crossover counted_from;
  };
  const Row* row_of(const std::string& mechanism) const;
  attention::TableOneSetting setting_;
  Index length_;
  std::vector<Row> rows_;
};

}  // namespace matapprox::app
