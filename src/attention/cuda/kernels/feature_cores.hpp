#pragma once

#include <cmath>

#include "softmax_tiles.hpp"

namespace matapprox::cuda {

// Y = Q (K^T U), what the mechanisms of linear cost come down to. Q is N x D, K and U are N x D and
// N x u, for each head and sample.

struct BilinearShape {
  Index samples = 0;
  Index heads = 1;
  Index length = 0;
  Index width = 0;     ///< p, of queries, keys and values
  Index features = 0;  ///< D
  Index values = 0;    ///< u

  Index matrices() const { return heads * samples; }
  Index rows() const { return matrices() * length; }
};

/// S = K^T U (D x u).
template <class T>
Gemm<T> bilinear_state(const BilinearShape& shape, const T* k, const T* u, T* s) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product_tn(D, v, n, k, D, u, v, s, v), shape.matrices(), n * D, n * v, D * v);
}
/// Y = Q S.
template <class T>
Gemm<T> bilinear_result(const BilinearShape& shape, const T* q, const T* s, T* y) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product(n, v, D, q, D, s, v, y, v), shape.matrices(), n * D, D * v, n * v);
}
/// X = Y S^T, N x D.
template <class T>
Gemm<T> bilinear_transposed(const BilinearShape& shape, const T* y, const T* s, T* x) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product_nt(n, D, v, y, v, s, v, x, D), shape.matrices(), n * v, D * v, n * D);
}

/// Sets dQ, dK and dU from dY; S is that of the forward pass, and that of the backward pass after
/// it.
template <class T, class Queue>
void bilinear_backward(const Queue& queue,
                       const BilinearShape& shape,
                       const T* q,
                       const T* k,
                       const T* u,
                       const T* dy,
                       T* s,
                       const HeadBlocks<T>& d) {
  queue.gemm(bilinear_transposed(shape, dy, s, d.query));
  queue.gemm(bilinear_state(shape, q, dy, s));
  queue.gemm(bilinear_transposed(shape, u, s, d.key));
  queue.gemm(bilinear_result(shape, k, s, d.value));
}

/// y = x times a number of the sample that follows from 1 / tokens.
template <class T>
struct ScaleByLength {
  const T* x = nullptr;
  const T* shares = nullptr;
  Index samples = 1;
  Index length = 1;
  LengthScale scale = LengthScale::kNone;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    // Without tokens 1, as with one.
    const T own = shares[row / length % samples];
    const T share = own > T(0) ? own : T(1);
    T factor = T(1);
    if (scale == LengthScale::kInverseSqrtLength) factor = sqrt_of(share);
    if (scale == LengthScale::kInverseLength) factor = share;
    auto numbers = load_numbers<T, kWidth>(x + (row * columns + column));
    for (int c = 0; c < kWidth; ++c) numbers.values[c] *= factor;
    store_numbers(numbers, y + (row * columns + column));
  }
};

/// SimpleTRON: H = Q (K^T V) times a scale of the length. [YKV+21]
template <class T, class Queue>
class SimpletronCore final : public HeadCore<T, Queue> {
 public:
  SimpletronCore(const Queue& queue, const BilinearShape& shape, LengthScale scale)
      : shape_(shape),
        scale_(scale),
        scaled_(queue.template array<T>(shape.rows() * shape.values)),
        state_(queue.template array<T>(shape.matrices() * shape.features * shape.values)) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    const Queue& queue = pass.queue();
    rescale(pass, in.value, scaled_.data());
    queue.gemm(bilinear_state<T>(shape_, in.key, scaled_.data(), state_.data()));
    queue.gemm(bilinear_result<T>(shape_, in.query, state_.data(), h));
  }
  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* /*h*/,
                const T* dh,
                const HeadBlocks<T>& d) override {
    bilinear_backward(pass.queue(), shape_, in.query, in.key, scaled_.data(), dh, state_.data(), d);
    rescale(pass, d.value, d.value);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  void rescale(const Pass<T, Queue>& pass, const T* x, T* y) const {
    ScaleByLength<T> kernel;
    kernel.x = x;
    kernel.shares = pass.shares;
    kernel.samples = shape_.samples;
    kernel.length = shape_.length;
    kernel.scale = scale_;
    kernel.y = y;
    kernel.columns = shape_.values;
    for_each_piece<T>(pass.queue(), shape_.rows(), shape_.values, kernel);
  }

  BilinearShape shape_;
  LengthScale scale_;
  Array scaled_;
  Array state_;
};

