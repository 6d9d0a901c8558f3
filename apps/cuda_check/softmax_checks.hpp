#pragma once

#include "attention/cuda/kernels/softmax_tiles.hpp"
#include "checker.hpp"
#include "sums_checks.hpp"

namespace matapprox::cuda {

/// Softmax attention of one head of one sample by its formulas, in double.
struct DenseSoftmax {
  Index n = 0;
  Index p = 0;
  std::vector<double> probabilities;  ///< n x n

  /// Computes the probabilities; rows without any unmasked key are zero.
  DenseSoftmax(const double* q,
               const double* k,
               const SoftmaxShape& shape,
               const std::uint8_t* mask)
      : n(shape.queries), p(shape.width), probabilities(n * n) {
    for (Index i = 0; i < n; ++i) {
      double* row = probabilities.data() + i * n;
      double sum = 0;
      for (Index j = 0; j < n; ++j) {
        if (!is_token(mask, j) || (shape.causal && j > i)) continue;
        double score = 0;
        for (Index c = 0; c < p; ++c) score += q[i * p + c] * k[j * p + c];
        row[j] = std::exp(score / std::sqrt(static_cast<double>(p)));
        sum += row[j];
      }
      for (Index j = 0; j < n && sum > 0; ++j) row[j] /= sum;
    }
  }
  /// Computes `to` = A x (n x p), or A^T x, for an n x n matrix A.
  void multiply(const std::vector<double>& A, bool transposed, const double* x, double* to) const {
    std::fill_n(to, n * p, 0.0);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        const double a = A[transposed ? j * n + i : i * n + j];
        for (Index c = 0; c < p; ++c) to[i * p + c] += a * x[j * p + c];
      }
    }
  }
  /// dS = P o (dH V^T - (dH o H) 1) / sqrt(p).
  std::vector<double> d_scores(const double* v, const double* h, const double* dh) const {
    std::vector<double> d(probabilities.size());
    for (Index i = 0; i < n; ++i) {
      double mean = 0;
      for (Index c = 0; c < p; ++c) mean += dh[i * p + c] * h[i * p + c];
      for (Index j = 0; j < n; ++j) {
        double dot = 0;
        for (Index c = 0; c < p; ++c) dot += dh[i * p + c] * v[j * p + c];
        const auto at = static_cast<std::size_t>(i * n + j);
        d[at] = probabilities[at] * (dot - mean) / std::sqrt(static_cast<double>(p));
      }
    }
    return d;
  }
};

/// Checks H, dQ, dK and dV against the dense formulas.
template <class T, class Queue>
void check_softmax_of(Checker<Queue>& check, const SoftmaxShape& shape, bool masked) {
  const Index numbers = shape.rows() * shape.width;
  const Index own = shape.queries * shape.width;
  const auto size = static_cast<std::size_t>(numbers);
  const auto Q = test_numbers<T>(numbers, 91);
  const auto K = test_numbers<T>(numbers, 92);
  const auto V = test_numbers<T>(numbers, 93);
  const auto dH = test_numbers<T>(numbers, 94);
  const auto mask = masked ? test_mask(shape.samples * shape.queries) : std::vector<std::uint8_t>();
  const auto in_double = [](const std::vector<T>& x) {
    return std::vector<double>(x.begin(), x.end());
  };
  const auto q_host = in_double(Q);
  const auto k_host = in_double(K);
  const auto v_host = in_double(V);
  const auto dh_host = in_double(dH);
  std::vector<double> wanted[4];
  for (auto& w : wanted) w.resize(size);
  for (Index m = 0; m < shape.matrices(); ++m) {
    const Index at = m * own;
    const std::uint8_t* tokens = masked ? mask.data() + m % shape.samples * shape.queries : nullptr;
    const DenseSoftmax dense(q_host.data() + at, k_host.data() + at, shape, tokens);
    dense.multiply(dense.probabilities, false, v_host.data() + at, wanted[0].data() + at);
    const auto d = dense.d_scores(v_host.data() + at, wanted[0].data() + at, dh_host.data() + at);
    dense.multiply(d, false, k_host.data() + at, wanted[1].data() + at);
    dense.multiply(d, true, q_host.data() + at, wanted[2].data() + at);
    dense.multiply(dense.probabilities, true, dh_host.data() + at, wanted[3].data() + at);
  }

  const Queue& queue = check.queue();
  const auto mask_array = check.array(mask);
  const auto q = check.array(Q);
  const auto k = check.array(K);
  const auto v = check.array(V);
  const auto dh = check.array(dH);
  auto h = queue.template array<T>(numbers);
  auto dq = queue.template array<T>(numbers);
  auto dk = queue.template array<T>(numbers);
  auto dv = queue.template array<T>(numbers);
  Scratch<T, Queue> scratch(queue);
  WorkArrays<T, Queue> work(queue);
  Pass<T, Queue> pass;
  pass.mask = masked ? mask_array.data() : nullptr;
  pass.sequences = shape.samples;
  pass.length = shape.queries;
  pass.scratch = &scratch;
  pass.work = &work;
  TiledSoftmax<T, Queue> softmax(queue, shape);
  softmax.forward(pass, {q.data(), k.data(), v.data()}, h.data());
  softmax.backward(
      pass, {q.data(), k.data(), v.data()}, h.data(), dh.data(), {dq.data(), dk.data(), dv.data()});
  const std::string name = text("softmax, N = %ld%s%s",
                                shape.queries,
                                shape.causal ? ", causal" : "",
                                masked ? ", masked" : "");
  const T* got[] = {h.data(), dq.data(), dk.data(), dv.data()};
  const char* what[] = {", H", ", dQ", ", dK", ", dV"};
  // The probability of a single key is 1 for any score, so dQ and dK are rounding errors only.
  const double least = shape.queries == 1 ? largest(wanted[3]) : 0;
  for (int i = 0; i < 4; ++i) {
    check.expect_close(
        check.numbers(got[i], numbers), wanted[i], kRounding<T>, name + what[i], least);
  }
}

template <class Queue>
void check_softmax(Checker<Queue>& check) {
  // Tiles of 64 keys: a partial one, a full one, several.
  for (const Index length : {1, 3, 64, 130}) {
    for (const bool causal : {false, true}) {
      for (const bool masked : {false, true}) {
        SoftmaxShape shape;
        shape.samples = 2;
        shape.heads = 3;
        shape.queries = length;
        shape.keys = length;
        shape.width = length == 3 ? 40 : 5;
        shape.causal = causal;
        shape.masked = masked;
        shape.tile = 64;
        check_softmax_of<float>(check, shape, masked);
        check_softmax_of<double>(check, shape, masked);
      }
    }
  }
}

}  // namespace matapprox::cuda
