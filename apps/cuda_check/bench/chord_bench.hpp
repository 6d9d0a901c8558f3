#pragma once

#include <cstring>
#include <memory>

#include "chord_checks.hpp"
#include "device/cuda/kernels/chord_stream.hpp"
#include "table.hpp"

namespace matapprox::cuda {

/// GB/s of a copy within the memory of the GPU, read and written bytes counted.
inline double copy_bandwidth(const DeviceQueue& queue) {
  const Index count = std::min(Index{1} << 28, device_memory().free / 16);
  const auto from = random_array<float>(queue, count);
  auto to = queue.array<float>(count);
  const double ms = milliseconds(queue, [&] { queue.copy(from.data(), count, to.data()); });
  return 2.0 * 4.0 * static_cast<double>(count) / ms / 1e6;
}

/// Relative error of one factor times a block: some entries are recomputed in double on the host,
/// and the largest error is divided by the largest of those numbers.
inline double product_error(const DeviceQueue& queue,
                            const ChordShape& shape,
                            const float* values,
                            const float* x,
                            const float* y,
                            Index columns) {
  const auto& offsets = shape.offsets.front();
  const auto number = [&](const float* array, Index at) {
    float value = 0;
    queue.download(array + at, 1, &value);
    return static_cast<double>(value);
  };
  std::vector<double> wanted;
  std::vector<double> got;
  for (Index r = 0; r < 16; ++r) {
    const Index i = (r * 2654435761 + 12345) % shape.order;
    const Index c = (7 * r) % columns;
    double sum = 0;
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      sum += number(values, static_cast<Index>(k) * shape.order + i) *
             number(x, (i + offsets[k]) % shape.order * columns + c);
    }
    wanted.push_back(sum);
    got.push_back(number(y, i * columns + c));
  }
  return relative_error(got, wanted);
}

/// Bytes that have to be moved: every value once, the block once in and once out for each factor.
inline double compulsory_bytes(const ChordShape& shape, Index columns) {
  return 4.0 * (static_cast<double>(shape.stored_numbers()) +
                2.0 * static_cast<double>(shape.factors() * shape.order * columns));
}

/// Times the chain of the reference pattern, or as many of its factors as fit into memory. Returns
/// false if none fits.
inline bool bench_product(
    const DeviceQueue& queue, Table& table, Index n, Index columns, double min_share) {
  ChordShape shape = reference_shape(n);
  const Index all = shape.factors();
  const Index room = device_memory().free / 16 * 15 - 8 * n * columns;
  const Index fit = std::min(all, room / (4 * n * shape.links(0)));
  if (fit < 1) return false;
  shape.offsets.resize(fit);
  const auto values = random_array<float>(queue, shape.stored_numbers());
  auto x = random_array<float>(queue, n * columns);
  auto y = queue.array<float>(n * columns);
  const ChordChain<float, DeviceQueue> chain(queue, shape);
  chain.multiply(0, values.data(), x.data(), y.data(), columns, false);
  const double error = product_error(queue, shape, values.data(), x.data(), y.data(), columns);
  const double ms =
      milliseconds(queue, [&] { chain.apply(values.data(), x.data(), y.data(), columns, false); });
  const double rate = compulsory_bytes(shape, columns) / ms / 1e6;
  const double share = rate / table.copy_rate();
  table.add({text("N = %ld, %ld columns, %ld of %ld factors", n, columns, fit, all),
             ms,
             text("%.0f GB/s, %.0f %% of copy", rate, 100 * share),
             error,
             1e-5,
             min_share > 0 ? text("%.0f %% of copy", 100 * min_share) : "",
             share >= min_share});
  return true;
}

inline void bench_products(const DeviceQueue& queue, Table& table) {
  table.head(
      "Chord product, float, reference pattern; bytes: every value once, the block once in and "
      "once out for each factor. The target for 64 columns, 75 % of copy, is on the bytes that a "
      "profiler measures: scripts/cuda --profile. 2^25: 87 GB of values");
  for (int power = table.quick() ? 14 : 20; power <= (table.quick() ? 15 : 25); ++power) {
    for (const Index columns : {1, 8, 64}) {
      // Targets apply up to N = 2^24.
      const double min_share = columns <= 8 && power <= 24 ? 0.6 : 0;
      if (!bench_product(queue, table, Index{1} << power, columns, min_share))
        Table::skip(text("N = 2^%d, %ld columns", power, columns), "no room");
    }
  }
}