/// f = phi(x) = elu(x) + 1: x + 1 above 0, else exp(x).
template <class T>
struct EluFeatures {
  const T* x = nullptr;
  T* f = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    auto numbers = load_numbers<T, kWidth>(x + (row * columns + column));
    for (T& v : numbers.values) v = v > T(0) ? v + T(1) : exp_of(v);
    store_numbers(numbers, f + (row * columns + column));
  }
};

/// d = d o phi', which is 1 above 0, else phi itself.
template <class T>
struct EluFeaturesBackward {
  const T* x = nullptr;
  const T* f = nullptr;
  T* d = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const auto own = load_numbers<T, kWidth>(x + at);
    const auto feature = load_numbers<T, kWidth>(f + at);
    auto numbers = load_numbers<T, kWidth>(d + at);
    for (int c = 0; c < kWidth; ++c) {
      if (!(own.values[c] > T(0))) numbers.values[c] *= feature.values[c];
    }
    store_numbers(numbers, d + at);
  }
};

/// A row of values and, after them, 1; 0 in rows of padding.
template <class T>
struct AppendOne {
  static constexpr int kThreads = 256;
  const T* x = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 0;  ///< of the mask: rows count on from 0 in each head
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;  ///< of x

  Index blocks() const { return ceil_div(rows * (columns + 1), kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at >= rows * (columns + 1)) return;
    const Index row = at / (columns + 1);
    const Index column = at - row * (columns + 1);
    const bool token = is_token(mask, row % token_rows);
    const T value = column < columns ? x[row * columns + column] : T(1);
    y[at] = token ? value : T(0);
  }
};

/// h = y / sum, where the sum is the last number of y (and 1e-6), kept apart.
template <class T>
struct DivideBySum {
  static constexpr int kThreads = 256;
  static constexpr T kMinSum = T(1e-6);
  const T* y = nullptr;
  T* sums = nullptr;
  T* h = nullptr;
  Index rows = 0;
  Index columns = 0;  ///< of h

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at >= rows * columns) return;
    const Index row = at / columns;
    const Index column = at - row * columns;
    const T* own = y + row * (columns + 1);
    const T sum = own[columns] + kMinSum;
    if (column == 0) sums[row] = sum;
    h[at] = own[column] / sum;
  }
};

/// dy = dh / s and, after it, -<dh, h> / s.
template <class T>
struct DivideBySumBackward {
  static constexpr int kThreads = 256;
  const T* dh = nullptr;
  const T* dots = nullptr;
  const T* sums = nullptr;
  T* dy = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows * (columns + 1), kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at >= rows * (columns + 1)) return;
    const Index row = at / (columns + 1);
    const Index column = at - row * (columns + 1);
    dy[at] = (column < columns ? dh[row * columns + column] : -dots[row]) / sums[row];
  }
};

/// x (rows x columns) = the first `columns` numbers of each row of y, which has one more.
template <class T>
struct DropLast {
  static constexpr int kThreads = 256;
  const T* y = nullptr;
  T* x = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at < rows * columns) x[at] = y[at + at / columns];
  }
};

/// H_i = sum_j (f_i . g_j) v_j / (sum_j f_i . g_j + 1e-6) with features f and g of queries and
/// keys: [H o s, s] = F (G^T [V, 1]).
template <class T, class Queue>
class FeatureAttention {
 public:
  /// shape.values is one more than the width.
  FeatureAttention(const Queue& queue, const BilinearShape& shape)
      : shape_(shape),
        values_(queue.template array<T>(shape.rows() * shape.values)),
        state_(queue.template array<T>(shape.matrices() * shape.features * shape.values)),
        sums_(queue.template array<T>(shape.rows())) {}

