#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matapprox/attention/mechanisms/timing.hpp"
#include "paper_experiment.hpp"

namespace matapprox::app {

// Each experiment of the papers has a function that returns its rows, in the order of the table,
// and one that shows the finished ones.

/// [KYCY22, Fig. 5]: Adding and Temporal Order by the length of the sequence.
std::vector<ExperimentRow> figure_five_rows(const PaperExperiment& experiment);
ShownRows figure_five_shown(const FinishedExperiment& done);

/// [KYCY22, Table 2]: two kinds of sequences are told apart. Generated sequences have planted
/// words, so that the best predictor is known; on a token file, the models have one layer each in
/// the setting of the paper's public code.
std::vector<ExperimentRow> genome_rows(const PaperExperiment& experiment);
ShownRows genome_shown(const FinishedExperiment& done);

/// The Long Range Arena [TDA+21] in a small form: test errors beside every baseline and beside the
/// same model without attention, and the number of seeds below them. Throws InvalidArgument for the
/// task image without a file.
std::vector<ExperimentRow> long_range_arena_rows(const PaperExperiment& experiment);
ShownRows long_range_arena_shown(const FinishedExperiment& done);

/// The table of lengths by k in the report on [WLK+20]: softmax attention and Linformer with every
/// k, on generated texts whose class mostly follows from the bag of words. Throws InvalidArgument
/// for a k above its length.
std::vector<ExperimentRow> linformer_grid_rows(const PaperExperiment& experiment);
ShownRows linformer_grid_shown(const FinishedExperiment& done);

/// [YKV+21, Table 2]: accuracy by the number of blocks, of softmax attention in post_norm blocks,
/// as in BERT, and of SimpleTRON with its second skip connection and output layer.
std::vector<ExperimentRow> depth_rows(const PaperExperiment& experiment);
ShownRows depth_shown(const FinishedExperiment& done);

/// [YKV+21, Sec. 5.2, Figs. 3 and 5]: models of many blocks, with the standard deviation of each
/// block's attention output during the training.
std::vector<ExperimentRow> blocks_rows(const PaperExperiment& experiment);
ShownRows blocks_shown(const FinishedExperiment& done);

/// [YKV+21, Sec. 4.2 and Fig. 2(c)]: queries, keys and values of a SimpleTRON are transferred to a
/// model with softmax attention and frozen there. The rows are SimpleTRON; softmax attention from
/// scratch; the same with queries, keys and values frozen at their random start, as reference for
/// the next; and softmax attention with all weights from the SimpleTRON of equal seed, with
/// queries, keys and values frozen and with nothing frozen.
std::vector<ExperimentRow> transfer_rows(const PaperExperiment& experiment);
ShownRows transfer_shown(const FinishedExperiment& done);

/// [WKZL23, Figs. 7 to 9]: errors of Singularformer by r, and the correlation of its attention with
/// that of softmax attention in post_norm and pre_norm blocks, and of Realformer. The task is
/// Adding. Shows no correlations after an interrupt.
std::vector<ExperimentRow> singularformer_rows(const PaperExperiment& experiment);
ShownRows singularformer_shown(const FinishedExperiment& done);

/// Adds `reproduce crossovers`: the lengths from which on a mechanism costs less than softmax
/// attention, at width 384 with six heads [WKZL23, Table 3]: as published, as derived from its
/// Table 1, as counted and as measured. It times layers on one thread and trains nothing.
void add_crossovers(const Command& reproduce);

/// True if `name` takes less time than softmax at every length at which both were timed.
bool always_faster(const std::vector<attention::TimedAttention>& rows, const std::string& name);

/// Table 1 of [WKZL23] at one setting, beside the counts of this program's layers, and the lengths
/// from which on a mechanism costs less than softmax attention by either.
class TableOne {
 public:
  struct Row {
    std::string mechanism;
    attention::AttentionCost theory;
    attention::AttentionCost counted;
    attention::Crossover theory_from;
    attention::Crossover counted_from;
  };
  TableOne(const attention::TableOneSetting& setting, Index length);
  std::string text() const;
  report::Json json() const;
  /// The row of a mechanism; null if the table does not contain it.
  const Row* row_of(const std::string& mechanism) const;

 private:
  attention::TableOneSetting setting_;
  Index length_;
  std::vector<Row> rows_;
};

}  // namespace matapprox::app
