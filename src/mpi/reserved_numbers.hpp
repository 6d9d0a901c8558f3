#pragma once

#include <utility>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// Reserved addresses for `count` numbers, aligned to a page, which take no memory by themselves.
class ReservedNumbers {
 public:
  enum class Use {
    kAsNames,  ///< pointer arithmetic works; reading or writing ends the program
    kSparsely  ///< zeros at first; a page takes memory from its first access on
  };

  ReservedNumbers() = default;
  /// Throws NotAvailable if the system has no addresses left.
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