  void forward(const Pass<T, Queue>& pass, const T* f, const T* g, const T* v, T* h) {
    const Queue& queue = pass.queue();
    const Index rows = shape_.rows();
    queue.run(AppendOne<T>{v, pass.mask, pass.rows(), values_.data(), rows, shape_.width});
    T* y = pass.work->take(kFeatureRows, rows * shape_.values);
    queue.gemm(bilinear_state<T>(shape_, g, values_.data(), state_.data()));
    queue.gemm(bilinear_result<T>(shape_, f, state_.data(), y));
    queue.run(DivideBySum<T>{y, sums_.data(), h, rows, shape_.width});
  }
  /// Sets df and dg, and dV.
  void backward(const Pass<T, Queue>& pass,
                const T* f,
                const T* g,
                const T* h,
                const T* dh,
                T* df,
                T* dg,
                T* dv) {
    const Queue& queue = pass.queue();
    const Index rows = shape_.rows();
    T* dots = pass.work->take(kSoftmaxDots, rows);
    queue.run(RowDots<T>{dh, h, dots, rows, shape_.width});
    T* dy = pass.work->take(kFeatureRows, rows * shape_.values);
    queue.run(DivideBySumBackward<T>{dh, dots, sums_.data(), dy, rows, shape_.width});
    T* d_values = pass.work->take(kFeatureRowGradient, rows * shape_.values);
    bilinear_backward(
        queue, shape_, f, g, values_.data(), dy, state_.data(), HeadBlocks<T>{df, dg, d_values});
    queue.run(DropLast<T>{d_values, dv, rows, shape_.width});
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  BilinearShape shape_;
  Array values_;  ///< [V, 1]
  Array state_;
  Array sums_;
};

/// Features elu(x) + 1. [KVPF20]
template <class T, class Queue>
class LinearTransformerCore final : public HeadCore<T, Queue> {
 public:
  LinearTransformerCore(const Queue& queue, const BilinearShape& shape)
      : shape_(shape),
        query_(queue.template array<T>(shape.rows() * shape.width)),
        key_(queue.template array<T>(shape.rows() * shape.width)),
        attention_(queue, shape) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    features(pass, in.query, query_.data());
    features(pass, in.key, key_.data());
    attention_.forward(pass, query_.data(), key_.data(), in.value, h);
  }
  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* h,
                const T* dh,
                const HeadBlocks<T>& d) override {
    attention_.backward(pass, query_.data(), key_.data(), h, dh, d.query, d.key, d.value);
    features_backward(pass, in.query, query_.data(), d.query);
    features_backward(pass, in.key, key_.data(), d.key);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  void features(const Pass<T, Queue>& pass, const T* x, T* f) const {
    for_each_piece<T>(
        pass.queue(), shape_.rows(), shape_.width, EluFeatures<T>{x, f, shape_.width});
  }
  void features_backward(const Pass<T, Queue>& pass, const T* x, const T* f, T* d) const {
    for_each_piece<T>(
        pass.queue(), shape_.rows(), shape_.width, EluFeaturesBackward<T>{x, f, d, shape_.width});
  }

  BilinearShape shape_;
  Array query_;  ///< features
  Array key_;
  FeatureAttention<T, Queue> attention_;
};

/// e = e - |x|^2 / 2 of the row of x, scaled by `scale`: dots are <x, x>.
template <class T>
struct SubtractNorms {
  const T* dots = nullptr;
  T factor = 0;  ///< scale^2 / 2
  T* e = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    auto numbers = load_numbers<T, kWidth>(e + (row * columns + column));
    for (T& v : numbers.values) v -= dots[row] * factor;
    store_numbers(numbers, e + (row * columns + column));
  }
};

