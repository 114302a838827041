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

// The two streaming calls about a job. Start both on the loop's thread; they keep themselves alive
// until they are finished or cancelled, and never block on a slow client.

// The dependencies of the calls. The pointers are not owned and must outlive the calls.
// `state_directory` contains the logs of jobs without a log folder of their own.
struct JobCallContext {
  JobTable* table = nullptr;
  runtime::EventLoop* loop = nullptr;
  std::string state_directory;
  std::shared_ptr<FollowPace> pace;  // Shared by all calls.
};

// WaitJob: sends the job now, after every change of its state, and finally when it has ended.
void StartWaitCall(const JobCallContext& context, const std::string& job,
                   std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> writer);

// Logs: sends the output of one task, of all tasks of a job or of some ranks, with its offsets; the
// two streams of an attempt alternate (task_log.h). Followers of a running job get at most what
// `pace` allows. InvalidArgument if the job does not have a requested rank, or a time is requested
// together with an attempt or offsets. NotFound if a task does not have the requested attempt.
void StartLogCall(const JobCallContext& context, const JobTable::Named& named,
                  const msg::LogsRequestT& request,
                  std::shared_ptr<bus::ReplyWriter<rpc::Launcher::Logs>> writer);

}  // namespace launcher

#endif  // LAUNCHER_JOB_CALLS_H_
