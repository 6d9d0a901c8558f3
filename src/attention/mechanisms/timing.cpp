#include "matapprox/attention/mechanisms/timing.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

constexpr double kMinSeconds = 0.01;

/// Returns the CPU time of the calling thread in seconds.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the seconds per call of `work`, averaged over as many calls as take kMinSeconds.
template <class Work>
double seconds_of(const Work& work) {
  const double begin = cpu_seconds();
  double spent = 0;
  Index calls = 0;
  do {
    work();
    ++calls;
    spent = cpu_seconds() - begin;
  } while (spent < kMinSeconds);
  return spent / static_cast<double>(calls);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A layer with its parameters and memory, at one length.
struct TimedLayer {
  TimedLayer(const ChosenMechanism& mechanism, const AttentionShape& shape, Index a_length)
      : layer(make_attention<float>(mechanism.name, list, "layer", shape, mechanism.options)),
        length(a_length),
        parameters(list.initial_values<float>(1)),
        gradient(parameters.size(), 0.0F),
        X(length, shape.width),
        dX(length, shape.width),
        Y(length, layer->width_out()) {
    for (Index i = 0; i < length; ++i) {
      for (Index j = 0; j < shape.width; ++j)
        X(i, j) = static_cast<float>(random_normal(1, RandomStream::kGenerator, i, j));
    }
    context.parameters = parameters.data();
    context.gradient = gradient.data();
    context.workspace = &workspace;
  }
  void forward() { layer->forward(context, X, Y, cache); }
  void train() {
    forward();
    layer->backward(context, X, Y, dX, cache);
  }

  ParameterList list;
  std::unique_ptr<Attention<float>> layer;
  Index length;
  std::vector<float> parameters;
  std::vector<float> gradient;
  TokenMatrix<float> X;
  TokenMatrix<float> dX;
  TokenMatrix<float> Y;
  Cache<float> cache;
  Workspace<float> workspace;
  LayerContext<float> context;
  std::vector<double> forward_seconds;
  std::vector<double> training_seconds;
};

/// Returns the shape of a mechanism at a length. psf and flash have one head, whatever the others
/// have.
AttentionShape timed_shape(const ChosenMechanism& mechanism, AttentionShape shape, Index length) {
  require(length >= 1, "attention bench: length {} is below 1", length);
  shape.length = length;
  if (mechanism.name == "psf" || mechanism.name == "flash") shape.heads = 1;
  return shape;
}

/// Returns the logarithms of the lengths and times of a mechanism, in ascending order.
std::vector<std::pair<double, double>> logarithms(const std::vector<TimedAttention>& rows,
                                                  const std::string& mechanism) {
  std::vector<std::pair<double, double>> points;
  for (const TimedAttention& row : rows) {
    if (row.mechanism == mechanism) {
      points.emplace_back(std::log(static_cast<double>(row.length)), std::log(row.forward_seconds));
    }
  }
  std::sort(points.begin(), points.end());
  return points;
}

}  // namespace

std::string ChosenMechanism::label() const {
  std::string text = name;
  for (const auto& [option, value] : options) text += fmt::format(":{}={}", option, value);
  return text;
}