/// The largest number of each row and its column, the first of equal ones.
template <class T>
struct RowPeaks {
  static constexpr int kThreads = RowLanes::kThreads;
  const T* e = nullptr;
  T* peaks = nullptr;
  std::int32_t* places = nullptr;
  Index rows = 0;
  Index columns = 0;

  struct SharedMemory {
    T peaks[kThreads];
    Index places[kThreads];
  };
  struct Registers {};

  Index blocks() const { return ceil_div(rows, RowLanes::kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }
  MATAPPROX_HD void begin(GridPosition, Registers&) const {}
  MATAPPROX_HD void end(GridPosition, const Registers&) const {}
  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row = RowLanes::row(place);
    if (row >= rows) return;
    Index best = RowLanes::lane(place);
    for (Index c = best; c < columns; c += RowLanes::kLanes)
      best = e[row * columns + c] > e[row * columns + best] ? c : best;
    shared.places[place.thread] = best < columns ? best : -1;
    shared.peaks[place.thread] = best < columns ? e[row * columns + best] : T(0);
  }
  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row = RowLanes::row(place);
    if (row >= rows || RowLanes::lane(place) != 0) return;
    int best = place.thread;
    for (int l = place.thread + 1; l < place.thread + RowLanes::kLanes; ++l) {
      if (shared.places[l] < 0) continue;
      const bool larger = shared.peaks[l] > shared.peaks[best];
      const bool equal = !larger && !(shared.peaks[best] > shared.peaks[l]);
      if (larger || (equal && shared.places[l] < shared.places[best])) best = l;
    }
    peaks[row] = shared.peaks[best];
    places[row] = static_cast<std::int32_t>(shared.places[best]);
  }
};

/// Of the rows of each matrix that are tokens, that of the largest peak, the first of equal ones;
/// -1 without tokens. A block of threads has a matrix.
template <class T>
struct MatrixPeaks {
  static constexpr int kThreads = 256;
  const T* peaks = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 0;  ///< of the mask
  Index matrices = 0;
  Index length = 0;
  std::int32_t* places = nullptr;  ///< rows of the matrix

  struct SharedMemory {
    Index places[kThreads];
  };
  struct Registers {};

  Index blocks() const { return matrices; }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }
  MATAPPROX_HD void begin(GridPosition, Registers&) const {}
  MATAPPROX_HD void end(GridPosition, const Registers&) const {}
  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index first = place.block * length;
    Index best = -1;
    for (Index i = place.thread; i < length; i += kThreads) {
      if (!is_token(mask, (first + i) % token_rows)) continue;
      if (best < 0 || peaks[first + i] > peaks[first + best]) best = i;
    }
    shared.places[place.thread] = best;
  }
  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    if (place.thread != 0) return;
    const T* own = peaks + place.block * length;
    Index best = -1;
    for (const Index other : shared.places) {
      if (other < 0) continue;
      const bool larger = best < 0 || own[other] > own[best];
      const bool equal = best >= 0 && !larger && !(own[best] > own[other]);
      if (larger || (equal && other < best)) best = other;
    }
    places[place.block] = static_cast<std::int32_t>(best);
  }
};

/// f = (exp(e - peak) + 1e-4) share, the peak being that of the row, or of the row of the matrix
/// that `places` names. Rows of padding are 0 unless the mask is null.
template <class T>
struct ExponentialFeatures {
  static constexpr T kMinFeature = T(1e-4);
  const T* peaks = nullptr;
  const std::int32_t* places = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 1;
  Index length = 1;
  T share = 1;
  T* f = nullptr;  ///< e before
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    Numbers<T, kWidth> numbers{};
    if (is_token(mask, row % token_rows)) {
      const Index matrix = row / length;
      const Index peak = places == nullptr ? row : matrix * length + places[matrix];
      numbers = load_numbers<T, kWidth>(f + at);
      for (T& v : numbers.values) v = (exp_of(v - peaks[peak]) + kMinFeature) * share;
    }
    store_numbers(numbers, f + at);
  }
};

