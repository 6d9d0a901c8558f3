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

template <class T>
struct Entry {
  Mechanism mechanism;
  MakeAttention<T> make;
};

template <class T, class Options, auto function>
constexpr Entry<T> entry(std::string_view name, std::string_view summary) {
  return {{name, summary, [] { return list_options(Options{}); }},
          attention_from_text<T, Options, function>};
}

/// One entry per mechanism, in the order of the tables.
template <class T>
constexpr std::array kEntries{
    entry<T, SoftmaxOptions, softmax<T>>("softmax",
                                         "softmax(Q K^T / sqrt(p)) V, without forming the matrix"),
    entry<T, PsfOptions, psf<T>>("psf", "product of sparse Chord factors computed from the tokens"),
    entry<T, LinformerOptions, linformer<T>>("linformer", "softmax over k mixtures of the tokens"),
    entry<T, SingularformerOptions, singularformer<T>>(
        "singularformer", "softmax between r learned mixtures of the tokens"),
    entry<T, RevisitedLinformerOptions, revisited_linformer<T>>(
        "revisited_linformer", "two softmaxes around k mixtures of the tokens"),
    entry<T, EfficientOptions, efficient<T>>("efficient",
                                             "separate softmax of queries and of keys"),
    entry<T, SimpletronOptions, simpletron<T>>("simpletron", "Q (K^T V) without softmax"),
    entry<T, LinearTransformerOptions, linear_transformer<T>>(
        "linear_transformer", "features elu(x) + 1 instead of the exponential"),
    entry<T, PerformerOptions, performer<T>>(
        "performer", "random features whose products are the softmax kernel in expectation"),
    entry<T, NystromformerOptions, nystromformer<T>>(
        "nystromformer", "softmax through landmarks, with an iterated pseudo-inverse"),
    entry<T, BigBirdOptions, bigbird<T>>("bigbird",
                                         "softmax over neighboring, global and random blocks"),
    entry<T, FlashOptions, flash<T>>(
        "flash", "gated attention unit: activation within chunks, linear attention between them"),
    entry<T, TokenwiseOptions, tokenwise<T>>("tokenwise", "baseline: does not mix tokens"),
    entry<T, MeanOptions, mean<T>>("mean", "baseline: averages all tokens"),
};

/// A mechanism that was registered by add_mechanism.
struct Added {
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

std::vector<Added>& added() {
  static std::vector<Added> all;
  return all;
}

template <class T>
std::vector<Entry<T>> entries() {
  std::vector<Entry<T>> all(kEntries<T>.begin(), kEntries<T>.end());
  for (const Added& a : added()) all.push_back({a.mechanism, a.make<T>()});
  return all;
}

}  // namespace

std::vector<Mechanism> mechanisms() {
  std::vector<Mechanism> all;
  for (const Entry<double>& e : entries<double>()) all.push_back(e.mechanism);
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
  return std::erase_if(added(), [&](const Added& a) { return a.mechanism.name == name; }) > 0;
}

template <class T>
std::unique_ptr<Attention<T>> make_attention(std::string_view name,
                                             ParameterList& list,
                                             const std::string& prefix,
                                             const AttentionShape& shape,
                                             const NamedOptions& options) {
  std::vector<std::string> known;
  for (const Entry<T>& e : entries<T>()) {
    if (e.mechanism.name == name) {
      check_names(name, options, e.mechanism.options());
      return e.make(list, prefix, shape, options);
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
