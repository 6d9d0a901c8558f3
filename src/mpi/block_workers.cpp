#include "mpi/block_workers.hpp"

#include <algorithm>
#include <utility>

namespace matapprox::mpi {
namespace {

constexpr int kTag = 8;
/// MPI counts the elements of a message in int.
constexpr Index kMaxBytes = Index{1} << 30;

void send(const Process& process, int to, const MessageBytes& message) {
  for (Index at = 0; at < std::ssize(message); at += kMaxBytes) {
    const auto count = static_cast<int>(std::min(kMaxBytes, std::ssize(message) - at));
    MPI_Send(message.data() + at, count, MPI_BYTE, to, kTag, process.comm());
  }
}

/// Receives message.size() bytes.
void receive(const Process& process, int from, MessageBytes& message) {
  for (Index at = 0; at < std::ssize(message); at += kMaxBytes) {
    const auto count = static_cast<int>(std::min(kMaxBytes, std::ssize(message) - at));
    MPI_Recv(message.data() + at, count, MPI_BYTE, from, kTag, process.comm(), MPI_STATUS_IGNORE);
  }
}

class SpreadBlockWorkers final : public BlockWorkers {
 public:
  SpreadBlockWorkers(std::shared_ptr<Leader> leader, const MessageBytes& setup)
      : leader_(std::move(leader)), worker_(leader_->next_number()) {
    leader_->run(AddBlockWorker{worker_, setup.data(), std::ssize(setup)});
  }
  ~SpreadBlockWorkers() override { leader_->run_to_end(RemoveBlockWorker{worker_}); }
  SpreadBlockWorkers(const SpreadBlockWorkers&) = delete;
  SpreadBlockWorkers(SpreadBlockWorkers&&) = delete;
  SpreadBlockWorkers& operator=(const SpreadBlockWorkers&) = delete;
  SpreadBlockWorkers& operator=(SpreadBlockWorkers&&) = delete;

  int count() const override { return leader_->processes(); }
  std::vector<MessageBytes> ask(const std::vector<MessageBytes>& requests) const override {
    std::vector<MessageBytes> answers;
    leader_->run(AskBlockWorkers{worker_, &requests, &answers});
    return answers;
  }

 private:
  std::shared_ptr<Leader> leader_;
  Index worker_;
};

}  // namespace

std::unique_ptr<const BlockWorkers> make_block_workers(std::shared_ptr<Leader> leader,
                                                       const MessageBytes& setup) {
  return std::make_unique<const SpreadBlockWorkers>(std::move(leader), setup);
}

MessageBytes deal_messages(const Process& process, const std::vector<MessageBytes>* messages) {
  std::vector<Index> counts;
  if (process.leads()) {
    for (const MessageBytes& message : *messages) counts.push_back(std::ssize(message));
  }
  Index count = 0;
  MPI_Scatter(counts.data(), 1, MPI_INT64_T, &count, 1, MPI_INT64_T, 0, process.comm());
  MessageBytes own;
  process.agree([&] { own.resize(static_cast<std::size_t>(count)); });
  if (!process.leads()) {
    receive(process, 0, own);
    return own;
  }
  std::copy(messages->front().begin(), messages->front().end(), own.begin());
  for (int p = 1; p < process.size(); ++p) {
    send(process, p, (*messages)[static_cast<std::size_t>(p)]);
  }
  return own;
}

std::vector<MessageBytes> collect_messages(const Process& process, const MessageBytes& own) {
  const Index count = std::ssize(own);
  std::vector<Index> counts(process.leads() ? static_cast<std::size_t>(process.size()) : 0);
  MPI_Gather(&count, 1, MPI_INT64_T, counts.data(), 1, MPI_INT64_T, 0, process.comm());
  std::vector<MessageBytes> all;
  process.agree([&] {
    for (const Index bytes : counts) all.emplace_back(static_cast<std::size_t>(bytes));
  });
  if (!process.leads()) {
    send(process, 0, own);
    return all;
  }
  std::copy(own.begin(), own.end(), all.front().begin());
  for (int p = 1; p < process.size(); ++p) receive(process, p, all[static_cast<std::size_t>(p)]);
  return all;
}

}  // namespace matapprox::mpi
