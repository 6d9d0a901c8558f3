#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/safetensors.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::training {
namespace {

using attention::Parameter;
using attention::ParameterList;
using attention::TokenMap;

std::string json_of(const NamedOptions& options) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : options) json[legal_utf8(name)] = legal_utf8(value);
  return json.dump();
}

/// A parameter as stored in a file.
struct Weight {
  Index rows = 0;
  Index cols = 0;
  std::vector<float> values;
};

std::map<std::string, Weight> weights_of_model(const std::string& path) {
  const SavedModel saved = load_model(path);
  const Model<float> model(saved.model);
  std::map<std::string, Weight> weights;
  for (const Parameter& p : model.parameters().parameters()) {
    const auto first = saved.state.best.begin() + p.offset;
    weights[p.name] = {p.rows, p.cols, {first, first + p.size()}};
  }
  return weights;
}

/// Reads tensors of one dimension as rows, since other programs store a bias with one dimension.
std::map<std::string, Weight> weights_of_tensors(const std::string& path) {
  std::map<std::string, Weight> weights;
  for (const NamedTensor& tensor : read_safetensors(path).tensors) {
    const auto dimensions = tensor.shape.size();
    if (dimensions != 1 && dimensions != 2) continue;
    Weight& weight = weights[tensor.name];
    weight.rows = dimensions == 1 ? 1 : tensor.shape[0];
    weight.cols = tensor.shape.back();
    std::visit(
        [&](const auto& values) {
          weight.values.reserve(values.size());
          for (const auto value : values) weight.values.push_back(static_cast<float>(value));
        },
        tensor.values);
  }
  return weights;
}

/// Finds the first of these names that the file contains.
std::map<std::string, Weight>::const_iterator first_of(const std::map<std::string, Weight>& weights,
                                                       const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const auto found = weights.find(name); found != weights.end()) return found;
  }
  return weights.end();
}

/// Weight and bias of a linear map. The columns of a head are those of both, one below the other.
struct Projection {
  Projection(const ParameterList& list, const std::string& name, std::span<float> values)
      : weight(map_of(list.find(name + ".weight"), values)),
        bias(map_of(list.find(name + ".bias"), values)) {}
  Matrix of_head(Index first, Index count) const {
    Matrix both(weight.rows() + 1, count);
    both << weight.middleCols(first, count).cast<double>(),
        bias.middleCols(first, count).cast<double>();
    return both;
  }
  void set_head(Index first, const Matrix& both) {
    weight.middleCols(first, both.cols()) = both.topRows(weight.rows()).cast<float>();
    bias.middleCols(first, both.cols()) = both.bottomRows(1).cast<float>();
  }
  static TokenMap<float> map_of(const Parameter& p, std::span<float> values) {
    return {values.data() + p.offset, p.rows, p.cols};
  }
  TokenMap<float> weight;
  TokenMap<float> bias;
};

}  // namespace

void save_weights(const std::string& path, const SavedModel& saved) {
  const Model<float> model(saved.model);
  std::vector<NamedTensor> tensors;
  for (const Parameter& p : model.parameters().parameters()) {
    const auto first = saved.state.best.begin() + p.offset;
    tensors.push_back({p.name, {p.rows, p.cols}, std::vector<float>(first, first + p.size())});
  }
  write_safetensors(path,
                    tensors,
                    {{"writer", "matapprox"},
                     {"task", saved.task},
                     {"task_options", json_of(saved.task_options)},
                     {"model_options", json_of(named_options(saved.model.options))},
                     {"attention_options", json_of(saved.model.attention_options)},
                     {"seed", std::to_string(saved.seed)},
                     {"step", std::to_string(saved.state.best_step)}});
}

