#include "datamanager/tensorboard/call_threads.h"

#include <cstddef>
#include <string>
#include <utility>

namespace datamanager::tensorboard {
namespace {

constexpr int kListThreads = 2;
constexpr int kReadThreads = 8;
constexpr std::size_t kMostCalls = 1024;  // Limit of waiting calls of each kind.

}  // namespace

CallThreads::CallThreads(runtime::Coordinator* coordinator)
    : lists_(runtime::ThreadPool::Create(
          coordinator, {.name = "list", .threads = kListThreads, .queue_limit = kMostCalls})),
      reads_(runtime::ThreadPool::Create(
          coordinator, {.name = "read", .threads = kReadThreads, .queue_limit = kMostCalls})) {}

H2Server::OnCall CallThreads::AnswersOf(std::shared_ptr<Provider> provider) {
  return [this, provider = std::move(provider)](std::string path, std::string message,
                                                H2Server::Reply reply) {
    const Provider::Effort effort = Provider::EffortOf(path);
    if (effort == Provider::Effort::kNone) return reply(provider->Answer(path, message));
    runtime::ThreadPool& pool = effort == Provider::Effort::kList ? *lists_ : *reads_;
    const absl::Status taken =
        pool.Submit([provider, path = std::move(path), message = std::move(message), reply] {
          reply(provider->Answer(path, message));
          return absl::OkStatus();
        });
    if (!taken.ok()) reply({taken, {}});
  };
}

absl::Status CallThreads::Run(std::function<void()> work) {
  return lists_->Submit([work = std::move(work)] {
    work();
    return absl::OkStatus();
  });
}

}  // namespace datamanager::tensorboard
