#include "methods/chord/forms.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>

#include "matapprox/core/require.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "methods/chord/pattern.hpp"
#include "operators/symmetry.hpp"

namespace matapprox::chord_fit {
namespace {

/// Up to this order an automatic choice of the form includes the reference pattern, which costs
/// little there: the result is then seldom worse than with that pattern alone. Orders are tried
/// only for larger matrices, because here many starts do more.
constexpr Index kSmallOrder = 64;

constexpr std::array kGraphOrders{ChordOrder::kRcm, ChordOrder::kSpectral, ChordOrder::kHop};

kernels::ChordForm form_named(bool symmetrized) {
  return symmetrized ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct;
}

bool is_graph_order(ChordOrder order) {
  return order == ChordOrder::kRcm || order == ChordOrder::kSpectral || order == ChordOrder::kHop;
}

constexpr const char* kSymmetrizeIsFor = "chord: symmetrize requires a symmetric matrix";

/// True if the links are the same except for a shift of all those of the last factor.
bool is_shift_of(const ChordPattern& pattern, ChordPattern other) {
  if (pattern.order != other.order || pattern.factors() != other.factors()) return false;
  const Index n = pattern.order;
  const Index shift = pattern.offsets.back().front() - other.offsets.back().front() + n;
  for (Index& offset : other.offsets.back()) offset = (offset + shift) % n;
  return pattern == other;
}

Form form_of_start(const ChordOptions& options, const FormStart& start) {
  const ChordPattern& pattern = *start.pattern;
  pattern.validate();
  require(options.factors == 0 || options.factors == pattern.factors(),
          "chord: factors is {}, but the warm start has {}",
          options.factors,
          pattern.factors());
  const Index n = pattern.order;
  const Index permuted = start.ordering ? start.ordering->stored_numbers() / n : 0;
  const Storage beside = permutation_storage(n, permuted);
  require_within(pattern, options.budget, beside);
  // The start determines the pattern; a pattern named in the options must be the same.
  const bool named = options.pattern != ChordFitPattern::kAlternating || !options.offsets.empty();
  require(!named || is_shift_of(pattern, chord_pattern_beside(n, options, beside)),
          "chord: the pattern of the warm start differs from the given one");
  std::string name = "as its start";
  if (options.symmetrize) name += ", symmetrized";
  return {std::move(name), pattern, form_named(options.symmetrize), start.ordering};
}

/// Makes the forms of one matrix, one after the other.
class FormMaker {
 public:
  FormMaker(const LinearOperator& A,
            const ChordOptions& options,
            KnownOrderings known,
            const RunControl& control)
      : n_(A.rows()),
        options_(options),
        chooses_pattern_(options.pattern == ChordFitPattern::kAuto && options.offsets.empty()),
        order_(order_of(options, chooses_pattern_)),
        symmetric_((chooses_pattern_ || options.symmetrize || order_ == ChordOrder::kAuto ||
                    order_ == ChordOrder::kHop) &&
                   is_symmetric(A)),
        search_(with_share_of_time(control, order_)),
        orderings_(A, symmetric_, options.seed, search_, std::move(known)) {
    if (options.symmetrize) require_symmetric(A, kSymmetrizeIsFor);
    require(order_ != ChordOrder::kShift || !options.symmetrize,
            "chord: order shift does not apply to symmetrized products");
  }

  Forms make() {
    if (chooses_pattern_) {
      require(options_.factors == 0,
              "chord: factors {} requires one pattern; auto chooses among several",
              options_.factors);
    }
    const bool chooses_order = order_ == ChordOrder::kAuto;
    for (const auto& [pattern, symmetrized] : kinds())
      add(pattern, symmetrized, chooses_order ? ChordOrder::kNatural : order_);
    if (forms_.empty()) std::rethrow_exception(too_small_);
    if (chooses_order) try_orders();
    return {std::move(forms_), orderings_.known(), cut_short_};
  }

 private:
  using Kind = std::pair<ChordFitPattern, bool>;

  static ChordOrder order_of(const ChordOptions& options, bool chooses_pattern) {
    if (options.order != ChordOrder::kDefault) return options.order;
    return chooses_pattern ? ChordOrder::kAuto : ChordOrder::kNatural;
  }

  /// Limits an automatic choice of orders to a share of the remaining time, which leaves most of it
  /// to the fit.
  static RunControl with_share_of_time(const RunControl& control, ChordOrder order) {
    constexpr double kShare = 0.2;
    RunControl search = control;
    if (order == ChordOrder::kAuto) {
      const double now = control.seconds();
      search.max_seconds = now + kShare * (control.max_seconds - now);
    }
    return search;
  }

  /// Patterns to try, and whether they are symmetrized.
  std::vector<Kind> kinds() const {
    if (!chooses_pattern_) return {{options_.pattern, options_.symmetrize}};
    std::vector<Kind> kinds;
    for (const ChordFitPattern pattern :
         {ChordFitPattern::kMixedRadix, ChordFitPattern::kAlternating}) {
      if (symmetric_ && order_ != ChordOrder::kShift) kinds.emplace_back(pattern, true);
      if (!options_.symmetrize) kinds.emplace_back(pattern, false);
    }
    if (n_ <= kSmallOrder && !options_.symmetrize)
      kinds.emplace_back(ChordFitPattern::kReference, false);
    return kinds;
  }

