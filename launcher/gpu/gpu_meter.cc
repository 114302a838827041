#include "launcher/gpu/gpu_meter.h"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "runtime/thread.h"

// Always true: only the thread uses Nvml, and without the lock. The thread shares ownership of
// Shared, so that the meter may be destroyed while the thread is inside the driver.

namespace launcher {

namespace {

// The driver as the thread uses it, and the logging of its faults.
class Driver {
 public:
  explicit Driver(const GpuMeter::Options& options) : options_(options) {}

  GpuMeter::Reply Ask(bool with_processes) {
    GpuMeter::Reply reply;
    absl::Status status = Load();
    if (status.ok()) {
      auto figures = nvml_->Read(with_processes);
      status = figures.status();
      if (figures.ok()) reply.figures = *std::move(figures);
    }
    if (!status.ok()) nvml_.reset();
    Say(status);
    SayOfEach(reply.figures.problems);
    reply.why_none = std::string(status.message());
    return reply;
  }

 private:
  absl::Status Load() {
    if (nvml_ != nullptr) return absl::OkStatus();
    const absl::Duration now = options_.clock->Monotonic();
    if (tried_.has_value() && now - *tried_ < options_.again) return last_;
    tried_ = now;
    auto nvml = Nvml::Load(options_.library);
    if (nvml.ok()) nvml_ = *std::move(nvml);
    return nvml.status();
  }

  void Say(const absl::Status& status) {
    if (status == last_) return;
    if (status.ok()) {
      LOG(INFO) << "there are figures of GPUs again";
    } else if (absl::IsNotFound(status)) {
      LOG(INFO) << "no figures of GPUs: " << runtime::Printable(runtime::Std(status.message()));
    } else {
      LOG(WARNING) << "no figures of GPUs: the driver says: "
                   << runtime::Printable(runtime::Std(status.message()));
    }
    last_ = status;
  }

  void SayOfEach(const std::vector<std::string>& problems) {
    const std::set<std::string> now(problems.begin(), problems.end());
    for (const std::string& problem : now) {
      LOG_IF(WARNING, problems_.count(problem) == 0)
          << "no figures of " << runtime::Printable(problem);
    }
    problems_ = now;
  }

  const GpuMeter::Options& options_;
  std::unique_ptr<Nvml> nvml_;
  std::optional<absl::Duration> tried_;
  absl::Status last_;
  std::set<std::string> problems_;
};

}  // namespace

struct GpuMeter::Shared {
  explicit Shared(Options of) : options(std::move(of)) {}

  // Body of the thread: answers requests until `leave` is set.
  void Serve() {
    Driver driver(options);
    mutex.Lock();
    while (!leave) {
      if (answered == asked) {
        changed.Wait(mutex);
        continue;
      }
      const bool processes = with_processes;
      mutex.Unlock();
      Reply reply = driver.Ask(processes);
      mutex.Lock();
      newest = std::move(reply);
      answered_at = options.clock->Monotonic();
      answered = asked;
      changed.SignalAll();
    }
    mutex.Unlock();
  }

  const Options options;
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool leave ABSL_GUARDED_BY(mutex) = false;
  // Requests are numbered; at most one at a time is unanswered.
  std::uint64_t asked ABSL_GUARDED_BY(mutex) = 0;
  std::uint64_t answered ABSL_GUARDED_BY(mutex) = 0;
  absl::Duration asked_at ABSL_GUARDED_BY(mutex);  // Monotonic, like answered_at.
  bool with_processes ABSL_GUARDED_BY(mutex) = false;
  Reply newest ABSL_GUARDED_BY(mutex);
  std::optional<absl::Duration> answered_at ABSL_GUARDED_BY(mutex);
  std::unique_ptr<runtime::Thread> thread ABSL_GUARDED_BY(mutex);
};

GpuMeter::GpuMeter(Options options) : shared_(std::make_shared<Shared>(std::move(options))) {}

GpuMeter::~GpuMeter() {
  std::unique_ptr<runtime::Thread> thread;
  {
    runtime::MutexLock lock(shared_->mutex);
    shared_->leave = true;
    shared_->changed.SignalAll();
    thread = std::move(shared_->thread);
  }
  if (thread != nullptr) thread->Join(absl::Seconds(1));
}

GpuMeter::Reply GpuMeter::Measure(bool with_processes) {
  Shared& shared = *shared_;
  runtime::Clock& clock = *shared.options.clock;
  runtime::MutexLock lock(shared.mutex);
  if (shared.answered == shared.asked) {
    ++shared.asked;
    shared.asked_at = clock.Monotonic();
    shared.with_processes = with_processes;
    shared.changed.SignalAll();
    if (shared.thread == nullptr) {
      shared.thread =
          std::make_unique<runtime::Thread>("gpus", [state = shared_] { state->Serve(); });
    }
    const absl::Duration deadline = shared.asked_at + shared.options.patience;
    while (shared.answered != shared.asked && clock.Monotonic() < deadline) {
      clock.WaitUntil(shared.changed, shared.mutex, deadline);
    }
  }
  const absl::Duration now = clock.Monotonic();
  if (shared.answered_at.has_value() && now - *shared.answered_at < shared.options.oldest) {
    return shared.newest;
  }
  return {.figures = {},
          .why_none = absl::StrCat("the driver has not answered for ",
                                   absl::FormatDuration(now - shared.asked_at)),
          .is_known = false};
}

}  // namespace launcher
