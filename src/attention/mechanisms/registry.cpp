#include "matapprox/attention/mechanisms/registry.hpp"

#include <array>
#include <type_traits>

#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/attention/mechanisms/psf.hpp"
#include "matapprox/attention/mechanisms/softmax.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

struct Entry {
  Mechanism mechanism;
  MakeAttention<float> in_float;
  MakeAttention<double> in_double;

  template <class T>
  MakeAttention<T> make() const {
    if constexpr (std::is_same_v<T, float>) {
      return in_float;
    } else {
      return in_double;
    }
  }
};

template <class Options, auto in_float, auto in_double>
constexpr Entry entry(std::string_view name, std::string_view summary) {
  return {{name, summary, [] { return list_options(Options{}); }},
          attention_from_text<float, Options, in_float>,
          attention_from_text<double, Options, in_double>};
}

/// One entry per mechanism, in the order of the tables.
constexpr std::array kEntries{
    entry<SoftmaxOptions, softmax<float>, softmax<double>>(
        "softmax", "softmax(Q K^T / sqrt(p)) V, without forming the matrix"),
    entry<PsfOptions, psf<float>, psf<double>>(
        "psf", "product of sparse Chord factors computed from the tokens"),
    entry<LinformerOptions, linformer<float>, linformer<double>>(
        "linformer", "softmax over k mixtures of the tokens"),
    entry<SingularformerOptions, singularformer<float>, singularformer<double>>(
        "singularformer", "softmax between r learned mixtures of the tokens"),
    entry<RevisitedLinformerOptions, revisited_linformer<float>, revisited_linformer<double>>(
        "revisited_linformer", "two softmaxes around k mixtures of the tokens"),
    entry<EfficientOptions, efficient<float>, efficient<double>>(
        "efficient", "separate softmax of queries and of keys"),
    entry<SimpletronOptions, simpletron<float>, simpletron<double>>("simpletron",
                                                                    "Q (K^T V) without softmax"),
    entry<LinearTransformerOptions, linear_transformer<float>, linear_transformer<double>>(
        "linear_transformer", "features elu(x) + 1 instead of the exponential"),
    entry<PerformerOptions, performer<float>, performer<double>>(
        "performer", "random features whose products are the softmax kernel in expectation"),
    entry<NystromformerOptions, nystromformer<float>, nystromformer<double>>(
        "nystromformer", "softmax through landmarks, with an iterated pseudo-inverse"),
    entry<BigBirdOptions, bigbird<float>, bigbird<double>>(
        "bigbird", "softmax over neighboring, global and random blocks"),
    entry<FlashOptions, flash<float>, flash<double>>(
        "flash", "gated attention unit: activation within chunks, linear attention between them"),
    entry<TokenwiseOptions, tokenwise<float>, tokenwise<double>>("tokenwise",
                                                                 "baseline: does not mix tokens"),
    entry<MeanOptions, mean<float>, mean<double>>("mean", "baseline: averages all tokens"),
};

/// The mechanisms that add_mechanism has registered.
std::vector<Entry>& added() {
  static std::vector<Entry> all;
  return all;
}

std::vector<Entry> entries() {
  std::vector<Entry> all(kEntries.begin(), kEntries.end());
  all.insert(all.end(), added().begin(), added().end());
  return all;
}

}  // namespace

std::vector<Mechanism> mechanisms() {
  std::vector<Mechanism> all;
  for (const Entry& e : entries()) all.push_back(e.mechanism);
  return all;
}

void add_mechanism(const Mechanism& mechanism,
                   MakeAttention<float> in_float,
                   MakeAttention<double> in_double) {
  for (const Mechanism& known : mechanisms()) {
    require(
        known.name != mechanism.name, "attention: there is already a mechanism '{}'", known.name);
  }
  added().push_back({mechanism, in_float, in_double});
}

bool remove_mechanism(std::string_view name) {
  return std::erase_if(added(), [&](const Entry& e) { return e.mechanism.name == name; }) > 0;
}

template <class T>
std::unique_ptr<Attention<T>> make_attention(std::string_view name,
                                             ParameterList& list,
                                             const std::string& prefix,
                                             const AttentionShape& shape,
                                             const NamedOptions& options) {
  std::vector<std::string> known;
  for (const Entry& e : entries()) {
    if (e.mechanism.name == name) {
      check_names(name, options, e.mechanism.options());
      return e.make<T>()(list, prefix, shape, options);
    }
    known.emplace_back(e.mechanism.name);
  }
  throw InvalidArgument(
      fmt::format("attention: there is no mechanism '{}'{}", name, suggestion(name, known)));
}

// NOLINTBEGIN(bugprone-macro-parentheses)
#define MATAPPROX_INSTANTIATE_MAKE(T)                                          \
  template std::unique_ptr<Attention<T>> make_attention(std::string_view,      \
                                                        ParameterList&,        \
                                                        const std::string&,    \
                                                        const AttentionShape&, \
                                                        const NamedOptions&)
// NOLINTEND(bugprone-macro-parentheses)
MATAPPROX_INSTANTIATE_MAKE(float);
MATAPPROX_INSTANTIATE_MAKE(double);

}  // namespace matapprox::attention
