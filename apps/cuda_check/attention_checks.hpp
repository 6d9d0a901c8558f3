#pragma once

#include "attention/cuda/kernels/bilinear.hpp"
#include "attention/cuda/kernels/softmax_attention.hpp"
#include "checker.hpp"
#include "sums_checks.hpp"

namespace matapprox::cuda {

/// Attention of one head of one sample and its gradient with the N x N matrix P.
struct DenseHead {
  Index n = 0;
  Index p = 0;
  std::vector<double> q, k, v, dh;
  std::vector<double> h, dq, dk, dv;

  double at(const std::vector<double>& x, Index i, Index c) const {
    return x[static_cast<std::size_t>(i * p + c)];
  }
  double dot(const std::vector<double>& x, Index i, const std::vector<double>& y, Index j) const {
    double sum = 0;
    for (Index c = 0; c < p; ++c) sum += at(x, i, c) * at(y, j, c);
    return sum;
  }
  void add(double factor, const std::vector<double>& x, Index i, std::vector<double>& y, Index j) {
    for (Index c = 0; c < p; ++c) y[static_cast<std::size_t>(j * p + c)] += factor * at(x, i, c);
  }
  /// sees(i, j): whether query i sees key j.
  template <class Sees>
  void run(double scale, const Sees& sees) {
    h.assign(q.size(), 0);
    dq = dk = dv = h;
    for (Index i = 0; i < n; ++i) {
      std::vector<double> P(static_cast<std::size_t>(n));
      double sum = 0;
      for (Index j = 0; j < n; ++j) {
        if (sees(i, j)) P[static_cast<std::size_t>(j)] = std::exp(scale * dot(q, i, k, j));
        sum += P[static_cast<std::size_t>(j)];
      }
      double mean = 0;
      for (Index j = 0; j < n; ++j) {
        double& own = P[static_cast<std::size_t>(j)];
        if (sum > 0) own /= sum;
        mean += own * dot(dh, i, v, j);
        add(own, v, j, h, i);
        add(own, dh, i, dv, j);
      }
      for (Index j = 0; j < n; ++j) {
        const double ds = P[static_cast<std::size_t>(j)] * (dot(dh, i, v, j) - mean);
        add(scale * ds, k, j, dq, i);
        add(scale * ds, q, i, dk, j);
      }
    }
  }
};

/// Columns of one head of one sample, and back.
template <class T>
std::vector<double> head_of(const HeadsShape& shape, Index problem, const std::vector<T>& x) {
  std::vector<double> own;
  for (Index i = 0; i < shape.length; ++i) {
    for (Index c = 0; c < shape.width; ++c)
      own.push_back(static_cast<double>(x[static_cast<std::size_t>(shape.at(problem, i) + c)]));
  }
  return own;
}

template <class T, class Queue>
void check_softmax_attention(Checker<Queue>& check, HeadsShape shape, bool masked) {
  const Index rows = shape.samples * shape.length;
  const Index numbers = rows * shape.row_width();
  const std::string name = "softmax attention, " + std::to_string(shape.samples) + " x " +
                           std::to_string(shape.length) + ", " + std::to_string(shape.heads) +
                           " heads of " + std::to_string(shape.width) +
                           (shape.causal ? ", causal" : "") + (masked ? ", masked" : "");
  shape.scale = 1.5;
  const auto Q = test_numbers<T>(numbers, 1);
  const auto K = test_numbers<T>(numbers, 2);
  const auto V = test_numbers<T>(numbers, 3);
  const auto dH = test_numbers<T>(numbers, 4);
  const auto mask = test_mask(rows);
  const auto mask_array = check.array(mask);
  shape.mask = masked ? mask_array.data() : nullptr;
  const auto q = check.array(Q);
  const auto k = check.array(K);
  const auto v = check.array(V);
  const auto dh = check.array(dH);
  auto h = check.template zeros<T>(numbers);
  auto dq = check.template zeros<T>(numbers);
  auto dk = check.template zeros<T>(numbers);
  auto dv = check.template zeros<T>(numbers);
  auto log_sums = check.template zeros<T>(rows * shape.heads);
  auto means = check.template zeros<T>(rows * shape.heads);
  softmax_attention(check.queue(), shape, q.data(), k.data(), v.data(), h.data(), log_sums.data());
  const T* result = h.data();
  const T* sums = log_sums.data();
  softmax_attention_backward(check.queue(),
                             shape,
                             q.data(),
                             k.data(),
                             v.data(),
                             result,
                             dh.data(),
                             sums,
                             means.data(),
                             dq.data(),
                             dk.data(),
                             dv.data());
  std::vector<std::vector<double>> got(4);
  std::vector<std::vector<double>> wanted(4);
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (Index problem = 0; problem < shape.problems(); ++problem) {
    DenseHead dense;
    dense.n = shape.length;
    dense.p = shape.width;
    dense.q = head_of(shape, problem, Q);
    dense.k = head_of(shape, problem, K);
    dense.v = head_of(shape, problem, V);
    dense.dh = head_of(shape, problem, dH);
    dense.run(1.5, [&](Index i, Index j) {
      const Index row = problem / shape.heads * shape.length + j;
      return !(masked && mask[static_cast<std::size_t>(row)] == 0) && !(shape.causal && j > i);
    });
    append(wanted[0], dense.h);
    append(wanted[1], dense.dq);
    append(wanted[2], dense.dk);
    append(wanted[3], dense.dv);
    append(got[0], head_of(shape, problem, check.numbers(h.data(), numbers)));
    append(got[1], head_of(shape, problem, check.numbers(dq.data(), numbers)));
    append(got[2], head_of(shape, problem, check.numbers(dk.data(), numbers)));
    append(got[3], head_of(shape, problem, check.numbers(dv.data(), numbers)));
  }
  // With one key, P = 1 and the derivatives by the scores are 0 but for rounding.
  const bool one = shape.length == 1;
  const std::vector<std::string> parts{"", ", dQ", ", dK", ", dV"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (one && (i == 1 || i == 2)) {
      for (std::size_t j = 0; j < got[i].size(); ++j) wanted[i][j] = got[i][j] + 1;
      for (double& x : got[i]) x += 1;
    }
    check.expect_close(got[i], wanted[i], kRounding<T>, name + parts[i]);
  }
}

/// Scores far above and below what exp can hold.
template <class Queue>
void check_large_scores(Checker<Queue>& check) {
  HeadsShape shape;
  shape.samples = 1;
  shape.length = 20;
  shape.width = 1;
  shape.scale = 1000;
  std::vector<float> keys(20);
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<float>(j % 7) - 3;
  const auto q = check.array(std::vector<float>(20, 1.0F));
  const auto k = check.array(keys);
  auto h = check.template zeros<float>(20);
  auto log_sums = check.template zeros<float>(20);
  softmax_attention(check.queue(), shape, q.data(), k.data(), k.data(), h.data(), log_sums.data());
  // The largest key is 3, twice: at 6 and 13.
  check.expect_close(check.numbers(h.data(), 20), std::vector<double>(20, 3), 1e-6, "large scores");
  check.expect_close(check.numbers(log_sums.data(), 20),
                     std::vector<double>(20, 3000 + std::log(2.0)),
                     1e-6,
                     "large scores, logarithms of sums");
}

/// Y = Q (K^T U) of one head of two, and its gradient, by triple loops.
template <class T, class Queue>
void check_bilinear(Checker<Queue>& check, Index samples, Index length) {
  BilinearShape shape{samples, length, 3, 2, 7};
  const Index numbers = samples * shape.sample_numbers();
  const auto Q = test_numbers<T>(numbers, 1);
  const auto K = test_numbers<T>(numbers, 2);
  const auto U = test_numbers<T>(numbers, 3);
  const auto dY = test_numbers<T>(numbers, 4);
  const auto at = [&](const auto& x, Index sample, Index i, Index c) {
    return static_cast<double>(
        x[static_cast<std::size_t>(sample * shape.sample_numbers() + i * 7 + c)]);
  };
  std::vector<double> y(static_cast<std::size_t>(numbers));
  auto d_q = y;
  auto d_k = y;
  auto d_u = y;
  for (Index s = 0; s < samples; ++s) {
    double state[3][2] = {};
    double d_state[3][2] = {};
    for (Index i = 0; i < length; ++i) {
      for (Index a = 0; a < 3; ++a) {
        for (Index b = 0; b < 2; ++b) {
          state[a][b] += at(K, s, i, a) * at(U, s, i, b);
          d_state[a][b] += at(Q, s, i, a) * at(dY, s, i, b);
        }
      }
    }
    for (Index i = 0; i < length; ++i) {
      const auto row = static_cast<std::size_t>(s * shape.sample_numbers() + i * 7);
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < 2; ++b) {
          const auto column = static_cast<Index>(a);
          const auto other = static_cast<Index>(b);
          y[row + b] += at(Q, s, i, column) * state[a][b];
          d_q[row + a] += at(dY, s, i, other) * state[a][b];
          d_k[row + a] += at(U, s, i, other) * d_state[a][b];
          d_u[row + b] += at(K, s, i, column) * d_state[a][b];
        }
      }
    }
  }
  const auto q = check.array(Q);
  const auto k = check.array(K);
  const auto u = check.array(U);
  const auto dy = check.array(dY);
  auto state = check.template zeros<T>(samples * 6);
  auto d_state = check.template zeros<T>(samples * 6);
  auto result = check.template zeros<T>(numbers);
  auto dq = check.template zeros<T>(numbers);
  auto dk = check.template zeros<T>(numbers);
  auto du = check.template zeros<T>(numbers);
  Scratch<T, Queue> scratch(check.queue());
  bilinear(scratch, shape, q.data(), k.data(), u.data(), state.data(), result.data());
  const T* kept = state.data();
  bilinear_backward(scratch,
                    shape,
                    q.data(),
                    k.data(),
                    u.data(),
                    kept,
                    dy.data(),
                    d_state.data(),
                    dq.data(),
                    dk.data(),
                    du.data());
  const std::string name = "bilinear, " + std::to_string(samples) + " x " + std::to_string(length);
  const double tolerance = 4 * kRounding<T>;
  check.expect_close(check.numbers(result.data(), numbers), y, tolerance, name);
  check.expect_close(check.numbers(dq.data(), numbers), d_q, tolerance, name + ", dQ");
  check.expect_close(check.numbers(dk.data(), numbers), d_k, tolerance, name + ", dK");
  check.expect_close(check.numbers(du.data(), numbers), d_u, tolerance, name + ", dU");
}

template <class T, class Queue>
void check_attention_of(Checker<Queue>& check) {
  for (const bool causal : {false, true}) {
    for (const Index length : {1, 2, 3, 37, 150}) {
      HeadsShape shape;
      shape.length = length;
      shape.causal = causal;
      shape.samples = 2;
      shape.heads = 3;
      shape.width = 5;
      check_softmax_attention<T>(check, shape, length > 3);
      shape.heads = 1;
      shape.samples = 1;
      shape.width = length == 37 ? 40 : 12;
      check_softmax_attention<T>(check, shape, false);
    }
  }
  for (const Index length : {1, 2, 3, 37, 1000}) check_bilinear<T>(check, 3, length);
  check_bilinear<T>(check, 1, 4104);
}

template <class Queue>
void check_attention(Checker<Queue>& check) {
  check_attention_of<float>(check);
  check_attention_of<double>(check);
  check_large_scores(check);
}

}  // namespace matapprox::cuda
