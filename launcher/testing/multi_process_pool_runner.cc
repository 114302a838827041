#include "launcher/testing/multi_process_pool_runner.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/init.h"
#include "launcher/testing/parent/children.h"
#include "launcher/testing/parent/kept_runs.h"

namespace launcher::testing {
namespace {

// Time for workers without a call to end by themselves.
constexpr absl::Duration kShutDownWait = absl::Seconds(10);

// All existing pools. Never deleted.
class Pools {
 public:
  static Pools& OfThisProcess() {
    static auto* pools = new Pools;
    return *pools;
  }
  void Add(MultiProcessPoolRunner* pool) {
    runtime::MutexLock lock(mutex_);
    pools_.insert(pool);
  }
  void Remove(MultiProcessPoolRunner* pool) {
    runtime::MutexLock lock(mutex_);
    pools_.erase(pool);
  }
  std::set<MultiProcessPoolRunner*> All() {
    runtime::MutexLock lock(mutex_);
    return pools_;
  }

 private:
  runtime::Mutex mutex_;
  std::set<MultiProcessPoolRunner*> pools_ ABSL_GUARDED_BY(mutex_);
};

Outcome Failed(RunError error, absl::Status status) {
  Outcome outcome;
  outcome.error = error;
  outcome.status = std::move(status);
  return outcome;
}

absl::Status CheckCall(const Call& call) {
  if (!IsFunction(call.function)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", call.function, "\" is no function"));
  }
  if (!call.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(call.function, " without its arguments"));
  }
  if (call.bytes->size() <= kMaxContent) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(call.function, " with ", call.bytes->size(),
                                                 " bytes of arguments, more than ", kMaxContent));
}

RunOptions WorkerOptions(RunOptions options) {
  options.daemon = true;
  options.auto_restart = false;
  options.dependence_on_chief = false;
  return options;
}

}  // namespace

MultiProcessPoolRunner::MultiProcessPoolRunner(ClusterSpec cluster_spec,
                                               std::optional<Call> initializer, Options options)
    : cluster_spec_(std::move(cluster_spec)),
      initializer_(std::move(initializer)),
      options_(std::move(options)) {
  Pools::OfThisProcess().Add(this);
}

MultiProcessPoolRunner::~MultiProcessPoolRunner() {
  Pools::OfThisProcess().Remove(this);
  ShutDown();
}

Outcome MultiProcessPoolRunner::Run(const Call& function) {
  if (!IsInitialized()) {
    return Failed(RunError::kNotInitialized,
                  absl::FailedPreconditionError("this test has the wrong main() (main.h)"));
  }
  for (const absl::Status& status :
       {CheckCall(function), initializer_ ? CheckCall(*initializer_) : absl::OkStatus(),
        CheckClusterSpec(cluster_spec_)}) {
    if (!status.ok()) return Failed(RunError::kWrongCall, status);
  }
  runtime::MutexLock lock(mutex_);
  if (run_ == nullptr) {
    LetGoOfPorts(cluster_spec_);
    auto run = Children::Create(WorkerOptions(options_.run), TaskNames(cluster_spec_));
    std::vector<Children::Task> tasks;
    for (const auto& [type, addresses] : cluster_spec_) {
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        tasks.push_back({type, static_cast<int>(i), initializer_.value_or(Call()), cluster_spec_,
                         /*is_worker=*/true});
      }
    }
    KeepRun(run);
    if (absl::Status status = run->Start(tasks); !status.ok()) {
      ReleaseRun(run);
      return Failed(RunError::kWrongCall, std::move(status));
    }
    run_ = std::move(run);
  }
  Outcome outcome = run_->CallAll(function, options_.task_timeout, options_.run_timeout);
  if (outcome.error == RunError::kUnexpectedExit || outcome.error == RunError::kTimeout) {
    RunResult all = ShutDownLocked(outcome.error == RunError::kTimeout);
    all.returns = std::move(outcome.result.returns);
    outcome.result = std::move(all);
  } else {
    RunResult now = run_->Collect().result;
    outcome.result.lines = std::move(now.lines);
    outcome.result.lines_dropped = now.lines_dropped;
    outcome.result.notes = std::move(now.notes);
  }
  return outcome;
}

void MultiProcessPoolRunner::ShutDown() {
  runtime::MutexLock lock(mutex_);
  ShutDownLocked(/*hangs=*/false);
}

RunResult MultiProcessPoolRunner::ShutDownLocked(bool hangs) {
  if (run_ == nullptr) return {};
  run_->EndCalls();
  if (hangs || !run_->AwaitEnd(kShutDownWait)) {
    run_->Stop(options_.run.force_kill_wait);
    run_->AwaitEnd(options_.run.force_kill_wait + Children::kKillTime);
  }
  RunResult result = run_->Collect().result;
  ReleaseRun(run_);
  run_.reset();
  return result;
}

void MultiProcessPoolRunner::ShutDownAll() {
  for (MultiProcessPoolRunner* pool : Pools::OfThisProcess().All()) pool->ShutDown();
}

}  // namespace launcher::testing
