#pragma once

#include <stdexcept>
#include <string>

namespace matapprox {

/// Base of every exception that the library throws on purpose. A message says who, what, and the
/// legal range: "nystrom: rank 600 is outside 1..512", "x.mtx:17: column 9 exceeds the declared 8".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something outside the documented range.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The method cannot run within the storage budget; the message says what it needs at least.
class BudgetTooSmall : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
  BudgetTooSmall(const std::string& message, double least_bytes)
      : InvalidArgument(message), least_bytes_(least_bytes) {}
  /// That it needs; 0 where that is not known.
  double least_bytes() const { return least_bytes_; }

 private:
  double least_bytes_ = 0;
};

/// A file is missing, unreadable, malformed, or could not be written.
class FileError : public Error {
 public:
  using Error::Error;
};

/// The mathematics failed: NaN or Inf met, a factorization broke down.
class NumericalError : public Error {
 public:
  using Error::Error;
};

/// This build or this machine lacks what the call needs; the message names it.
class NotAvailable : public Error {
 public:
  using Error::Error;
};

/// The caller's stop token was set before the method had any result to return.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace matapprox
