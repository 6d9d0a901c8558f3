#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "matapprox/core/options.hpp"
#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

/// Question about the two words: which one a sequence contains, or which one comes first.
enum class MotifQuestion { kPresence, kOrder };

}  // namespace matapprox::tasks

namespace matapprox {

template <>
struct EnumNames<tasks::MotifQuestion> {
  static constexpr std::array<std::string_view, 2> values{"presence", "order"};
};

}  // namespace matapprox

namespace matapprox::tasks {

struct PlantedMotifsOptions {
  Index length = 512;    ///< N, from 2 motif to 2^24; shorter samples are padded to it
  Index min_length = 0;  ///< lengths are uniform in min_length..N; 0: all N, else at least 2 motif
  Index motif = 8;       ///< letters of a word, 4..64
  MotifQuestion question = MotifQuestion::kPresence;
  double share = 0.5;  ///< probability of class 1, between 0 and 1
  void visit(OptionVisitor& v);
};

/// DNA with planted motifs: letters a c g t = 0..3, independent and equally likely, with words of a
/// few letters written at random positions; a stand-in for classes of genomes [KYCY22, Sect. 5.3]
/// with known baselines. The ids, with n = 4, are those of imported FASTA files; padding is 0 and
/// masked. The task's seed determines two words A and B; B has the letters of A in another order.
///
///   presence  class 1 has A somewhere, class 0 has B
///   order     both are there; class 1: A comes first, class 0: B does
///
/// Letter counts are distributed alike in both classes, so a predictor that only counts letters is
/// right as often as the majority class. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> planted_motifs_task(const PlantedMotifsOptions& options, std::uint64_t seed);

/// Writes samples 0 .. samples-1 of the training split, without padding, as FASTA files class0.fa
/// and class1.fa in an existing folder, for `data import genome`. Throws as the task does,
/// InvalidArgument for samples below 1, and FileError.
void write_motifs_as_fasta(const PlantedMotifsOptions& options,
                           std::uint64_t seed,
                           Index samples,
                           const std::string& folder);

}  // namespace matapprox::tasks
