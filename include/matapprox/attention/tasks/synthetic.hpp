#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::tasks {

struct AddingOptions {
  Index length = 128;  ///< N, 2..2^24
  Index min_gap = 1;   ///< smallest distance of the two marked positions, 1..max_gap
  Index max_gap = 0;   ///< largest distance, below N; 0: N - 1
  void visit(OptionVisitor& v);
};

/// The adding problem: N x 2 features (a, b) with a uniform in (-1, 1) and b = 1 at two positions t
/// and u, 0 elsewhere; the answer is y = 0.5 + (a_t + a_u) / 4, and an error of 0.04 or more is
/// wrong. [HS97], scaled as in [KYCY22, Sect. 5.2]
///
/// All pairs of positions whose distance is in the range are equally likely. y is a sum of
/// functions of single tokens, so a model whose head reads all positions needs no attention for it;
/// one that reads a single position does. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> adding_task(const AddingOptions& options, std::uint64_t seed);

struct TemporalOrderOptions {
  Index length = 128;  ///< N, 2..2^24
  Index min_gap = 1;   ///< smallest distance of the two signals, 1..max_gap
  Index max_gap = 0;   ///< largest distance, below N; 0: N - 1
  void visit(OptionVisitor& v);
};

/// Temporal order: N token ids, noise a b c d = 0..3 except for two signals, each X = 4 or Y = 5;
/// the class is their order, XX 0, XY 1, YX 2, YY 3, all equally likely. [HS97], [KYCY22, Sect.
/// 5.2]
///
/// All pairs of positions whose distance is in the range are equally likely. Scores of single
/// tokens that depend on their position tell the classes apart, so a model whose head reads all
/// positions needs no attention for it. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> temporal_order_task(const TemporalOrderOptions& options, std::uint64_t seed);

struct CopyOptions {
  Index length = 64;         ///< N, 3..2^24
  Index string_length = 10;  ///< s, 1..(N - 1)/2; 0: (N - 1)/2, rounded down
  Index symbols = 8;         ///< number of different symbols, 2..32768
  void visit(OptionVisitor& v);
};

/// Copying from memory: s random symbols, N - 2 s - 1 blanks, a delimiter, s blanks; the answers at
/// the last s tokens are the symbols in their order. [HS97], [ASB16]
///
/// Ids: symbols 0 .. symbols - 1, then the blank and the delimiter. Every symbol is N - s tokens
/// away from its answer. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> copy_task(const CopyOptions& options, std::uint64_t seed);

struct AssociativeRecallOptions {
  Index length = 64;  ///< N, 3..2^24
  Index pairs = 8;    ///< number of pairs, 1..(N - 1)/2; 0: (N - 1)/2, rounded down
  Index keys = 32;    ///< number of different keys, from `pairs` to 2^24
  Index values = 8;   ///< number of different values, 2..32768
  void visit(OptionVisitor& v);
};

/// Associative recall: pairs of a key and the value right after it, at random positions among
/// blanks; the last token is one of the keys, and its value is the answer. [BHM+16]
///
/// Ids: values 0 .. values - 1, then the keys, then the blank. The keys of a sample differ; values
/// may repeat. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> associative_recall_task(const AssociativeRecallOptions& options,
                                              std::uint64_t seed);

struct MatchingOptions {
  Index length = 64;   ///< N, even, from 2 `keys` + 2 to 2^24
  Index keys = 4;      ///< key words in each of the two texts, 2..1024
  Index words = 32;    ///< number of different key words, from 2 `keys` - 1 to 32768
  Index fillers = 16;  ///< number of different other words, 1..32768
  void visit(OptionVisitor& v);
};

/// Pairs of texts: do both name the same thing? After the start token come two texts of the same
/// length with a separator between them, each with `keys` key words among fillers. One key word
/// occurs twice, the others once: class 1 if it occurs in both texts, class 0 if it occurs twice in
/// one of them, the first or the second.
///
/// Ids: 0 the start, 1 the separator, then key words, then fillers. Word counts carry no
/// information about the class; one text alone shows only if it has a key word twice. A stand-in
/// for the retrieval task of the Long Range Arena [TDA+21], similar in kind only. Throws
/// InvalidArgument for options outside their range.
std::unique_ptr<Task> matching_task(const MatchingOptions& options, std::uint64_t seed);

struct NegationOptions {
  Index length = 64;      ///< N, from 1 + opinions (min_gap + 1) to 2^24
  Index opinions = 3;     ///< opinion words in a text, 1..1023, odd; if balanced, 2..1024, even
  Index negations = 1;    ///< number of negations, at most `opinions`; if balanced, odd
  bool balanced = false;  ///< equally many good and bad words; else each is random
  Index min_gap = 1;      ///< smallest distance of a negation and the opinion that it reverses
  Index max_gap = 0;      ///< largest distance, at least min_gap; 0: up to the previous opinion
  Index words = 4;        ///< number of different good words, and of bad ones, 1..32768
  Index fillers = 16;     ///< number of different words without an opinion, 1..32768
  void visit(OptionVisitor& v);
};

