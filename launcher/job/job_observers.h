#ifndef LAUNCHER_JOB_JOB_OBSERVERS_H_
#define LAUNCHER_JOB_JOB_OBSERVERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace launcher {

// Callbacks that run when a job changes. Use on one thread. A callback may add and forget
// observers, itself too.
class JobObservers {
 public:
  using Id = std::uint64_t;  // Never 0.
  // `changed` is called for every Notify() of that job until Forget(). The job need not exist.
  Id Add(const std::string& job, std::function<void()> changed);
  // Nothing happens if there is no such observer (any more).
  void Forget(Id observer);
  // Calls those that were there when it began, and still are.
  void Notify(const std::string& job);

 private:
  std::map<Id, std::string> jobs_;
  std::map<std::string, std::map<Id, std::function<void()>>> observers_;  // By job.
  Id last_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_OBSERVERS_H_
