#include "command_line/invocation.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "command_line/interrupt.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::app {
namespace {

// Set once, before any thread or subcommand runs.
std::vector<std::string>
    kept_arguments;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

bool is_plain(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("-_./,:=+%@").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void keep_invocation(int argc, const char* const* argv) {
  kept_arguments.clear();
  for (int i = 1; i < argc; ++i) kept_arguments.emplace_back(argv[i]);
}

const std::vector<std::string>& arguments() { return kept_arguments; }

std::string invocation() {
  std::string line = "matapprox";
  for (const std::string& argument : kept_arguments) line += " " + shell_word(argument);
  return line;
}

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
