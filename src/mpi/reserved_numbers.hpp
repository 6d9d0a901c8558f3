#pragma once

#include <utility>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// Addresses for `count` numbers, from a page on, which take no memory by themselves.
class ReservedNumbers {
 public:
  enum class Use {
    kAsNames,  ///< arithmetic works, reading or writing ends the program
    kSparsely  ///< zeros at first; a page that is touched takes memory from there on
  };

  ReservedNumbers() = default;
  /// Throws NotAvailable where the system has no addresses.
  ReservedNumbers(Index count, Use use);
  ~ReservedNumbers();
  ReservedNumbers(ReservedNumbers&& other) noexcept { swap(other); }
  ReservedNumbers& operator=(ReservedNumbers&& other) noexcept {
    swap(other);
    return *this;
  }
  ReservedNumbers(const ReservedNumbers&) = delete;
  ReservedNumbers& operator=(const ReservedNumbers&) = delete;

  double* data() const { return data_; }

 private:
  void swap(ReservedNumbers& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  double* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace matapprox::mpi
