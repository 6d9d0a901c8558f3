#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/io/safetensors.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"

// A model that starts from the weights of a file in BERT's layout, compared with BERT's formulas on
// the tensors of the file, which are out x in. [DCLT19]

namespace matapprox {
namespace {

using attention::TokenMatrix;
using training::Model;
using training::ModelDescription;
using training::NameMap;

constexpr Index kBertWidth = 8;
constexpr Index kBertHeads = 2;
constexpr Index kBertHidden = 16;
constexpr Index kBertVocabulary = 110;  // the token [CLS] is 101
constexpr Index kBertPositions = 20;
constexpr Index kBertLength = 9;
constexpr Index kSeparator = 102;

/// The tensors of a file, all of them random, and access to them by name as matrices.
struct BertFile {
  explicit BertFile(std::string a_prefix, bool old_names = false) : prefix(std::move(a_prefix)) {
    const std::string norm_weight = old_names ? "gamma" : "weight";
    const std::string norm_bias = old_names ? "beta" : "bias";
    const auto add_norm = [&](const std::string& name) {
      add(name + "." + norm_weight, {kBertWidth});
      add(name + "." + norm_bias, {kBertWidth});
      renamed[prefix + name + ".weight"] = prefix + name + "." + norm_weight;
      renamed[prefix + name + ".bias"] = prefix + name + "." + norm_bias;
    };
    add("embeddings.word_embeddings.weight", {kBertVocabulary, kBertWidth});
    add("embeddings.position_embeddings.weight", {kBertPositions, kBertWidth});
    add("embeddings.token_type_embeddings.weight", {2, kBertWidth});
    add_norm("embeddings.LayerNorm");
    for (Index l = 0; l < 2; ++l) {
      const std::string layer = "encoder.layer." + std::to_string(l) + ".";
      for (const char* part : {"query", "key", "value"})
        add_linear(layer + "attention.self." + part, kBertWidth, kBertWidth);
      add_linear(layer + "attention.output.dense", kBertWidth, kBertWidth);
      add_norm(layer + "attention.output.LayerNorm");
      add_linear(layer + "intermediate.dense", kBertHidden, kBertWidth);
      add_linear(layer + "output.dense", kBertWidth, kBertHidden);
      add_norm(layer + "output.LayerNorm");
    }
    add_linear("pooler.dense", kBertWidth, kBertWidth);
    add_tensor("classifier.weight", {3, kBertWidth});
    add_tensor("classifier.bias", {3});
    // Such files contain tensors beside the weights of the encoder.
    add_tensor("cls.predictions.bias", {kBertVocabulary});
  }