  /// Adds a form. Where patterns are chosen automatically, skips one that exceeds the budget.
  void add(ChordFitPattern pattern, bool symmetrized, ChordOrder order) {
    try {
      forms_.push_back(form_of(pattern, symmetrized, order));
      forms_.back().base = static_cast<Index>(forms_.size()) - 1;
      kinds_of_forms_.emplace_back(pattern, symmetrized);
    } catch (const BudgetTooSmall&) {
      if (!chooses_pattern_) throw;
      too_small_ = std::current_exception();
    }
  }

  /// If the search's share of the time is over, the fit continues with the forms found so far.
  void try_orders() {
    try {
      add_orders();
    } catch (const Interrupted&) {
      if (search_.interrupted()) throw;
      cut_short_ = true;
    }
  }

  /// Adds each form so far in the orders that may help for this matrix.
  void add_orders() {
    if (chooses_pattern_ && n_ <= kSmallOrder) return;
    // A fit to a kernel matrix of many points reads only a part of it, perhaps in a limited time.
    if (!orderings_.is_quick()) return;
    const std::size_t natural = forms_.size();
    for (std::size_t base = 0; base < natural; ++base) {
      const auto [pattern, symmetrized] = kinds_of_forms_[base];
      const std::size_t before = forms_.size();
      if (!symmetrized && orderings_.shift(forms_[base].pattern) != 0)
        try_order(pattern, symmetrized, ChordOrder::kShift);
      // A dense matrix that is not symmetric does not define a graph.
      if (symmetric_ || orderings_.is_sparse()) {
        for (const ChordOrder order : kGraphOrders) try_order(pattern, symmetrized, order);
      }
      for (std::size_t added = before; added < forms_.size(); ++added)
        forms_[added].base = static_cast<Index>(base);
    }
  }

  void try_order(ChordFitPattern pattern, bool symmetrized, ChordOrder order) {
    // Without a budget, pattern sizes are fixed; only mixed_radix makes room for permutations.
    const bool has_room = order == ChordOrder::kShift || options_.budget.is_set() ||
                          pattern == ChordFitPattern::kMixedRadix;
    if (chooses_pattern_ && !has_room) return;
    try {
      Form form = form_of(pattern, symmetrized, order);
      const bool is_new = !form.ordering || !form.ordering->is_identity();
      if (is_new) forms_.push_back(std::move(form));
    } catch (const BudgetTooSmall&) {  // skips this order
    }
  }

  Form form_of(ChordFitPattern pattern, bool symmetrized, ChordOrder order) {
    ChordOptions one = options_;
    one.pattern = pattern;
    std::string name{one.offsets.empty() ? enum_name(pattern) : "offsets"};
    if (symmetrized) name += ", symmetrized";
    if (order != ChordOrder::kNatural) name += fmt::format(", {}", enum_name(order));
    Form form{std::move(name), {}, form_named(symmetrized), {}};
    if (is_graph_order(order)) {
      form.ordering = orderings_.of(order, hop_pattern(one), symmetrized);
      const Index permutations = form.ordering->stored_numbers() / n_;
      form.pattern = chord_pattern_beside(n_, one, permutation_storage(n_, permutations));
    } else {
      form.pattern = chord_pattern(n_, one);
      if (order == ChordOrder::kShift) shift_last_factor(form.pattern);
    }
    return form;
  }

  /// Returns the pattern that defines the hop costs. Wide factors reach all distances in nearly as
  /// many ways; measurements with the costs of alternating links showed that near entries are
  /// better for them too.
  ChordPattern hop_pattern(const ChordOptions& one) const {
    const bool own = !chooses_pattern_ && one.pattern != ChordFitPattern::kMixedRadix;
    return own ? chord_pattern(n_, one) : chord_alternating_pattern(n_);
  }

  void shift_last_factor(ChordPattern& pattern) {
    const Index shift = orderings_.shift(pattern);
    for (Index& offset : pattern.offsets.back()) offset = (offset + shift) % n_;
  }

  Index n_;
  const ChordOptions& options_;
  bool chooses_pattern_;
  ChordOrder order_;
  bool symmetric_;
  RunControl search_;
  Orderings orderings_;
  std::vector<Form> forms_;
  std::vector<Kind> kinds_of_forms_;
  std::exception_ptr too_small_;
  bool cut_short_ = false;
};

}  // namespace

Forms forms_of(const LinearOperator& A,
               const ChordOptions& options,
               const FormStart& start,
               const RunControl& control) {
  const bool chooses = options.pattern == ChordFitPattern::kAuto && options.offsets.empty();
  require(!start.pattern || !chooses,
          "chord: a warm start has its own pattern; pattern auto is not possible");
  require(!start.pattern || options.order == ChordOrder::kDefault,
          "chord: a warm start has its own order; order {} is not possible",
          enum_name(options.order));
  const StopScope scope(control, "chord");
  if (start.pattern && start.pattern->order == A.rows()) {
    if (options.symmetrize) require_symmetric(A, kSymmetrizeIsFor);
    return {{form_of_start(options, start)}, {}, false};
  }
  return FormMaker(A, options, start.known, control).make();
}

}  // namespace matapprox::chord_fit
