#ifndef LAUNCHER_JOB_JOB_OBSERVERS_H_
#define LAUNCHER_JOB_JOB_OBSERVERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace launcher {

// Callbacks that run when a job changes. Not thread-safe: use it on one thread. A callback may add
// and forget observers, including itself.
class JobObservers {
 public:
  using Id = std::uint64_t;  // Never 0.
  // Registers `changed`, which runs for every Notify() of `job` until Forget(). The job need not
  // exist.
  Id Add(const std::string& job, std::function<void()> changed);
  // Unregisters an observer. Does nothing if the observer does not exist or was forgotten before.
  void Forget(Id observer);
  // Calls the observers that were registered when Notify() began and are still registered.
  void Notify(const std::string& job);

 private:
  std::map<Id, std::string> jobs_;
  std::map<std::string, std::map<Id, std::function<void()>>> observers_;  // By job.
  Id last_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_OBSERVERS_H_