  void add(const std::string& name, const std::vector<Index>& shape) {
    add_tensor(prefix + name, shape);
  }
  void add_linear(const std::string& name, Index out, Index in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void add_tensor(const std::string& name, const std::vector<Index>& shape) {
    Index size = 1;
    for (const Index extent : shape) size *= extent;
    std::vector<float> values;
    const auto number = static_cast<Index>(tensors.size());
    for (Index i = 0; i < size; ++i) {
      values.push_back(
          static_cast<float>(0.5 * random_normal(8, RandomStream::kGenerator, number, i)));
    }
    tensors.push_back({name, shape, values});
  }

  /// A tensor of the encoder, or one by its full name; a one-dimensional tensor becomes a row.
  Matrix operator()(const std::string& name) const {
    std::string whole = name.starts_with("classifier") ? name : prefix + name;
    if (const auto found = renamed.find(whole); found != renamed.end()) whole = found->second;
    for (const NamedTensor& tensor : tensors) {
      if (tensor.name != whole) continue;
      const Index rows = tensor.shape.size() == 1 ? 1 : tensor.shape[0];
      return Eigen::Map<const TokenMatrix<float>>(
                 std::get<std::vector<float>>(tensor.values).data(), rows, tensor.shape.back())
          .cast<double>();
    }
    ADD_FAILURE() << "no tensor " << whole;
    return {};
  }
  Matrix linear(const std::string& name, const Matrix& X) const {
    return (X * (*this)(name + ".weight").transpose()).rowwise() + (*this)(name + ".bias").row(0);
  }
  /// Layer norm with epsilon 1e-12.
  Matrix norm(const std::string& name, const Matrix& X) const {
    Matrix Y = X;
    for (Index i = 0; i < X.rows(); ++i) {
      const Eigen::RowVectorXd centered = X.row(i).array() - X.row(i).mean();
      const double deviation =
          std::sqrt(centered.squaredNorm() / static_cast<double>(X.cols()) + 1e-12);
      Y.row(i) = centered.cwiseProduct((*this)(name + ".weight").row(0)) / deviation +
                 (*this)(name + ".bias").row(0);
    }
    return Y;
  }

  std::string prefix;
  std::map<std::string, std::string> renamed;  ///< old names of norms, by the new ones
  std::vector<NamedTensor> tensors;
};

double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

/// The classifier's scores for ids of which the first is [CLS]; `real` is 0 for padding.
Matrix bert_scores(const BertFile& file, const std::vector<Index>& ids, const Vector& real) {
  const auto n = static_cast<Index>(ids.size());
  Matrix X(n, kBertWidth);
  Index segment = 0;
  for (Index i = 0; i < n; ++i) {
    const Index id = ids[static_cast<std::size_t>(i)];
    X.row(i) = file("embeddings.word_embeddings.weight").row(id) +
               file("embeddings.position_embeddings.weight").row(i) +
               file("embeddings.token_type_embeddings.weight").row(segment);
    if (id == kSeparator) segment = 1;
  }
  X = file.norm("embeddings.LayerNorm", X);
  const Index p = kBertWidth / kBertHeads;
  for (Index l = 0; l < 2; ++l) {
    const std::string layer = "encoder.layer." + std::to_string(l) + ".";
    const Matrix Q = file.linear(layer + "attention.self.query", X);
    const Matrix K = file.linear(layer + "attention.self.key", X);
    const Matrix V = file.linear(layer + "attention.self.value", X);
    Matrix H(n, kBertWidth);
    for (Index h = 0; h < kBertHeads; ++h) {
      Matrix P = (Q.middleCols(h * p, p) * K.middleCols(h * p, p).transpose() /
                  std::sqrt(static_cast<double>(p)))
                     .array()
                     .exp()
                     .matrix() *
                 real.asDiagonal();
      for (Index i = 0; i < n; ++i) P.row(i) /= P.row(i).sum();
      H.middleCols(h * p, p) = P * V.middleCols(h * p, p);
    }
    const Matrix Z = file.norm(layer + "attention.output.LayerNorm",
                               file.linear(layer + "attention.output.dense", H) + X);
    const Matrix hidden = file.linear(layer + "intermediate.dense", Z).unaryExpr(&gelu_of);
    X = file.norm(layer + "output.LayerNorm", file.linear(layer + "output.dense", hidden) + Z);
  }
  const Matrix pooled = file.linear("pooler.dense", X.topRows(1)).array().tanh();
  return file.linear("classifier", pooled);
}

ModelDescription bert_model() {
  ModelDescription d;
  d.options.attention = "softmax";
  d.options.width = kBertWidth;
  d.options.heads = kBertHeads;
  d.options.layers = 2;
  d.options.block.feed_forward = kBertHidden / kBertWidth;
  d.options.block.norm_epsilon = 1e-12;
  d.options.embedding.positions = attention::Positions::kLearned;
  d.options.embedding.norm = true;
  d.options.embedding.segments = 2;
  d.options.embedding.segment_separator = kSeparator;
  d.options.pool = attention::Pool::kCls;
  d.options.pooler = true;
  d.task.length = kBertLength;
  d.task.vocabulary = kBertVocabulary;
  d.task.answer = tasks::Answer::kClass;
  d.task.classes = 3;
  return d;
}

std::string write_bert(const BertFile& file, const std::string& name = "bert") {
  std::string path = test::temporary_dir() + "/" + name + ".safetensors";
  write_safetensors(path, file.tensors);
  return path;
}

/// The model's scores in double, from its initial values with the tensors taken from the file.
Matrix scores_of(const ModelDescription& d,
                 const std::string& path,
                 const tasks::Sample& sample,
                 std::size_t taken) {
  const Model<double> model(d);
  std::vector<float> values = model.parameters().initial_values<float>(1);
  const auto names =
      training::transfer_weights(path, training::bert_names(), model.parameters(), values);
  EXPECT_EQ(names.size(), taken);
  const std::vector<double> parameters(values.begin(), values.end());
  attention::Workspace<double> workspace;
  attention::Cache<double> cache;
  attention::LayerContext<double> context;
  context.parameters = parameters.data();
  context.workspace = &workspace;
  TokenMatrix<double> out(1, 3);
  model.forward(context, sample, out, cache);
  return out;
}

/// Files with and without the prefix, norms under both names; [CLS] as a token of the sequence, and
/// as the learned token in front of it.
TEST(BertStart, ForwardPassIsBertsFormula) {
  const std::vector<Index> ids{101, 7, 3, 102, 55, 7, 102, 0, 0};
  for (const bool padded : {false, true}) {
    Vector real = Vector::Ones(kBertLength);
    if (padded) real.tail(2).setZero();
    for (const auto& [prefix, old_names] :
         {std::pair<std::string, bool>{"bert.", false}, {"", true}}) {
      const BertFile file(prefix, old_names);
      const std::string path = write_bert(file);
      const Matrix expected = bert_scores(file, ids, real);
      tasks::Sample sample;
      sample.tokens.assign(ids.begin(), ids.end());
      for (Index i = 0; padded && i < kBertLength; ++i)
        sample.mask.push_back(static_cast<std::uint8_t>(real(i)));
      ModelDescription d = bert_model();
      constexpr std::size_t kTaken = 5 + 2 * 16 + 2 + 2;
      EXPECT_LT((scores_of(d, path, sample, kTaken) - expected).norm(), 1e-12 * expected.norm());
      d.options.embedding.cls_token = true;
      d.task.length = kBertLength - 1;
      sample.tokens.erase(sample.tokens.begin());
      if (padded) sample.mask.erase(sample.mask.begin());
      EXPECT_LT((scores_of(d, path, sample, kTaken + 1) - expected).norm(),
                1e-12 * expected.norm());
    }
  }
}

/// A model of fewer layers takes the first ones; a classifier with a different number of classes is
/// not taken.
TEST(BertStart, TakesWhatTheModelHas) {
  ModelDescription d = bert_model();
  d.options.layers = 1;
  d.options.pooler = false;
  d.task.classes = 4;
  const Model<float> model(d);
  std::vector<float> values(static_cast<std::size_t>(model.parameters().size()), 0.0F);
  const BertFile file("bert.");
  const auto names = training::transfer_weights(
      write_bert(file), training::bert_names(), model.parameters(), values);
  EXPECT_EQ(names.size(), 5U + 16);
  EXPECT_EQ(std::count(names.begin(), names.end(), "head.weight"), 0);
  const attention::Parameter& p = model.parameters().find("block0.feed_forward.hidden.weight");
  const Matrix own =
      attention::ConstTokenMap<float>(values.data() + p.offset, p.rows, p.cols).cast<double>();
  EXPECT_EQ(own, file("encoder.layer.0.intermediate.dense.weight").transpose());
}

/// Returns the message of the refusal, or states that there was none.
template <class Error, class Function>
std::string refusal_of(const Function& function) {
  try {
    function();
  } catch (const Error& refusal) {
    return refusal.what();
  }
  return "no refusal";
}

void expect_words(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(BertStart, RefusesTensorsOfOtherSizes) {
  const std::string path = write_bert(BertFile("bert."));
  const auto refusal = [&](const std::string& file, const NameMap& map, ModelDescription d) {
    return refusal_of<InvalidArgument>([&] {
      const Model<float> model(d);
      std::vector<float> values(static_cast<std::size_t>(model.parameters().size()));
      training::transfer_weights(file, map, model.parameters(), values);
    });
  };
  ModelDescription d = bert_model();
  d.task.vocabulary = 120;
  expect_words(refusal(path, training::bert_names(), d),
               "bert.embeddings.word_embeddings.weight of " + path +
                   " is 110 x 8; embedding.token takes 120 x 8");
  d = bert_model();
  d.task.length = kBertPositions + 1;
  expect_words(refusal(path, training::bert_names(), d), "takes 21 x 8 from row 0 on");
  expect_words(refusal(path, {{"norm.weight", {"bert.pooler.dense.bias"}}}, bert_model()),
               "has none of the tensors of the name map");
  expect_words(refusal("model.h5", training::bert_names(), bert_model()),
               "is not a .safetensors file");
}

TEST(NameMaps, AreReadFromJson) {
  const NameMap map = training::parse_name_map(R"({
    "block*.norm1.weight": ["h.*.ln.g", "h.*.ln.w"],
    "embedding.cls": {"from": "wte", "first_row": 5, "optional": true},
    "head.weight": {"from": "out", "transposed": true},
    "block3.norm1.weight": "never"})",
                                               "map");
  ASSERT_EQ(map.size(), 4U);
  const auto numbered = training::rule_for(map, "block13.norm1.weight");
  ASSERT_TRUE(numbered.has_value());
  EXPECT_EQ(numbered->tensors, (std::vector<std::string>{"h.13.ln.g", "h.13.ln.w"}));
  EXPECT_FALSE(numbered->transposed || numbered->optional || numbered->first_row);
  EXPECT_EQ(training::rule_for(map, "block3.norm1.weight")->tensors[0], "h.3.ln.g");
  const auto cls = training::rule_for(map, "embedding.cls");
  EXPECT_TRUE(cls->first_row == 5 && cls->optional);
  EXPECT_TRUE(training::rule_for(map, "head.weight")->transposed);
  for (const char* other :
       {"block.norm1.weight", "blockx.norm1.weight", "head", "block1.norm2.weight"})
    EXPECT_FALSE(training::rule_for(map, other)) << other;
}

TEST(NameMaps, OfOtherFormsAreRefused) {
  const auto refusal = [](const std::string& text) {
    return refusal_of<FileError>([&] { training::parse_name_map(text, "map.json"); });
  };
  expect_words(refusal("{"), "map.json: is not JSON");
  expect_words(refusal("[1]"), "is not a JSON object");
  expect_words(refusal("{}"), "is not a JSON object");
  expect_words(refusal(R"({"a": 3})"), "map.json: 'a': not a tensor name");
  expect_words(refusal(R"({"a": []})"), "not a tensor name");
  expect_words(refusal(R"({"a": ["b", 1]})"), "a name that is not a string: 1");
  expect_words(refusal(R"({"a": {"transposed": true}})"), "'from' is missing");
  expect_words(refusal(R"({"a": {"from": "b", "transpose": true}})"),
               "unknown key 'transpose'; known");
  expect_words(refusal(R"({"a": {"from": "b", "transposed": 1}})"), "neither true nor false: 1");
  expect_words(refusal(R"({"a": {"from": "b", "first_row": -1}})"), "not a row number: -1");
  expect_words(refusal(R"({"a*b*": "c"})"), "more than one *");
  expect_words(refusal(R"({"a": "c*"})"), "'c*' has a *");
  expect_words(refusal_of<FileError>([] { training::read_name_map("/nowhere/map.json"); }),
               "/nowhere/map.json");
}

}  // namespace
}  // namespace matapprox
