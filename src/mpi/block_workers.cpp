#include "mpi/block_workers.hpp"

#include <algorithm>
#include <utility>

#include "mpi/messages.hpp"

namespace matapprox::mpi {
namespace {

constexpr int kTag = 8;

class SpreadBlockWorkers final : public BlockWorkers {
 public:
  SpreadBlockWorkers(std::shared_ptr<Leader> leader, const MessageBytes& setup)
      : worker_(std::move(leader)) {
    worker_.leader()->run(AddBlockWorker{worker_.number(), &setup});
  }

  int count() const override { return worker_.leader()->processes(); }
  std::vector<MessageBytes> ask(const std::vector<MessageBytes>& requests) const override {
    std::vector<MessageBytes> answers;
    worker_.leader()->run(AskBlockWorkers{worker_.number(), &requests, &answers});
    return answers;
  }

 private:
  SharedObject worker_;
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
    receive(process, 0, kTag, own.data(), count);
    return own;
  }
  std::copy(messages->front().begin(), messages->front().end(), own.begin());
  for (int p = 1; p < process.size(); ++p) {
    const MessageBytes& message = (*messages)[static_cast<std::size_t>(p)];
    send(process, p, kTag, message.data(), std::ssize(message));
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
    send(process, 0, kTag, own.data(), count);
    return all;
  }
  std::copy(own.begin(), own.end(), all.front().begin());
  for (int p = 1; p < process.size(); ++p) {
    MessageBytes& message = all[static_cast<std::size_t>(p)];
    receive(process, p, kTag, message.data(), std::ssize(message));
  }
  return all;
}

}  // namespace matapprox::mpi