std::vector<std::string> transfer_weights(const std::string& path,
                                          const ParameterList& list,
                                          std::span<float> values) {
  const auto weights =
      path.ends_with(".safetensors") ? weights_of_tensors(path) : weights_of_model(path);
  std::vector<std::string> names;
  for (const Parameter& p : list.parameters()) {
    const auto found = weights.find(p.name);
    if (found == weights.end() || found->second.rows != p.rows || found->second.cols != p.cols)
      continue;
    std::copy(found->second.values.begin(), found->second.values.end(), values.begin() + p.offset);
    names.push_back(p.name);
  }
  require(!names.empty(),
          "weights: {} has no parameter that matches one of this model in name and size",
          path);
  return names;
}

std::vector<std::string> transfer_weights(const std::string& path,
                                          const NameMap& map,
                                          const ParameterList& list,
                                          std::span<float> values) {
  require(path.ends_with(".safetensors"),
          "weights: {} is not a .safetensors file; only those have names of other programs",
          path);
  const auto weights = weights_of_tensors(path);
  std::vector<std::string> names;
  for (const Parameter& p : list.parameters()) {
    const std::optional<NameRule> rule = rule_for(map, p.name);
    if (!rule) continue;
    const auto found = first_of(weights, rule->tensors);
    if (found == weights.end()) continue;
    const Weight& weight = found->second;
    const Index first = rule->first_row.value_or(0);
    const Index rows = rule->transposed ? p.cols : p.rows;
    const Index cols = rule->transposed ? p.rows : p.cols;
    const bool fits = weight.cols == cols &&
                      (rule->first_row ? weight.rows - first >= rows : weight.rows == rows);
    require(fits || rule->optional,
            "weights: {} of {} is {} x {}; {} takes {} x {}{}",
            found->first,
            path,
            weight.rows,
            weight.cols,
            p.name,
            rows,
            cols,
            rule->first_row ? fmt::format(" from row {} on", first) : "");
    if (!fits) continue;
    const attention::ConstTokenMap<float> theirs(weight.values.data() + first * cols, rows, cols);
    TokenMap<float> own(values.data() + p.offset, p.rows, p.cols);
    if (rule->transposed) {
      own = theirs.transpose();
    } else {
      own = theirs;
    }
    names.push_back(p.name);
  }
  require(!names.empty(), "weights: {} has none of the tensors of the name map", path);
  return names;
}

void truncate_scores(const ModelDescription& description, Index rank, std::span<float> values) {
  const Model<float> model(description);
  const Index p = description.options.width / description.options.heads;
  require(rank >= 0 && rank <= p, "truncate_scores: rank {} is outside 0..{}", rank, p);
  const auto& list = model.parameters().parameters();
  const bool has_scores = std::any_of(list.begin(), list.end(), [](const Parameter& parameter) {
    return parameter.name == "block0.attention.query.weight";
  });
  require(has_scores,
          "truncate_scores: {} has no queries and keys of its own for each head",
          description.options.attention);
  for (Index layer = 0; layer < model.layers(); ++layer) {
    const std::string prefix = fmt::format("block{}.attention.", layer);
    Projection query(model.parameters(), prefix + "query", values);
    Projection key(model.parameters(), prefix + "key", values);
    require(query.weight.cols() == description.options.width &&
                key.weight.cols() == description.options.width,
            "truncate_scores: layer {} has no queries and keys of width {}",
            layer,
            description.options.width);
    for (Index head = 0; head < description.options.heads; ++head) {
      const Matrix A = query.of_head(head * p, p);
      const Matrix B = key.of_head(head * p, p);
      const kernels::Svd svd =
          kernels::svd(kernels::product(kernels::Trans::kNo, A, kernels::Trans::kYes, B));
      const Vector root = svd.S.head(rank).cwiseSqrt();
      Matrix left = Matrix::Zero(A.rows(), p);
      Matrix right = Matrix::Zero(B.rows(), p);
      left.leftCols(rank) = svd.U.leftCols(rank) * root.asDiagonal();
      right.leftCols(rank) = svd.V.leftCols(rank) * root.asDiagonal();
      query.set_head(head * p, left);
      key.set_head(head * p, right);
    }
  }
}

}  // namespace matapprox::training
