#ifndef LAUNCHER_LAUNCHER_SERVICE_H_
#define LAUNCHER_LAUNCHER_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "bus/alert/alert_store.h"
#include "bus/call/service.h"
#include "bus/event/publisher.h"
#include "bus/schema/launcher_methods.h"
#include "launcher/alert/notifier.h"
#include "launcher/barrier_calls.h"
#include "launcher/node_calls.h"
#include "launcher/run/job_table.h"
#include "launcher/service_keeper.h"
#include "launcher/usage_calls.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace launcher {

// Adds to `service` the methods of rpc::Launcher, and those of rpc::Common that an owner of topics
// has. Each runs on the loop's thread, as the table requires, except KillModes, which does not need
// the table; SearchLogs continues on `pool`. No argument is owned; all outlive the service's calls.
void AddLauncherMethods(bus::Service* service, runtime::EventLoop* loop, runtime::ThreadPool* pool,
                        JobTable* table, BarrierCalls* barriers, ServiceKeeper* keeper,
                        bus::AlertStore* alerts, Notifier* notifier, NodeCalls* nodes,
                        UsageCalls* usage, std::string state_directory);

// Publish a job on s/launcher/JOB/, and lines on l/JOB/TASK/. `from` is that of
// JobTable::Options::on_lines.
void PublishJob(bus::Publisher* publisher, msg::JobT job);
void PublishLines(bus::Publisher* publisher, const std::string& job, std::uint64_t from,
                  msg::LogLinesT lines);

}  // namespace launcher

#endif  // LAUNCHER_LAUNCHER_SERVICE_H_
