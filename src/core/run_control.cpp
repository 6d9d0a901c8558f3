#include "matapprox/core/run_control.hpp"

#include <fmt/format.h>

#include <cmath>

#include "matapprox/core/error.hpp"

namespace matapprox {

double StopToken::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void StopToken::throw_if_stopped(const char* method) const {
  if (interrupted())
    throw Interrupted(fmt::format("{}: interrupted before it had a result", method));
  if (out_of_time()) {
    throw Interrupted(fmt::format("{}: no result within {:g} seconds", method, max_seconds));
  }
}

namespace {

thread_local const StopScope* current = nullptr;

}  // namespace

StopScope::StopScope(const StopToken& token, const char* who)
    : token_(token), who_(who), outer_(current) {
  current = this;
}

StopScope::~StopScope() { current = outer_; }

void StopScope::throw_if_stopped() const {
  // The clock takes longer to read than the flag.
  if (token_.interrupted() || (std::isfinite(token_.max_seconds) && token_.out_of_time()))
    token_.throw_if_stopped(who_);
}

const StopScope* current_stop_scope() { return current; }

JoinStopScope::JoinStopScope(const StopScope* scope) : before_(current) { current = scope; }

JoinStopScope::~JoinStopScope() { current = before_; }

void throw_if_stop_requested() {
  if (current != nullptr) current->throw_if_stopped();
}

}  // namespace matapprox