/// GB/s to an array of the GPU from page-locked host memory.
inline double bus_rate(const DeviceQueue& queue, DeviceArray<float>& array) {
  const auto bytes = sizeof(float) * static_cast<std::size_t>(array.size());
  void* made = nullptr;
  check(cudaMallocHost(&made, bytes), "page-locked memory");
  const std::shared_ptr<void> host(made, cudaFreeHost);
  std::memset(made, 1, bytes);
  const double ms = milliseconds(queue, [&] {
    check(cudaMemcpyAsync(array.data(), made, bytes, cudaMemcpyHostToDevice, queue.stream()),
          "copy");
  });
  return static_cast<double>(bytes) / ms / 1e6;
}

/// Times transfers over the bus: of blocks in ordinary host memory, and of a chain stored there.
inline void bench_bus(const DeviceQueue& queue, Table& table) {
  table.head(
      "Over the bus: bytes once; the chain's are its values, once for each product, 8 columns");
  const Index count = Index{1} << (table.quick() ? 20 : 27);
  const auto bytes = static_cast<double>(4 * count);
  auto array = queue.array<float>(count);
  const double bus = bus_rate(queue, array);
  const auto figure = [&](double all, double ms) {
    return text("%.1f GB/s, %.0f %% of the bus", all / ms / 1e6, 100 * all / ms / 1e6 / bus);
  };
  table.add({"page-locked memory to the GPU: the bus", bytes / bus / 1e6, text("%.1f GB/s", bus)});
  std::vector<float> block(static_cast<std::size_t>(count), 1.0F);
  const double up = milliseconds(queue, [&] { queue.upload(block.data(), count, array.data()); });
  table.add({"a block to the GPU", up, figure(bytes, up)});
  const double down =
      milliseconds(queue, [&] { queue.download(array.data(), count, block.data()); });
  table.add({"a block from the GPU", down, figure(bytes, down)});

  constexpr Index kColumns = 8;
  const ChordShape shape = reference_shape(Index{1} << (table.quick() ? 10 : 20));
  const auto values = random_array<float>(queue, shape.stored_numbers());
  auto x = random_array<float>(queue, shape.order * kColumns);
  const auto start = on_host(queue, x.data(), x.size());
  auto y = queue.array<float>(x.size());
  const ChordChain<float, DeviceQueue> chain(queue, shape);
  auto rows = queue.array<float>(values.size());
  chain.to_host_layout(values.data(), rows.data());
  const auto host_values = on_host(queue, rows.data(), rows.size());
  const auto wanted =
      on_host(queue, chain.apply(values.data(), x.data(), y.data(), kColumns, false), x.size());
  const StreamedChord<float, DeviceQueue> streamed(queue, shape, Index{1} << 23);
  queue.upload(start.data(), x.size(), x.data());
  const auto got = on_host(
      queue, streamed.apply(host_values.data(), x.data(), y.data(), kColumns, false), x.size());
  const double ms = milliseconds(
      queue, [&] { streamed.apply(host_values.data(), x.data(), y.data(), kColumns, false); });
  table.add({text("a chain of the host, N = %ld", shape.order),
             ms,
             figure(4.0 * static_cast<double>(shape.stored_numbers()), ms),
             relative_error(got, wanted),
             1e-5});
}

/// Runs products of one factor in float for a profiler and prints the bytes that they have to move.
inline int run_one_product(const DeviceQueue& queue, int power, Index columns) {
  const Index n = Index{1} << power;
  std::printf("copy_bytes_per_second %.0f\n", 1e9 * copy_bandwidth(queue));
  ChordShape shape = reference_shape(n);
  shape.offsets.resize(1);
  const auto values = random_array<float>(queue, shape.stored_numbers());
  const auto x = random_array<float>(queue, n * columns);
  auto y = queue.array<float>(n * columns);
  const ChordChain<float, DeviceQueue> chain(queue, shape);
  for (int run = 0; run < 3; ++run)
    chain.multiply(0, values.data(), x.data(), y.data(), columns, false);
  queue.wait();
  std::printf("compulsory_bytes %.0f\n", compulsory_bytes(shape, columns));
  return 0;
}

}  // namespace matapprox::cuda
