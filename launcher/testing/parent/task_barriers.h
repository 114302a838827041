#ifndef LAUNCHER_TESTING_PARENT_TASK_BARRIERS_H_
#define LAUNCHER_TESTING_PARENT_TASK_BARRIERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launcher/share/barriers.h"
#include "launcher/testing/call/child_message.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher::testing {

// The barrier of a run's tasks: launcher/share/barriers.h for requests over a child's socket. Use
// on the loop's thread.
class TaskBarriers {
 public:
  // Identifies a request: the number of the child and of its request.
  struct Asked {
    std::uint64_t child = 0, request = 0;
  };
  // The loop is not owned.
  TaskBarriers(runtime::EventLoop* loop, const std::vector<std::string>& tasks,
               std::function<void(const Asked& asked, ObjectReply reply)> reply);
  TaskBarriers(const TaskBarriers&) = delete;
  TaskBarriers& operator=(const TaskBarriers&) = delete;

  void Arrive(const std::string& task, const Asked& asked, const ObjectRequest& request);
  void TaskStarted(const std::string& task) { barriers_.TaskStarted(task); }
  void TaskEnded(const std::string& task, const std::string& how);

 private:
  void Give(const std::vector<Barriers::Answer>& answers);

  runtime::EventLoop* const loop_;
  const std::function<void(const Asked&, ObjectReply)> reply_;
  Barriers barriers_;
  std::map<Barriers::Ticket, Asked> asked_;
  Barriers::Ticket last_ticket_ = 0;
  runtime::Timer timer_;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_TASK_BARRIERS_H_