/// d = d o (f - 1e-4 share): the derivative of the exponential is itself.
template <class T>
struct ExponentialFeaturesBackward {
  const T* f = nullptr;
  T least = 0;
  T* d = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const auto features = load_numbers<T, kWidth>(f + at);
    auto numbers = load_numbers<T, kWidth>(d + at);
    for (int c = 0; c < kWidth; ++c) numbers.values[c] *= features.values[c] - least;
    store_numbers(numbers, d + at);
  }
};

/// The derivative by a peak, which each number had taken off, is less their sum: d[row][place] -=
/// sum. A thread a row; with `rows_of_matrices`, a thread a matrix, whose row that names.
template <class T>
struct SubtractAtPeaks {
  static constexpr int kThreads = 256;
  const T* sums = nullptr;
  const std::int32_t* places = nullptr;            ///< columns
  const std::int32_t* rows_of_matrices = nullptr;  ///< -1: none
  Index length = 1;
  Index count = 0;
  T* d = nullptr;
  Index columns = 0;

  Index blocks() const { return ceil_div(count, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index own = place.block * kThreads + place.thread;
    if (own >= count) return;
    Index row = own;
    if (rows_of_matrices != nullptr) {
      if (rows_of_matrices[own] < 0) return;
      row = own * length + rows_of_matrices[own];
    }
    d[row * columns + places[row]] -= sums[own];
  }
};

/// y = y - factor sum x, a sum for each row.
template <class T>
struct SubtractScaledRows {
  const T* x = nullptr;
  const T* sums = nullptr;
  T factor = 0;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const auto own = load_numbers<T, kWidth>(x + at);
    auto numbers = load_numbers<T, kWidth>(y + at);
    for (int c = 0; c < kWidth; ++c) numbers.values[c] -= own.values[c] * (sums[row] * factor);
    store_numbers(numbers, y + at);
  }
};

