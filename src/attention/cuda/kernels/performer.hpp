#pragma once

#include <cmath>

#include "feature_attention.hpp"

namespace matapprox::cuda {

/// e = e - scale^2 |x|^2 / 2 for each row of x, where dots[row] = |x|^2.
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

/// Finds the largest number of each row and its column, the first of equal ones.
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

/// Finds, among the rows of each matrix that are tokens, the row of the largest peak (the first of
/// equal ones), or -1 without tokens. One block of threads processes one matrix.
template <class T>
struct MatrixPeaks {
  static constexpr int kThreads = 256;
  const T* peaks = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 0;  ///< rows of the mask, which repeats for each head
  Index matrices = 0;
  Index length = 0;
  std::int32_t* places = nullptr;  ///< row within each matrix

  struct SharedMemory {
    Index places[kThreads];
  };
  struct Registers {};

  Index blocks() const { return matrices; }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }
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

/// f = (exp(e - peak) + 1e-4) share. The peak is that of the row itself, or that of the row which
/// `places` gives for its matrix. Rows of padding are 0 unless the mask is null.
template <class T>
struct ExponentialFeatures {
  static constexpr T kMinFeature = T(attention::kMinFeature);
  const T* peaks = nullptr;
  const std::int32_t* places = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 1;
  Index length = 1;
  T share = 1;
  T* f = nullptr;  ///< e on entry
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

/// d = d o (f - 1e-4 share): the exponential is its own derivative.
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

/// d[row][place] -= sum: the peak was subtracted from each number, so its derivative is minus the
/// sum of theirs. Runs one thread per row or, with `rows_of_matrices`, one thread per matrix, for
/// the row that this array gives.
template <class T>
struct SubtractAtPeaks {
  static constexpr int kThreads = 256;
  const T* sums = nullptr;
  const std::int32_t* places = nullptr;            ///< columns of the peaks
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

/// y = y - factor sums[row] x for each row.
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

/// FAVOR+: features D^-1/2 (exp(Omega x - |x|^2 / 2 - s) + 1e-4) of x = q p^-1/4 and k p^-1/4. s is
/// the largest exponent: that of the row for queries, that of all tokens for keys. [CLD+21]
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

  /// Computes E = x Omega^T - |x|^2 / 2 for each row x of scale X, the largest number of each row
  /// of E, and its column.
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
  /// dX = scale dE Omega - scale^2 s x for each row x, where s is the sum of the row of dE.
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
  Array<T> peaks_;  ///< peaks of the rows of queries, then of keys
  Array<std::int32_t> query_places_;
  Array<std::int32_t> key_places_;
  Array<std::int32_t> key_rows_;
  FeatureAttention<T, Queue> attention_;
};

}  // namespace matapprox::cuda
