#include "launcher/job/job_observers.h"

#include <utility>
#include <vector>

namespace launcher {

JobObservers::Id JobObservers::Add(const std::string& job, std::function<void()> changed) {
  jobs_[++last_] = job;
  observers_[job][last_] = std::move(changed);
  return last_;
}

void JobObservers::Forget(Id observer) {
  const auto job = jobs_.find(observer);
  if (job == jobs_.end()) return;
  const auto of_job = observers_.find(job->second);
  of_job->second.erase(observer);
  if (of_job->second.empty()) observers_.erase(of_job);
  jobs_.erase(job);
}

void JobObservers::Notify(const std::string& job) {
  const auto observers = observers_.find(job);
  if (observers == observers_.end()) return;
  const std::string name = job;  // A copy: the caller's string may be deleted with the job.
  std::vector<Id> todo;
  for (const auto& [observer, changed] : observers->second) todo.push_back(observer);
  for (const Id observer : todo) {
    const auto of_job = observers_.find(name);  // A callback may forget all observers.
    if (of_job == observers_.end()) return;
    const auto found = of_job->second.find(observer);
    if (found == of_job->second.end()) continue;
    const auto changed = found->second;
    changed();
  }
}

}  // namespace launcher
