#include "mpi/leader.hpp"

#include "matapprox/core/run_control.hpp"

namespace matapprox::mpi {
namespace {

void serve(const Process& process, Store& store) {
  for (;;) {
    Operation operation;
    process.broadcast(&operation, sizeof operation);
    if (std::holds_alternative<End>(operation)) return;
    try {
      perform(process, store, operation);
    } catch (const AgreedFailure&) {
      // The leader reports it.
    }
  }
}

}  // namespace

void Leader::run(const Operation& operation) {
  throw_if_stop_requested();
  if (!send(operation)) throw NotAvailable("mpi: the other processes have ended");
}

void Leader::run_to_end(const Operation& operation) { send(operation); }

bool Leader::send(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return false;
  process_.set_asking(current_stop_scope());
  const JoinStopScope nobody_stops(nullptr);
  Operation sent = operation;
  process_.broadcast(&sent, sizeof sent);
  try {
    perform(process_, store_, sent);
  } catch (const AgreedFailure& failure) {
    failure.throw_as_it_was();
  }
  return true;
}

void Leader::close() {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return;
  is_open_ = false;
  Operation end = End{};
  process_.broadcast(&end, sizeof end);
}

void Leader::open() {
  const std::lock_guard lock(mutex_);
  is_open_ = true;
}

void Leader::forget() {
  const std::lock_guard lock(mutex_);
  store_ = {};
}

Session::Session(const Process& process, Store store) : process_(process) {
  if (process.leads()) {
    leader_ = std::make_shared<Leader>(process, std::move(store));
  } else {
    store_ = std::move(store);
  }
}

Session::~Session() {
  if (leader_) leader_->forget();
}

void Session::run(const std::function<void(const std::shared_ptr<Leader>& leader)>& body) {
  if (!process_.leads()) return serve(process_, store_);
  leader_->open();
  try {
    body(leader_);
  } catch (...) {
    leader_->close();
    throw;
  }
  leader_->close();
}

void lead_or_serve(const Process& process,
                   Store store,
                   const std::function<void(const std::shared_ptr<Leader>& leader)>& body) {
  Session(process, std::move(store)).run(body);
}

}  // namespace matapprox::mpi
