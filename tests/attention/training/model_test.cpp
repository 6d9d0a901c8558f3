#include "matapprox/attention/training/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "support/attention.hpp"

namespace matapprox {
namespace {

using attention::TokenMatrix;
using training::Model;
using training::ModelDescription;

struct ModelCase {
  std::string label;
  std::function<void(ModelDescription&)> change;
};

/// GoogleTest prints each case at every program start; without this function, byte by byte.
void PrintTo(const ModelCase& tested, std::ostream* out) { *out << tested.label; }

constexpr Index kModelLength = 11;

ModelDescription described(const ModelCase& c) {
  ModelDescription d;
  d.options.width = 8;
  d.options.heads = 2;
  d.options.layers = 2;
  d.options.attention = "softmax";
  d.options.block.feed_forward = 2;
  d.task.length = kModelLength;
  d.task.vocabulary = 5;
  d.task.answer = tasks::Answer::kClass;
  d.task.classes = 3;
  c.change(d);
  return d;
}

std::vector<ModelCase> model_cases() {
  using attention::BlockKind;
  using attention::Pool;
  return {
      {"PostNorm", [](ModelDescription&) {}},
      {"PreNorm", [](ModelDescription& d) { d.options.block.kind = BlockKind::kPreNorm; }},
      {"PreNormNoFinalNorm",
       [](ModelDescription& d) {
         d.options.block.kind = BlockKind::kPreNorm;
         d.options.final_norm = false;
       }},
      {"NoFeedForward", [](ModelDescription& d) { d.options.block.feed_forward = 0; }},
      {"PreNormNoFeedForward",
       [](ModelDescription& d) {
         d.options.block.kind = BlockKind::kPreNorm;
         d.options.block.feed_forward = 0;
       }},
      {"Skips",
       [](ModelDescription& d) {
         d.options.attention = "simpletron";
         d.options.block.inner_skip = true;
         d.options.block.outer_skip = true;
       }},
      {"PreNormSkips",
       [](ModelDescription& d) {
         d.options.block.kind = BlockKind::kPreNorm;
         d.options.block.inner_skip = true;
         d.options.block.outer_skip = true;
       }},
      {"BarePsfFlattenOfFeatures",
       [](ModelDescription& d) {
         d.options.attention = "psf";
         d.attention_options = {{"value_width", "3"}, {"hidden", "4"}};
         d.options.heads = 1;
         d.options.layers = 1;
         d.options.block.kind = BlockKind::kBare;
         d.options.pool = Pool::kFlatten;
         d.task.vocabulary = 0;
         d.task.features = 2;
         d.task.answer = tasks::Answer::kNumber;
       }},
      {"LearnedPositionsCls",
       [](ModelDescription& d) {
         d.options.embedding.positions = attention::Positions::kLearned;
         d.options.pool = Pool::kCls;
       }},
      {"SinusoidalPositionsMlpHead",
       [](ModelDescription& d) {
         d.options.embedding.positions = attention::Positions::kSinusoidal;
         d.options.pool = Pool::kMaxMean;
         d.options.head = training::HeadKind::kMlp;
       }},
      {"Bert",
       [](ModelDescription& d) {
         d.options.embedding.positions = attention::Positions::kLearned;
         d.options.embedding.norm = true;
         d.options.embedding.cls_token = true;
         d.options.embedding.segments = 2;
         d.options.embedding.segment_separator = 3;
         d.options.block.norm_epsilon = 1e-12;
         d.options.pool = Pool::kCls;
         d.options.pooler = true;
         d.options.head_dropout = 0.3;
       }},
      {"ClsTokenOfFeaturesFlatten",
       [](ModelDescription& d) {
         d.options.embedding.positions = attention::Positions::kSinusoidal;
         d.options.embedding.cls_token = true;
         d.options.embedding.segments = 1;
         d.options.block.kind = BlockKind::kPreNorm;
         d.options.block.norm_epsilon = 0.1;
         d.options.pool = Pool::kFlatten;
         d.task.vocabulary = 0;
         d.task.features = 2;
       }},
      {"Pair",
       [](ModelDescription& d) {
         d.options.embedding.positions = attention::Positions::kLearned;
         d.options.embedding.cls_token = true;
         d.options.pool = Pool::kCls;
         d.options.pair_separator = 2;
         d.options.head = training::HeadKind::kMlp;
         d.options.head_dropout = 0.3;
         d.options.block.dropout = 0.2;
       }},
      {"PairRealformer",
       [](ModelDescription& d) {
         d.options.attention = "singularformer";
         d.attention_options = {{"rank", "3"}};
         d.options.pool = Pool::kMaxMean;
         d.options.pair_separator = 2;
         d.options.pooler = true;
       }},
      {"TokenAnswersThroughAPooler",
       [](ModelDescription& d) {
         d.task.answer = tasks::Answer::kTokenClass;
         d.options.embedding.norm = true;
         d.options.pooler = true;
       }},
      {"MaxPool", [](ModelDescription& d) { d.options.pool = Pool::kMax; }},
      {"TokenAnswers", [](ModelDescription& d) { d.task.answer = tasks::Answer::kTokenClass; }},
      {"Dropout",
       [](ModelDescription& d) {
         d.options.block.dropout = 0.3;
         d.options.embedding_dropout = 0.2;
         d.options.head_dropout = 0.3;
       }},
      {"AttentionDropout", [](ModelDescription& d) { d.options.attention_dropout = 0.3; }},
  };
}

/// Token ids or features of N tokens with the given mask.
tasks::Sample model_sample(const ModelDescription& d, Index n, std::vector<std::uint8_t> mask) {
  tasks::Sample sample;
  for (Index i = 0; i < n * d.task.features; ++i) {
    sample.features.push_back(static_cast<float>(random_normal(3, RandomStream::kGenerator, i, 0)));
  }
  for (Index i = 0; d.task.vocabulary > 0 && i < n; ++i) {
    sample.tokens.push_back(static_cast<std::int32_t>(
        random_index(3, RandomStream::kGenerator, i, 1, d.task.vocabulary)));
  }
  sample.mask = std::move(mask);
  return sample;
}

template <class T>
struct ModelRun {
  explicit ModelRun(const ModelDescription& d)
      : model(d),
        parameters(model.parameters().template initial_values<T>(1)),
        gradient(parameters.size(), T(0)) {}
  attention::LayerContext<T> context() {
    attention::LayerContext<T> c;
    c.parameters = parameters.data();
    c.gradient = gradient.data();
    c.training = true;
    c.random = {5, 7};
    c.workspace = &workspace;
    return c;
  }
  TokenMatrix<T> forward(const tasks::Sample& sample) {
    TokenMatrix<T> out(model.rows_out(sample), model.outputs());
    model.forward(context(), sample, out, cache);
    return out;
  }
  Model<T> model;
  std::vector<T> parameters;
  std::vector<T> gradient;
  attention::Cache<T> cache;
  attention::Workspace<T> workspace;
};

/// Checks the derivative with respect to all parameters.
void expect_model_adjoint(const ModelDescription& d, const tasks::Sample& sample) {
  ModelRun<double> run(d);
  const std::vector<double> start = run.parameters;
  const auto count = static_cast<Index>(start.size());
  const Vector v = random_normal_matrix(4, RandomStream::kGenerator, count, 1);
  const auto along = [&](double t) {
    for (std::size_t i = 0; i < start.size(); ++i)
      run.parameters[i] = start[i] + t * v(static_cast<Index>(i));
    return test::flat(run.forward(sample));
  };
  const TokenMatrix<double> out = run.forward(sample);
  const TokenMatrix<double> u = test::random_tokens(out.rows(), out.cols(), 6);
  run.model.backward(run.context(), sample, u, run.cache);
  test::expect_adjoint(
      along, test::flat(u), v, Eigen::Map<const Vector>(run.gradient.data(), count));
}

class ModelContract : public testing::TestWithParam<ModelCase> {};

TEST_P(ModelContract, BackwardPassIsTheAdjointOfTheDerivative) {
  const ModelDescription d = described(GetParam());
  std::vector<std::uint8_t> mask(kModelLength, 1);
  mask[0] = mask[4] = mask[10] = 0;
  expect_model_adjoint(d, model_sample(d, kModelLength, {}));
  expect_model_adjoint(d, model_sample(d, kModelLength, mask));
}

TEST_P(ModelContract, PaddingHasNoInfluence) {
  const ModelDescription d = described(GetParam());
  std::vector<std::uint8_t> mask(kModelLength, 1);
  mask[5] = mask[9] = mask[10] = 0;
  ModelRun<double> run(d);
  tasks::Sample sample = model_sample(d, kModelLength, mask);
  const TokenMatrix<double> before = run.forward(sample);
  for (const std::size_t i : {5, 9, 10}) {
    if (!sample.tokens.empty()) sample.tokens[i] = 4 - sample.tokens[i];
    if (!sample.features.empty()) sample.features[2 * i] += 3;
  }
  EXPECT_EQ(run.forward(sample), before);
}

/// The outputs and the gradient of a sample do not depend on earlier samples, bit for bit.
TEST_P(ModelContract, SamplesDoNotSeeEachOther) {
  const ModelDescription d = described(GetParam());
  const tasks::Sample sample = model_sample(d, kModelLength, {});
  std::vector<std::uint8_t> mask(kModelLength, 1);
  mask[2] = 0;
  tasks::Sample other = model_sample(d, kModelLength, mask);
  for (auto& token : other.tokens) token = 4 - token;
  for (auto& feature : other.features) feature += 1;
  ModelRun<double> run(d);
  const TokenMatrix<double> alone = run.forward(sample);
  run.model.backward(run.context(), sample, alone, run.cache);
  const std::vector<double> gradient = run.gradient;
  const TokenMatrix<double> another = run.forward(other);
  run.model.backward(run.context(), other, another, run.cache);
  EXPECT_EQ(run.forward(sample), alone);
  std::fill(run.gradient.begin(), run.gradient.end(), 0);
  run.model.backward(run.context(), sample, alone, run.cache);
  EXPECT_EQ(run.gradient, gradient);
}

TEST_P(ModelContract, ASampleWithoutTokensGivesFiniteNumbers) {
  const ModelDescription d = described(GetParam());
  ModelRun<double> run(d);
  const tasks::Sample sample = model_sample(d, kModelLength, std::vector<std::uint8_t>(11, 0));
  const TokenMatrix<double> out = run.forward(sample);
  EXPECT_TRUE(out.allFinite());
  run.model.backward(run.context(), sample, out, run.cache);
  for (const double g : run.gradient) ASSERT_TRUE(std::isfinite(g));
}

/// Compares the memory per sample that is predicted before a training with the memory actually
/// used.
TEST(Model, SaysAboutHowMuchMemoryASampleTakes) {
  const Index n = 1024;
  for (const attention::Mechanism& mechanism : attention::mechanisms()) {
    for (const auto kind : {attention::BlockKind::kPreNorm, attention::BlockKind::kPostNorm}) {
      ModelDescription d;
      d.options.attention = mechanism.name;
      d.options.width = 32;
      d.options.layers = 3;
      d.options.block.kind = kind;
      d.options.block.feed_forward = 2;
      d.task.length = n;
      d.task.vocabulary = 5;
      d.task.answer = tasks::Answer::kClass;
      d.task.classes = 2;
      ModelRun<float> run(d);
      const tasks::Sample sample = model_sample(d, n, {});
      const TokenMatrix<float> out = run.forward(sample);
      run.model.backward(run.context(), sample, out, run.cache);
      const auto held = static_cast<double>(run.cache.size() + run.workspace.size());
      const double said = run.model.training_numbers(n);
      EXPECT_GT(said, 0.6 * held) << mechanism.name << ", " << held / static_cast<double>(32 * n);
      EXPECT_LT(said, 1.7 * held) << mechanism.name << ", " << held / static_cast<double>(32 * n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         ModelContract,
                         testing::ValuesIn(model_cases()),
                         [](const auto& each) { return each.param.label; });

TEST(Model, PsfOfTheAddingTaskHasThePublishedNumberOfParameters) {
  for (const auto& [length, count] :
       {std::pair<Index, Index>{128, 11681}, {1024, 23799}, {4096, 52005}, {16384, 154203}}) {
    ModelDescription d;
    d.options.block.kind = attention::BlockKind::kBare;
    d.options.pool = attention::Pool::kFlatten;
    d.attention_options = {{"value_width", "8"}};
    d.task.length = length;
    d.task.features = 2;
    EXPECT_EQ(Model<float>(d).parameters().size(), count) << length;
  }
}

TEST(Model, DropoutKeepsTheMeanAndDropsTheShare) {
  const attention::Dropout<double> dropout(0.25, 3);
  attention::LayerContext<double> context;
  context.training = true;
  TokenMatrix<double> X = TokenMatrix<double>::Ones(400, 50);
  dropout.apply(context, X);
  const double zeros = static_cast<double>((X.array() == 0).count()) / 20000;
  EXPECT_NEAR(zeros, 0.25, 5 * std::sqrt(0.25 * 0.75 / 20000));
  EXPECT_EQ(X.maxCoeff(), 1 / 0.75);
  TokenMatrix<double> again = TokenMatrix<double>::Ones(400, 50);
  dropout.apply(context, again);
  EXPECT_EQ(again, X);
  context.random.sample = 1;
  TokenMatrix<double> other = TokenMatrix<double>::Ones(400, 50);
  dropout.apply(context, other);
  EXPECT_NE(other, X);
  context.training = false;
  dropout.apply(context, again);
  EXPECT_EQ(again, X);
}

TEST(Model, RefusesWhatDoesNotFit) {
  const auto refuses = [](const std::function<void(ModelDescription&)>& change,
                          const std::string& words) {
    const ModelDescription d = described({"", change});
    try {
      const Model<float> model(d);
      FAIL() << "no refusal: " << words;
    } catch (const InvalidArgument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(words), std::string::npos) << refusal.what();
    }
  };
  refuses([](auto& d) { d.options.heads = 3; }, "width 8 is not divisible by 3 heads");
  refuses([](auto& d) { d.options.layers = 0; }, "layers 0 is outside 1..1024");
  refuses([](auto& d) { d.options.block.dropout = 1; }, "rate 1 is outside");
  refuses([](auto& d) { d.options.attention = "softmix"; }, "did you mean 'softmax'");
  refuses([](auto& d) { d.attention_options = {{"rank", "3"}}; }, "rank");
  refuses([](auto& d) { d.options.pool = attention::Pool::kNone; }, "pool none");
  refuses(
      [](auto& d) {
        d.options.embedding.cls_token = true;
        d.task.answer = tasks::Answer::kTokenClass;
      },
      "cls_token is for tasks with one answer a sample");
  refuses([](auto& d) { d.options.pair_separator = 5; }, "pair_separator 5 is outside -1..4");
  refuses(
      [](auto& d) {
        d.options.pair_separator = 2;
        d.options.pool = attention::Pool::kFlatten;
      },
      "pair_separator is for pools of any length with one answer, not flatten");
  refuses([](auto& d) { d.options.block.norm_epsilon = 0; },
          "norm_epsilon 0 is not a number of at least");
  refuses([](auto& d) { d.options.embedding.segments = -1; }, "segments -1 is outside 0..");
  refuses(
      [](auto& d) {
        d.options.embedding.segments = 2;
        d.options.embedding.segment_separator = 5;
      },
      "segment_separator 5 is outside -1..4");
  refuses([](auto& d) { d.options.embedding.segment_separator = 4; },
          "a segment_separator is for at least 2 segments, not 0");
  refuses(
      [](auto& d) {
        d.options.attention = "psf";
        d.options.heads = 1;
        d.attention_options = {{"value_width", "3"}};
      },
      "makes tokens of width 3");
}

/// Two texts with a separator token between them: the head reads the representation that each text
/// has alone. Padding is not a separator; a text without tokens gives 0; the texts have separate
/// dropout masks.
TEST(Model, ATextOfAPairIsWhatItIsAlone) {
  ModelDescription d = described({"", [](ModelDescription& e) {
                                    e.options.embedding.positions = attention::Positions::kLearned;
                                    e.options.pair_separator = 4;
                                  }});
  ModelDescription alone = d;
  alone.options.pair_separator = -1;
  ModelRun<double> pair(d);
  ModelRun<double> one(alone);
  const auto pooled = [&](const std::vector<std::int32_t>& ids) -> Matrix {
    if (ids.empty()) return Matrix::Zero(1, 8);
    tasks::Sample sample;
    sample.tokens = ids;
    one.forward(sample);
    return one.cache.array(0, 1, 8);
  };
  const attention::Parameter& weight = pair.model.parameters().find("head.weight");
  ASSERT_EQ(weight.rows, 32);
  const Matrix W = attention::TokenMap<double>(pair.parameters.data() + weight.offset, 32, 3);
  const attention::Parameter& bias = pair.model.parameters().find("head.bias");
  const Matrix b = attention::TokenMap<double>(pair.parameters.data() + bias.offset, 1, 3);
  const std::vector<std::vector<std::int32_t>> texts{{0, 2, 3}, {1}, {}, {3, 3, 2, 1}};
  for (const auto& first : texts) {
    for (const auto& second : texts) {
      tasks::Sample sample;
      sample.tokens = first;
      sample.tokens.push_back(4);
      sample.tokens.insert(sample.tokens.end(), second.begin(), second.end());
      Matrix joined(1, 32);
      const Matrix u = pooled(first);
      const Matrix v = pooled(second);
      joined << u, v, (u - v).cwiseAbs(), u.cwiseProduct(v);
      const Matrix expected = joined * W + b;
      EXPECT_LT((pair.forward(sample) - expected).norm(), 1e-12 * expected.norm());
      // Padding with the id of the separator, placed before the separator, belongs to the first
      // text.
      sample.mask.assign(sample.tokens.size() + 1, 1);
      sample.mask[first.size()] = 0;
      sample.tokens.insert(sample.tokens.begin() + static_cast<std::ptrdiff_t>(first.size()), 4);
      EXPECT_LT((pair.forward(sample) - expected).norm(), 1e-12 * expected.norm());
    }
  }
  tasks::Sample sample;
  sample.tokens = {1, 2};
  try {
    pair.forward(sample);
    FAIL();
  } catch (const InvalidArgument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("no token 4 (pair_separator)"), std::string::npos);
  }
}

/// The gradient of auxiliary losses is averaged over the texts as well.
TEST(Model, AuxiliaryLossesOfAPairAreTheMeanOfItsTexts) {
  ModelDescription d = described({"", [](ModelDescription& e) {
                                    e.options.attention = "singularformer";
                                    e.attention_options = {{"rank", "3"}};
                                    e.options.pair_separator = 4;
                                  }});
  ModelRun<double> pair(d);
  d.options.pair_separator = -1;
  ModelRun<double> one(d);
  const auto loss_of = [](ModelRun<double>& run, const std::vector<std::int32_t>& ids) {
    tasks::Sample sample;
    sample.tokens = ids;
    double loss = 0;
    attention::LayerContext<double> context = run.context();
    context.auxiliary = &loss;
    TokenMatrix<double> out(1, 3);
    run.model.forward(context, sample, out, run.cache);
    context.auxiliary_weight = 1;
    run.model.backward(context, sample, TokenMatrix<double>::Zero(1, 3), run.cache);
    return loss;
  };
  const double first = loss_of(one, {0, 2, 3, 3, 1});
  const double second = loss_of(one, {3, 0});
  const double both = loss_of(pair, {0, 2, 3, 3, 1, 4, 3, 0});
  EXPECT_NEAR(both, (first + second) / 2, 1e-14 * both);
  // The sum of two samples' gradients is twice that of the pair; the heads do not contribute.
  const attention::Parameter& p = one.model.parameters().find("block1.attention.mixture.weight");
  const attention::Parameter& q = pair.model.parameters().find(p.name);
  const Matrix apart = attention::TokenMap<double>(one.gradient.data() + p.offset, p.rows, p.cols);
  const Matrix joint = attention::TokenMap<double>(pair.gradient.data() + q.offset, q.rows, q.cols);
  ASSERT_GT(joint.norm(), 0);
  EXPECT_LT((2 * joint - apart).norm(), 1e-12 * apart.norm());
}

/// Two equal texts get different dropout masks; with equal masks |u - v| would be 0.
TEST(Model, TheTextsOfAPairAreDroppedApart) {
  const ModelDescription d = described({"", [](ModelDescription& e) {
                                          e.options.pair_separator = 4;
                                          e.options.embedding_dropout = 0.3;
                                        }});
  ModelRun<double> run(d);
  tasks::Sample sample;
  sample.tokens = {0, 2, 3, 4, 0, 2, 3};
  run.forward(sample);
  const TokenMatrix<double> joined = run.cache.array(6, 1, 32);
  EXPECT_GT(joined.middleCols(16, 8).norm(), 1e-3);
}

TEST(Model, RefusesASampleThatDoesNotFit) {
  const ModelDescription d =
      described({"", [](auto& e) { e.options.pool = attention::Pool::kFlatten; }});
  ModelRun<float> run(d);
  const auto refuses = [&](const std::function<void(tasks::Sample&)>& change,
                           const std::string& words) {
    tasks::Sample sample = model_sample(d, kModelLength, {});
    change(sample);
    try {
      run.forward(sample);
      FAIL() << "no refusal: " << words;
    } catch (const InvalidArgument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(words), std::string::npos) << refusal.what();
    }
  };
  refuses([](auto& s) { s.tokens.push_back(1); }, "12 tokens; the model takes 1..11");
  refuses([](auto& s) { s.tokens.clear(); }, "0 tokens");
  refuses([](auto& s) { s.tokens[3] = 5; }, "token 5 is outside 0..4");
  refuses([](auto& s) { s.tokens[3] = -1; }, "token -1");
  refuses([](auto& s) { s.tokens.pop_back(); }, "flatten is for sequences of 11");
  refuses([](auto& s) { s.mask.assign(3, 1); }, "a mask of 3 for 11 tokens");
  refuses([](auto& s) { s.features.push_back(1); }, "1 features");
}

}  // namespace
}  // namespace matapprox
