#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "matapprox/core/options.hpp"
#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

/// Which of the two words stands in a sequence, or which of them comes first.
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
  double share = 0.5;  ///< of class 1, between 0 and 1
  void visit(OptionVisitor& v);
};

/// DNA with planted motifs: letters a c g t = 0..3, independent and as likely, in which words of
/// some letters are written at random places; a stand-in for classes of genomes [KYCY22, Sect. 5.3]
/// whose baselines are known. The ids, with n = 4, are those of imported FASTA files; padding is 0
/// and masked. Two words A and B belong to the task's seed; B has the letters of A in another
/// order.
///
///   presence  class 1 has A somewhere, class 0 has B
///   order     both are there; class 1: A comes first, class 0: B does
///
/// Numbers of letters are alike in both classes, so a predictor that only counts them is right as
/// often as the majority class is. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> planted_motifs_task(const PlantedMotifsOptions& options, std::uint64_t seed);

/// Samples 0 .. samples-1 of the training split as FASTA files class0.fa and class1.fa in a folder
/// that exists, without their padding: what `data import genome` reads. Throws as the task, for
/// samples below 1, and FileError.
void write_motifs_as_fasta(const PlantedMotifsOptions& options,
                           std::uint64_t seed,
                           Index samples,
                           const std::string& folder);

}  // namespace matapprox::tasks
