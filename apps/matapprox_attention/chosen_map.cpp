#include "chosen_map.hpp"

#include <fmt/format.h>

#include "matapprox/core/require.hpp"
#include "matapprox/operators/dense.hpp"

namespace matapprox::app {

void ChosenMap::add(const Command& command) {
  command_ = command;
  command.add_option("--layer", layer_, "Layer, counted from 0 [0]").range(0).type_name("");
  command.add_option("--head", head_, "Head, counted from 0 [0]").range(0).type_name("");
  command.add_flag(
      "--summary", summary_, "One matrix per model: the maximum over heads, averaged over layers");
}

void ChosenMap::check() const {
  for (const char* flag : {"--layer", "--head"}) {
    require(!summary_ || command_->find_option(flag)->count() == 0,
            "{} has no effect on --summary",
            flag);
  }
}

std::shared_ptr<const LinearOperator> ChosenMap::matrix(
    const training::AttentionOnSample& attention) const {
  if (summary_) return std::make_shared<DenseOperator>(attention.summary());
  return attention.matrix(layer_, head_);
}

std::string ChosenMap::text() const {
  return summary_ ? "largest over heads, mean over layers"
                  : fmt::format("layer {}, head {}", layer_, head_);
}

void ChosenMap::describe(report::Json& json) const {
  json["summary"] = summary_;
  json["layer"] = summary_ ? report::Json(nullptr) : report::Json(layer_);
  json["head"] = summary_ ? report::Json(nullptr) : report::Json(head_);
}

}  // namespace matapprox::app
