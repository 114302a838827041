#include "web/metrics/yard_facts.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/mutex.h"

namespace web {
namespace {

constexpr const char* kServices[] = {"registry", "launcher", "datamanager", "trainer", "web"};
constexpr std::uint32_t kEndedTrials = 100;

// Shared with the callbacks, which may run after the caller has stopped waiting.
struct Answers {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  int open ABSL_GUARDED_BY(mutex) = 0;
  YardFacts facts ABSL_GUARDED_BY(mutex);
};

class Asking {
 public:
  Asking(bus::Client& client, absl::Duration patience) : client_(client), patience_(patience) {
    for (const char* service : kServices) {
      const runtime::MutexLock lock(answers_->mutex);
      answers_->facts.stats[service];
    }
  }

  // Calls `keep` with the answer, if one arrives, under the lock.
  template <typename M, typename Keep>
  void Ask(const typename M::RequestT& request, const std::string& service, Keep keep) {
    {
      const runtime::MutexLock lock(answers_->mutex);
      ++answers_->open;
    }
    client_.Start<M>(request, nullptr,
                     [answers = answers_, keep](absl::StatusOr<typename M::ReplyT> reply) {
                       const runtime::MutexLock lock(answers->mutex);
                       if (reply.ok()) keep(answers->facts, *std::move(reply));
                       --answers->open;
                       answers->changed.SignalAll();
                     },
                     {.timeout = patience_, .service = service});
  }

  YardFacts Await() {
    runtime::MutexLock lock(answers_->mutex);
    while (answers_->open > 0) {
      // The calls time out by themselves; this guards against a bus that is stuck.
      if (!answers_->changed.WaitWithTimeout(answers_->mutex, 2 * patience_)) break;
    }
    return std::move(answers_->facts);
  }

 private:
  bus::Client& client_;
  const absl::Duration patience_;
  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
};

}  // namespace

YardFacts ReadYardFacts(bus::Client& client, absl::Duration patience) {
  Asking asking(client, patience);
  for (const std::string service : kServices) {
    asking.Ask<rpc::Common::Stats>({}, service,
                                   [service](YardFacts& facts, msg::StatsReplyT reply) {
                                     facts.stats[service] = std::move(reply);
                                   });
  }
  asking.Ask<rpc::Launcher::Services>(
      {}, "launcher",
      [](YardFacts& facts, msg::ServicesReplyT reply) { facts.kept = std::move(reply); });
  msg::JobsRequestT jobs;
  jobs.live_only = true;
  asking.Ask<rpc::Launcher::Jobs>(jobs, "launcher", [](YardFacts& facts, msg::JobsReplyT reply) {
    facts.jobs = std::move(reply);
  });
  asking.Ask<rpc::Launcher::Usage>({}, "launcher", [](YardFacts& facts, msg::UsageReplyT reply) {
    facts.usage = std::move(reply);
  });
  msg::TrialsRequestT trials;
  trials.newest_ended = kEndedTrials;
  asking.Ask<rpc::Trainer::Trials>(
      trials, "trainer",
      [](YardFacts& facts, msg::TrialsReplyT reply) { facts.trials = std::move(reply); });
  return asking.Await();
}

}  // namespace web
