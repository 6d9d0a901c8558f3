#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/kernels/chord_chain.hpp"
#include "device/cuda/kernels/tall_product.hpp"
#include "elementwise.hpp"
#include "pass.hpp"
#include "psf_product.hpp"

namespace matapprox::cuda {

/// A PSF-Attn layer without the block around it: V_m = W_m V_{m-1} (+ V_0), m = 1..M. Networks
/// Linear - GELU - Linear compute V_0 and each row of W_m from a token. [KYCY22, Sec. 4]
struct PsfLayerShape {
  Index in = 0;      ///< width of the tokens
  Index hidden = 0;  ///< hidden width of each network
  Index value = 0;   ///< columns of V
  bool residual = true;
  ChordShape pattern;  ///< at the length of the samples
  LinearSlots first;   ///< first layers of all networks side by side, that of V_0 first
  std::vector<LinearSlots> outputs;  ///< second layer of each network

  Index factors() const { return pattern.factors(); }
  Index networks() const { return factors() + 1; }
  Index all_hidden() const { return networks() * hidden; }
  Index all_links() const { return pattern.stored_numbers() / pattern.order; }
  /// Number of links of the factors before factor m, counted from 0.
  Index links_before(Index m) const { return pattern.first_value(m) / pattern.order; }
  const LinearSlots& output(Index network) const {
    return outputs[static_cast<std::size_t>(network)];
  }
};

/// Work arrays of backward passes, which the layers use one after the other.
template <class T, class Queue>
struct PsfWork {
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  Array d_hidden;   ///< rows x all hidden
  Array d_factors;  ///< all links x rows
  Array d_first;    ///< dV_0, rows x value
  Array g;          ///< dV_m, rows x value
  Array next;

  PsfWork(const Queue& queue, const std::vector<PsfLayerShape>& layers, Index rows)
      : d_hidden(queue.template array<T>(0)),
        d_factors(queue.template array<T>(0)),
        d_first(queue.template array<T>(0)),
        g(queue.template array<T>(0)),
        next(queue.template array<T>(0)) {
    Index hidden = 0;
    Index links = 0;
    Index value = 0;
    for (const PsfLayerShape& layer : layers) {
      hidden = std::max(hidden, layer.all_hidden());
      links = std::max(links, layer.all_links());
      value = std::max(value, layer.value);
    }
    d_hidden = queue.template array<T>(rows * hidden);
    d_factors = queue.template array<T>(rows * links);
    d_first = queue.template array<T>(rows * value);
    g = queue.template array<T>(rows * value);
    next = queue.template array<T>(rows * value);
  }
};

/// A PSF-Attn layer on `rows` token rows of samples of the pattern's length. Stores rows (2 hidden
/// (M + 1) + links + (M + 1) value) numbers for the backward pass.
template <class T, class Queue>
class PsfLayer {
 public:
  /// Throws std::invalid_argument for a factor of more than kMaxLinks links, or more than 2^30
  /// rows.
  PsfLayer(const Queue& queue, PsfLayerShape shape, Index rows)
      : queue_(&queue),
        shape_(std::move(shape)),
        rows_(rows),
        hidden_(queue.template array<T>(rows * shape_.all_hidden())),
        slope_(queue.template array<T>(rows * shape_.all_hidden())),
        factors_(queue.template array<T>(rows * shape_.all_links())),
        values_(queue.template array<T>(rows * shape_.value * shape_.networks())) {
    if (shape_.pattern.max_links() > kMaxLinks) {
      throw std::invalid_argument("psf on a device: a factor of " +
                                  std::to_string(shape_.pattern.max_links()) +
                                  " links; it takes 1.." + std::to_string(kMaxLinks));
    }
    constexpr Index kMaxRows = Index{1} << 30;
    if (rows > kMaxRows) {
      throw std::invalid_argument("psf on a device: a batch of " + std::to_string(rows) +
                                  " tokens; it takes 1..2^30; use a smaller batch");
    }
  }

  const PsfLayerShape& shape() const { return shape_; }

  /// Returns the result, rows x value. It stays valid until the next forward pass. X is rows x in.
  const T* forward(const T* parameters, const T* x, const std::uint8_t* mask) {
    const Index all = shape_.all_hidden();
    const ParameterSlot& first = shape_.first.weight;
    queue_->gemm(product(
        rows_, all, shape_.in, x, shape_.in, parameters + first.offset, all, hidden_.data(), all));
    for_each_piece<T>(
        *queue_,
        rows_,
        all,
        BiasGelu<T>{hidden_.data(), slope_.data(), parameters + shape_.first.bias.offset, all});
    first_value(parameters, mask);
    for (Index m = 0; m < shape_.factors(); ++m) {
      const Index links = shape_.pattern.links(m);
      // Values are stored link after link: the transpose of hidden x weight.
      queue_->gemm(product_tt(links,
                              rows_,
                              shape_.hidden,
                              parameters + shape_.output(m + 1).weight.offset,
                              links,
                              hidden_.data() + (m + 1) * shape_.hidden,
                              all,
                              factor_values(m),
                              rows_));
      psf_product(*queue_,
                  factor(parameters, m, mask),
                  value(m),
                  shape_.residual ? value(0) : nullptr,
                  value(m + 1),
                  shape_.value);
    }
    return value(shape_.factors());
  }

