#pragma once

#include <stdexcept>
#include <string>

namespace matapprox {

/// Base class of all exceptions that the library throws deliberately. A message names the source,
/// the fault and the legal range: "nystrom: rank 600 is outside 1..512", "x.mtx:17: column 9
/// exceeds the declared 8".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument is outside its documented range.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The method cannot run within the storage budget; the message states the minimum.
class BudgetTooSmall : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
  BudgetTooSmall(const std::string& message, double least_bytes)
      : InvalidArgument(message), least_bytes_(least_bytes) {}
  /// Smallest number of bytes that the method can use; 0 if unknown.
  double least_bytes() const { return least_bytes_; }

 private:
  double least_bytes_ = 0;
};

/// A file is missing, unreadable, malformed, or could not be written.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A computation failed: NaN or Inf was found, or a factorization broke down.
class NumericalError : public Error {
 public:
  using Error::Error;
};

/// This build or this machine lacks something that the call requires; the message names it.
class NotAvailable : public Error {
 public:
  using Error::Error;
};

/// The run was stopped, by the caller or by its time limit, before there was a result to return.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace matapprox