/// FAVOR+: features D^-1/2 (exp(Omega x - |x|^2 / 2 - s) + 1e-4) of x = q p^-1/4 and k p^-1/4, s
/// the largest exponent, of a row for queries, of all tokens for keys. [CLD+21]
template <class T, class Queue>
class PerformerCore final : public HeadCore<T, Queue> {
 public:
  PerformerCore(const Queue& queue, const BilinearShape& shape, const ParameterSlot& omega)
      : shape_(shape),
        omega_(omega),
        query_(queue.template array<T>(shape.rows() * shape.features)),
        key_(queue.template array<T>(shape.rows() * shape.features)),
        peaks_(queue.template array<T>(shape.rows())),
        query_places_(queue.template array<std::int32_t>(shape.rows())),
        key_places_(queue.template array<std::int32_t>(shape.rows())),
        key_rows_(queue.template array<std::int32_t>(shape.matrices())),
        attention_(queue, shape) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    ExponentialFeatures<T> features;
    features.peaks = peaks_.data();
    features.token_rows = pass.rows();
    features.length = shape_.length;
    features.share = share();
    features.columns = shape_.features;
    exponents(pass, in.query, query_.data(), query_places_.data());
    features.f = query_.data();
    for_each_piece<T>(pass.queue(), shape_.rows(), shape_.features, features);
    exponents(pass, in.key, key_.data(), key_places_.data());
    pass.queue().run(MatrixPeaks<T>{
        peaks_.data(), pass.mask, pass.rows(), shape_.matrices(), shape_.length, key_rows_.data()});
    features.places = key_rows_.data();
    features.mask = pass.mask;
    features.f = key_.data();
    for_each_piece<T>(pass.queue(), shape_.rows(), shape_.features, features);
    attention_.forward(pass, query_.data(), key_.data(), in.value, h);
  }

  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* h,
                const T* dh,
                const HeadBlocks<T>& d) override {
    T* d_query = pass.work->take(kFeatureQueryGradient, shape_.rows() * shape_.features);
    T* d_key = pass.work->take(kFeatureKeyGradient, shape_.rows() * shape_.features);
    attention_.backward(pass, query_.data(), key_.data(), h, dh, d_query, d_key, d.value);
    T* sums = pass.work->take(kFeatureNorms, shape_.rows());
    from_features(pass, query_.data(), d_query);
    row_sums(*pass.scratch, d_query, shape_.rows(), shape_.features, sums);
    subtract_at_peaks(pass, sums, query_places_.data(), nullptr, shape_.rows(), d_query);
    from_features(pass, key_.data(), d_key);
    row_sums(*pass.scratch, d_key, shape_.matrices(), shape_.length * shape_.features, sums);
    subtract_at_peaks(pass, sums, key_places_.data(), key_rows_.data(), shape_.matrices(), d_key);
    exponents_backward(pass, in.query, d_query, d.query);
    exponents_backward(pass, in.key, d_key, d.key);
  }

 private:
  template <class Number>
  using Array = decltype(std::declval<const Queue&>().template array<Number>(0));

  T scale() const { return static_cast<T>(std::pow(static_cast<double>(shape_.width), -0.25)); }
  T share() const { return T(1) / sqrt_of(static_cast<T>(shape_.features)); }
  const T* omega(const Pass<T, Queue>& pass) const { return pass.parameters + omega_.offset; }

  /// E = x Omega^T - |x|^2 / 2 for each row x of scale X; the largest of each row, and its column.
  void exponents(const Pass<T, Queue>& pass, const T* x, T* e, std::int32_t* places) {
    const Queue& queue = pass.queue();
    const Index rows = shape_.rows();
    const Index p = shape_.width;
    const Index D = shape_.features;
    Gemm<T> gemm = product_nt(rows, D, p, x, p, omega(pass), p, e, D);
    gemm.alpha = scale();
    queue.gemm(gemm);
    T* dots = pass.work->take(kFeatureNorms, rows);
    queue.run(RowDots<T>{x, x, dots, rows, p});
    for_each_piece<T>(queue, rows, D, SubtractNorms<T>{dots, scale() * scale() / 2, e, D});
    queue.run(RowPeaks<T>{e, peaks_.data(), places, rows, D});
  }
  void from_features(const Pass<T, Queue>& pass, const T* f, T* d) const {
    for_each_piece<T>(pass.queue(),
                      shape_.rows(),
                      shape_.features,
                      ExponentialFeaturesBackward<T>{
                          f, ExponentialFeatures<T>::kMinFeature * share(), d, shape_.features});
  }
  void subtract_at_peaks(const Pass<T, Queue>& pass,
                         const T* sums,
                         const std::int32_t* places,
                         const std::int32_t* rows_of_matrices,
                         Index count,
                         T* d) const {
    pass.queue().run(SubtractAtPeaks<T>{
        sums, places, rows_of_matrices, shape_.length, count, d, shape_.features});
  }
  /// dX = scale dE Omega - scale^2 x times the sum of the row of dE.
  void exponents_backward(const Pass<T, Queue>& pass, const T* x, const T* de, T* dx) const {
    const Index rows = shape_.rows();
    const Index p = shape_.width;
    const Index D = shape_.features;
    Gemm<T> gemm = product(rows, p, D, de, D, omega(pass), p, dx, p);
    gemm.alpha = scale();
    pass.queue().gemm(gemm);
    T* sums = pass.work->take(kFeatureNorms, rows);
    row_sums(*pass.scratch, de, rows, D, sums);
    for_each_piece<T>(
        pass.queue(), rows, p, SubtractScaledRows<T>{x, sums, scale() * scale(), dx, p});
  }

  BilinearShape shape_;
  ParameterSlot omega_;
  Array<T> query_;  ///< features
  Array<T> key_;
  Array<T> peaks_;  ///< of the rows, while they are needed
  Array<std::int32_t> query_places_;
  Array<std::int32_t> key_places_;
  Array<std::int32_t> key_rows_;
  FeatureAttention<T, Queue> attention_;
};

}  // namespace matapprox::cuda
