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

// Adds the methods of rpc::Launcher, and those of rpc::Common that an owner of topics has, to
// `service`. Each hops to the loop, where the table lives, but KillModes, which needs no table;
// SearchLogs goes on to `pool`. All outlive the service's calls.
void AddLauncherMethods(bus::Service* service, runtime::EventLoop* loop, runtime::ThreadPool* pool,
                        JobTable* table, BarrierCalls* barriers, ServiceKeeper* keeper,
                        bus::AlertStore* alerts, Notifier* notifier, NodeCalls* nodes,
                        UsageCalls* usage, std::string state_directory);

// Publish on s/launcher/JOB/ and l/JOB/TASK/; `from` as in JobTable::Options::on_lines.
void PublishJob(bus::Publisher* publisher, msg::JobT job);
void PublishLines(bus::Publisher* publisher, const std::string& job, std::uint64_t from,
                  msg::LogLinesT lines);

}  // namespace launcher

#endif  // LAUNCHER_LAUNCHER_SERVICE_H_
