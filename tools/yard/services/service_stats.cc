#include "tools/yard/services/service_stats.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bus/schema/common_methods.h"
#include "runtime/mutex.h"

namespace yard {
namespace {

// Shared with the callbacks, which may run after the caller has stopped waiting.
struct Answers {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::map<std::string, absl::StatusOr<msg::StatsReplyT>> known ABSL_GUARDED_BY(mutex);
};

}  // namespace

std::map<std::string, absl::StatusOr<msg::StatsReplyT>> AskForStats(
    bus::Client& client, const std::vector<std::string>& services, absl::Duration timeout) {
  const auto answers = std::make_shared<Answers>();
  for (const std::string& service : services) {
    client.Start<rpc::Common::Stats>({}, nullptr,
                                     [answers, service](absl::StatusOr<msg::StatsReplyT> reply) {
                                       runtime::MutexLock lock(answers->mutex);
                                       answers->known.insert_or_assign(service, std::move(reply));
                                       answers->changed.SignalAll();
                                     },
                                     {.timeout = timeout, .service = service});
  }
  // The calls time out by themselves; this guards against a bus that is stuck.
  const absl::Duration longest = 2 * timeout;
  runtime::MutexLock lock(answers->mutex);
  while (answers->known.size() < services.size()) {
    if (!answers->changed.WaitWithTimeout(answers->mutex, longest)) break;
  }
  auto known = answers->known;
  for (const std::string& service : services) {
    known.try_emplace(service, absl::DeadlineExceededError("no answer"));
  }
  return known;
}

}  // namespace yard