  /// Sets the parameters' part of `gradient` and dX (rows x in) from dY (rows x value), after a
  /// forward pass of the same X. A null dX is not computed.
  void backward(const T* parameters,
                const T* x,
                const std::uint8_t* mask,
                const T* dy,
                T* dx,
                T* gradient,
                PsfWork<T, Queue>& work,
                Scratch<T, Queue>& scratch) {
    chain_backward(parameters, mask, dy, work);
    for (Index q = 0; q < shape_.networks(); ++q)
      network_backward(parameters, q, gradient, work, scratch);
    const Index all = shape_.all_hidden();
    for_each_piece<T>(*queue_, rows_, all, MultiplyBy<T>{work.d_hidden.data(), slope_.data(), all});
    tall_product(scratch,
                 product_tn(shape_.in,
                            all,
                            rows_,
                            x,
                            shape_.in,
                            work.d_hidden.data(),
                            all,
                            gradient + shape_.first.weight.offset,
                            all));
    column_sums(
        scratch, work.d_hidden.data(), nullptr, 1, rows_, all, gradient + shape_.first.bias.offset);
    if (dx == nullptr) return;
    queue_->gemm(product_nt(rows_,
                            shape_.in,
                            all,
                            work.d_hidden.data(),
                            all,
                            parameters + shape_.first.weight.offset,
                            all,
                            dx,
                            shape_.in));
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));

  T* value(Index m) { return values_.data() + m * rows_ * shape_.value; }
  T* factor_values(Index m) { return factors_.data() + shape_.links_before(m) * rows_; }

  PsfFactor<T> factor(const T* parameters, Index m, const std::uint8_t* mask) {
    PsfFactor<T> own;
    own.rows = static_cast<int>(rows_);
    own.length = static_cast<int>(shape_.pattern.order);
    own.links = static_cast<int>(shape_.pattern.links(m));
    for (int k = 0; k < own.links; ++k) {
      own.offsets[k] = static_cast<std::int32_t>(
          shape_.pattern.offsets[static_cast<std::size_t>(m)][static_cast<std::size_t>(k)]);
    }
    own.values = factor_values(m);
    own.bias = parameters + shape_.output(m + 1).bias.offset;
    own.mask = mask;
    return own;
  }

  /// V_0 = hidden x weight + bias. Rows of padding are 0.
  void first_value(const T* parameters, const std::uint8_t* mask) {
    const LinearSlots& output = shape_.output(0);
    queue_->gemm(product(rows_,
                         shape_.value,
                         shape_.hidden,
                         hidden_.data(),
                         shape_.all_hidden(),
                         parameters + output.weight.offset,
                         shape_.value,
                         value(0),
                         shape_.value));
    AddToTokens<T> add;
    add.x = value(0);
    add.bias = parameters + output.bias.offset;
    add.mask = mask;
    add.y = value(0);
    add.columns = shape_.value;
    for_each_piece<T>(*queue_, rows_, shape_.value, add);
  }

  /// Computes dW_m of all factors, and dV_0.
  void chain_backward(const T* parameters,
                      const std::uint8_t* mask,
                      const T* dy,
                      PsfWork<T, Queue>& work) {
    const Index numbers = rows_ * shape_.value;
    T* sum = shape_.residual ? work.d_first.data() : nullptr;
    if (sum != nullptr) queue_->zero(sum, numbers);
    queue_->copy(dy, numbers, work.g.data());
    for (Index m = shape_.factors() - 1; m >= 0; --m) {
      const PsfFactor<T> own = factor(parameters, m, mask);
      psf_weight_gradient(*queue_,
                          own,
                          work.g.data(),
                          value(m),
                          work.d_factors.data() + shape_.links_before(m) * rows_,
                          shape_.value);
      psf_product_transposed(*queue_, own, work.g.data(), sum, work.next.data(), shape_.value);
      std::swap(work.g, work.next);
    }
    AddToTokens<T> add;
    add.x = work.g.data();
    add.other = sum;
    add.mask = mask;
    add.y = work.d_first.data();
    add.columns = shape_.value;
    for_each_piece<T>(*queue_, rows_, shape_.value, add);
  }

  /// Computes the gradients of the second layer of network q: of its parameters and of its input,
  /// the hidden layer's result.
  void network_backward(const T* parameters,
                        Index q,
                        T* gradient,
                        PsfWork<T, Queue>& work,
                        Scratch<T, Queue>& scratch) {
    const Index all = shape_.all_hidden();
    const LinearSlots& output = shape_.output(q);
    const Index columns = output.weight.cols;
    const T* hidden = hidden_.data() + q * shape_.hidden;
    T* d_hidden = work.d_hidden.data() + q * shape_.hidden;
    T* d_weight = gradient + output.weight.offset;
    T* d_bias = gradient + output.bias.offset;
    const T* weight = parameters + output.weight.offset;
    if (q == 0) {
      const T* d_out = work.d_first.data();
      tall_product(
          scratch,
          product_tn(
              shape_.hidden, columns, rows_, hidden, all, d_out, columns, d_weight, columns));
      column_sums(scratch, d_out, nullptr, 1, rows_, columns, d_bias);
      queue_->gemm(product_nt(
          rows_, shape_.hidden, columns, d_out, columns, weight, columns, d_hidden, all));
      return;
    }
    const T* d_out = work.d_factors.data() + shape_.links_before(q - 1) * rows_;
    tall_product(
        scratch,
        product_tt(shape_.hidden, columns, rows_, hidden, all, d_out, rows_, d_weight, columns));
    row_sums(scratch, d_out, columns, rows_, d_bias);
    queue_->gemm(
        product_tt(rows_, shape_.hidden, columns, d_out, rows_, weight, columns, d_hidden, all));
  }

  const Queue* queue_;
  PsfLayerShape shape_;
  Index rows_;
  Array hidden_;   ///< after GELU
  Array slope_;    ///< GELU's derivative
  Array factors_;  ///< W_1 .. W_M without bias, all links x rows
  Array values_;   ///< V_0 .. V_M
};

}  // namespace matapprox::cuda