/// Reviews with negations: is a text positive or negative? A text has good and bad words among
/// fillers; a negation reverses the next opinion word after it, at any distance. Class 1: more good
/// opinions than bad ones result.
///
/// Ids: 0 the start of the text, 1 the negation, then good words, bad words, fillers. The first
/// token is the same in all texts. The positions of opinion words, which of them are good and which
/// are reversed are drawn independently. Hence only the relation of a negation to an opinion
/// carries more information about the class than the numbers of good and bad words. The information
/// in these numbers is known exactly; in balanced texts it is zero. Throws InvalidArgument for
/// options outside their range.
std::unique_ptr<Task> negation_task(const NegationOptions& options, std::uint64_t seed);

struct ListopsOptions {
  Index length = 1000;      ///< N, 8..65536; samples are padded to it
  Index min_length = 500;   ///< a tree has more tokens than this
  Index max_length = 0;     ///< a tree has fewer tokens than this, at most N; 0: N
  Index max_depth = 10;     ///< 2..32; the root has depth 1, and a digit counts
  Index max_children = 10;  ///< children of an operator, 2..64
  void visit(OptionVisitor& v);
};

/// ListOps: nested lists such as [MAX 2 9 [MIN 4 7] 0], whose value is the class, 0..9. [NB18] The
/// trees have the distribution of the Long Range Arena [TDA+21]: a node is a digit with probability
/// 3/4, or else MIN, MAX, MED or SM with 2..max_children children, all equally likely; nodes of
/// depth max_depth are digits; trees outside the lengths are redrawn (defaults of the arena: 500 <
/// tokens < 2000).
///
/// MED is the median, the mean of the middle two rounded down; SM is the sum modulo 10. Ids: digits
/// 0..9, MIN 10, MAX 11, MED 12, SM 13 (each with its bracket), ']' 14, padding 15, which is
/// masked. One tree in 22 fits the default lengths, one in 12 the arena's; a sample takes about 0.1
/// ms. Throws InvalidArgument for options outside their range, and in make if none of 2^20 trees
/// fits.
std::unique_ptr<Task> listops_task(const ListopsOptions& options, std::uint64_t seed);

/// Question about the two words: which one a sequence contains, or which one comes first.
enum class MotifQuestion { kPresence, kOrder };

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

enum class Pixels { kIds, kValues };

/// Lengths are in pixels.
struct PathfinderOptions {
  Index side = 32;              ///< side of the square image: N = side^2; 16..1024
  Index contour = 14;           ///< dashes of each of the two long curves, 2..1024
  Index distractors = -1;       ///< number of short curves; -1: 20 / distractor_length
  Index distractor_length = 0;  ///< dashes of a short curve; 0: contour / 3
  double dash = 2;              ///< length of a dash
  double gap = 1;               ///< between two dashes of a curve
  double thickness = 0.5;       ///< thickness of a dash
  double marker_radius = 1.5;
  double contrast = 0.75;  ///< brightness of a dash, 0..1; markers have 1
  double max_turn = 40;    ///< degrees from one dash to the next, 0..90
  double spacing = 2.25;   ///< smallest distance of two curves, and of a curve from itself
  double mismatch = 1;     ///< 0.05..2 `side`, see below
  Index antialias = 4;     ///< samples per pixel in each direction, 1..16
  Pixels pixels = Pixels::kIds;
  void visit(OptionVisitor& v);
};

/// Pathfinder: does a dashed curve join the two markers of an image? [LKV+18] A separate renderer
/// with the sizes of the Long Range Arena [TDA+21] (contours of 6, 9 and 14 dashes): similar in
/// kind only, so results must not be compared with the arena's.
///
/// There are two long curves and then short ones; neither two curves nor two parts of one curve
/// come closer than `spacing`. The markers are discs, on both ends of a long curve (class 1) or on
/// one end of each (class 0), with equal probability. Both placements are chosen before the class,
/// with distances that differ by at most `mismatch`: otherwise joined markers would be close
/// together, and with contours of 6 this alone would classify 88 % of the images. The sequence
/// consists of the rows of the image in order: ids 0..255, or one feature 0..1 with `pixels` =
/// values. About 0.5 ms per sample. Throws InvalidArgument for options outside their range, and in
/// make if the curves do not fit into the image.
std::unique_ptr<Task> pathfinder_task(const PathfinderOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks

namespace matapprox {

template <>
struct EnumNames<tasks::MotifQuestion> {
  static constexpr std::array<std::string_view, 2> values{"presence", "order"};
};

template <>
struct EnumNames<tasks::Pixels> {
  static constexpr std::array<std::string_view, 2> values{"ids", "values"};
};

}  // namespace matapprox
