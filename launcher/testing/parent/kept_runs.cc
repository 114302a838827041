#include "launcher/testing/parent/kept_runs.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace launcher::testing {
namespace {

// If the exit waits longer than this for tasks, it names them.
constexpr absl::Duration kSilentWait = absl::Seconds(1);

void KillAll(Children& run) {
  run.Stop(absl::ZeroDuration());
  run.AwaitEnd(Children::kKillTime);
}

// Never deleted, since it is used at the exit of the process.
class KeptRuns {
 public:
  static KeptRuns& OfThisProcess() {
    static auto* kept = new KeptRuns;
    return *kept;
  }
  void Add(const std::shared_ptr<Children>& run) {
    runtime::MutexLock lock(mutex_);
    if (!std::exchange(waits_, true)) std::atexit([] { OfThisProcess().AwaitAll(); });
    runs_.insert(run);
  }
  // Drops this run and others that were released before, once they have ended.
  void Release(const std::shared_ptr<Children>& run) {
    // Destroyed without the lock, since that joins their threads.
    std::vector<std::shared_ptr<Children>> over;
    runtime::MutexLock lock(mutex_);
    released_.insert(run);
    for (auto at = released_.begin(); at != released_.end();) {
      const std::shared_ptr<Children> released = *at;
      if (!released->AwaitEnd(absl::ZeroDuration())) {
        ++at;
        continue;
      }
      runs_.erase(released);
      at = released_.erase(at);
      over.push_back(released);
    }
  }

 private:
  void AwaitAll() {
    std::set<std::shared_ptr<Children>> runs;
    {
      runtime::MutexLock lock(mutex_);
      runs.swap(runs_);
      released_.clear();
    }
    for (const auto& run : runs) {
      if (run->daemon()) {
        KillAll(*run);
        continue;
      }
      if (run->AwaitEnd(kSilentWait)) continue;
      const std::string names = absl::StrJoin(run->Running(), ", ");
      std::fprintf(stderr, "waiting for the end of %s, which nobody has joined\n", names.c_str());
      run->AwaitEnd(absl::InfiniteDuration());
    }
  }

  runtime::Mutex mutex_;
  std::set<std::shared_ptr<Children>> runs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<Children>> released_ ABSL_GUARDED_BY(mutex_);  // A subset of `runs_`.
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

void KeepRun(const std::shared_ptr<Children>& run) { KeptRuns::OfThisProcess().Add(run); }

void ReleaseRun(const std::shared_ptr<Children>& run) {
  if (run->daemon()) KillAll(*run);
  KeptRuns::OfThisProcess().Release(run);
}

}  // namespace launcher::testing
