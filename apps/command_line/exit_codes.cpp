#include "command_line/exit_codes.hpp"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "command_line/interrupt.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::app {
namespace {

/// Works even when no memory is left.
int say(int code, const char* message) {
  write_message(message);
  return code;
}

}  // namespace

int report_exception(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const InvalidArgument& error) {
    return say(kUsage, error.what());
  } catch (const FileError& error) {
    return say(kFile, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return say(kFile, error.what());
  } catch (const NumericalError& error) {
    return say(kNumerical, error.what());
  } catch (const NotAvailable& error) {
    return say(kNotAvailable, error.what());
  } catch (const Interrupted& error) {
    // Without a signal, it was --max-seconds that left no time for any result.
    return say(interrupt_requested() ? kInterrupted : kUsage, error.what());
  } catch (const std::bad_alloc&) {
    return say(kNotAvailable, "out of memory");
  } catch (const std::length_error&) {
    return say(kNotAvailable, "out of memory: an array of this size cannot be allocated");
  } catch (const std::exception& error) {
    write_message(std::string("internal error, please report it: ") + error.what());
    return kDefect;
  }
}

}  // namespace matapprox::app