std::vector<TimedAttention> time_attention(const std::vector<ChosenMechanism>& mechanisms,
                                           const AttentionShape& shape,
                                           const std::vector<Index>& lengths,
                                           int rounds) {
  require(rounds >= 1, "attention bench: {} rounds; at least 1 is needed", rounds);
  std::vector<std::unique_ptr<TimedLayer>> layers;
  std::vector<TimedAttention> rows;
  for (const ChosenMechanism& mechanism : mechanisms) {
    for (const Index length : lengths) {
      layers.push_back(
          std::make_unique<TimedLayer>(mechanism, timed_shape(mechanism, shape, length), length));
      rows.push_back({mechanism.label(), length, 0, 0, 0, layers.back()->layer->cost(length)});
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (const auto& layer : layers) {
      layer->forward_seconds.push_back(seconds_of([&] { layer->forward(); }));
      layer->training_seconds.push_back(seconds_of([&] { layer->train(); }));
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].forward_seconds = median(layers[i]->forward_seconds);
    rows[i].training_seconds = median(layers[i]->training_seconds);
    rows[i].bytes =
        (layers[i]->cache.size() + layers[i]->workspace.size()) * static_cast<Index>(sizeof(float));
  }
  return rows;
}

std::vector<LayerTensor> timed_tensors(const ChosenMechanism& mechanism,
                                       const AttentionShape& shape,
                                       Index length) {
  TimedLayer timed(mechanism, timed_shape(mechanism, shape, length), length);
  timed.train();
  std::vector<LayerTensor> tensors{{"X", timed.X}, {"Y", timed.Y}, {"gradient.X", timed.dX}};
  for (const Parameter& p : timed.list.parameters()) {
    const ParameterSlot slot(p);
    tensors.push_back({p.name, timed.context.value(slot)});
    tensors.push_back({"gradient." + p.name, timed.context.gradient_of(slot)});
  }
  return tensors;
}

double time_slope(const std::vector<TimedAttention>& rows, const std::string& mechanism) {
  const auto points = logarithms(rows, mechanism);
  const auto count = static_cast<double>(points.size());
  double x_mean = 0;
  double y_mean = 0;
  for (const auto& [x, y] : points) {
    x_mean += x / count;
    y_mean += y / count;
  }
  double across = 0;
  double along = 0;
  for (const auto& [x, y] : points) {
    across += (x - x_mean) * (y - y_mean);
    along += (x - x_mean) * (x - x_mean);
  }
  return along > 0 ? across / along : std::numeric_limits<double>::quiet_NaN();
}

double measured_crossover(const std::vector<TimedAttention>& rows,
                          const std::string& mechanism,
                          const std::string& reference) {
  const auto own = logarithms(rows, mechanism);
  const auto other = logarithms(rows, reference);
  double crossing = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 1; i < std::min(own.size(), other.size()); ++i) {
    const double before = own[i - 1].second - other[i - 1].second;
    const double after = own[i].second - other[i].second;
    if (before >= 0 && after < 0) {
      const double share = before / (before - after);
      crossing = std::exp(own[i - 1].first + share * (own[i].first - own[i - 1].first));
    }
    if (before < 0 && after >= 0) crossing = std::numeric_limits<double>::quiet_NaN();
  }
  return crossing;
}

AttentionCost table_one_softmax(const TableOneSetting& setting, Index length) {
  const Index d = setting.width;
  const Index n = length;
  return {2 * d * n * n + 4 * d * d * n, setting.heads * n * n + 5 * d * n};
}

AttentionCost table_one_linformer(const TableOneSetting& setting, Index length) {
  const Index d = setting.width;
  const Index k = setting.linformer_rank;
  return {(4 * d * d + 4 * k * d) * length,
          (5 * d + 2 * k + setting.heads * k) * length + 2 * k * d};
}

AttentionCost table_one_singularformer(const TableOneSetting& setting, Index length) {
  const Index d = setting.width;
  const Index r = setting.singularformer_rank;
  return {3 * r * d * length + 4 * r * d * d + 2 * r * r * d,
          (d + r) * length + 6 * r * d + setting.heads * r * r};
}

Crossover crossover(const CostOfLength& cost, const CostOfLength& reference, Index longest) {
  require(longest >= 1, "crossover: longest {} is below 1", longest);
  Index last_multiplications = 0;  // the largest length at which `cost` is not below
  Index last_stored = 0;
  for (Index n = 1; n <= longest; ++n) {
    const AttentionCost a = cost(n);
    const AttentionCost b = reference(n);
    if (a.multiplications >= b.multiplications) last_multiplications = n;
    if (a.stored >= b.stored) last_stored = n;
  }
  const auto next = [&](Index last) {
    return last == longest ? std::nullopt : std::optional<Index>(last + 1);
  };
  return {next(last_multiplications), next(last_stored)};
}

}  // namespace matapprox::attention
