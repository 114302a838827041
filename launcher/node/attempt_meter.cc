#include "launcher/node/attempt_meter.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {
namespace {

UsageMeter::Options MeterOptions(AttemptMeter::Gpus gpus) {
  UsageMeter::Options options;
  // The launcher sets the pace: it combines the requests of its clients.
  options.pace = absl::ZeroDuration();
  options.gpus = std::move(gpus);
  return options;
}

}  // namespace

AttemptMeter::AttemptMeter(runtime::EventLoop* loop, Gpus gpus)
    : loop_(loop),
      meter_(MeterOptions(std::move(gpus))),
      thread_(runtime::ThreadPool::Create(&coordinator_,
                                          {.name = "usage", .threads = 1, .queue_limit = 1})) {}

AttemptMeter::~AttemptMeter() { *alive_ = false; }

void AttemptMeter::Measure(std::vector<RunningAttempt> attempts,
                           std::function<void(NodeUsage)> done) {
  if (is_measuring_) return;
  const absl::Status submitted = thread_->Submit(
      [this, attempts = std::move(attempts), done = std::move(done), alive = alive_] {
        NodeUsage usage;
        msg::UsageReplyT measured = meter_.Measure(attempts);
        for (auto& task : measured.tasks) {
          task->attempt = 0;
          usage.attempts.push_back(std::move(*task));
        }
        for (auto& gpu : measured.gpus) usage.gpus.push_back(std::move(*gpu));
        loop_->Post([this, alive, done, usage = std::move(usage)]() mutable {
          if (!*alive) return;
          is_measuring_ = false;
          done(std::move(usage));
        });
        return absl::OkStatus();
      });
  is_measuring_ = submitted.ok();
}

}  // namespace launcher
