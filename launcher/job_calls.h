#ifndef LAUNCHER_JOB_CALLS_H_
#define LAUNCHER_JOB_CALLS_H_

#include <memory>
#include <string>

#include "bus/call/service.h"
#include "bus/schema/launcher_methods.h"
#include "launcher/log/follow_pace.h"
#include "launcher/run/job_table.h"
#include "runtime/event_loop.h"

namespace launcher {

// The two streaming calls about a job. Both start on the loop's thread, keep themselves alive
// until they are finished or cancelled, and never block on the caller.

// The sources of the calls; must outlive them. `state_directory` is where jobs without a log folder
// of their own have their logs.
struct JobCallContext {
  JobTable* table = nullptr;
  runtime::EventLoop* loop = nullptr;
  std::string state_directory;
  std::shared_ptr<FollowPace> pace;  // Shared by all calls.
};

// WaitJob: the job now, at every change of its state, and finally when it has ended.
void StartWaitCall(const JobCallContext& context, const std::string& job,
                   std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> writer);

// Logs: bytes by offset, of one task or all of a job or some of its ranks, both streams of an
// attempt in turns (task_log.h); of a job that runs, followers get as much as `pace` leaves them.
// InvalidArgument: the job has no such rank; a time and an attempt,
// or offsets, are asked for together. NotFound: a task has no such attempt.
void StartLogCall(const JobCallContext& context, const JobTable::Named& named,
                  const msg::LogsRequestT& request,
                  std::shared_ptr<bus::ReplyWriter<rpc::Launcher::Logs>> writer);

}  // namespace launcher

#endif  // LAUNCHER_JOB_CALLS_H_
