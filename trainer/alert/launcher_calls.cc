#include "trainer/alert/launcher_calls.h"

#include <memory>
#include <utility>

#include "bus/schema/launcher_methods.h"

namespace trainer {
namespace {

constexpr absl::Duration kNotifyPatience = absl::Seconds(5);
constexpr absl::Duration kLeadersPatience = absl::Seconds(2);

void Notify(bus::Client* client, runtime::EventLoop* loop, const msg::AlertT& alert,
            TrialAlerts::Options::Done done) {
  msg::NotifyRequestT request;
  request.alert = std::make_unique<msg::AlertT>(alert);
  client->Start<rpc::Launcher::Notify>(
      request, nullptr,
      [loop, done = std::move(done)](const absl::StatusOr<msg::NotifyReplyT>& reply) {
        loop->Post([done, status = reply.status()] { done(status); });
      },
      {.timeout = kNotifyPatience, .wait_for_service = true});
}

std::vector<pid_t> LeadersOf(const msg::JobsReplyT& reply) {
  std::vector<pid_t> leaders;
  for (const auto& job : reply.jobs) {
    for (const auto& task : job->tasks) {
      if (task->attempts.empty() || task->attempts.back()->ended_us != 0) continue;
      if (!task->attempts.back()->node.empty()) continue;  // The process runs on another host.
      if (task->attempts.back()->pid > 0) leaders.push_back(task->attempts.back()->pid);
    }
  }
  return leaders;
}

void Leaders(bus::Client* client, runtime::EventLoop* loop, const std::string& job,
             std::function<void(std::vector<pid_t>)> done) {
  msg::JobsRequestT request;
  request.job = job;
  client->Start<rpc::Launcher::Jobs>(
      request, nullptr,
      [loop, done = std::move(done)](const absl::StatusOr<msg::JobsReplyT>& reply) {
        std::vector<pid_t> leaders = reply.ok() ? LeadersOf(*reply) : std::vector<pid_t>();
        loop->Post([done, leaders = std::move(leaders)] { done(leaders); });
      },
      {.timeout = kLeadersPatience});
}

}  // namespace

void SetLauncherCalls(bus::Client* client, bus::JobControl* jobs, runtime::EventLoop* loop,
                      TrialAlerts::Options* options) {
  options->notify = [client, loop](const msg::AlertT& alert, TrialAlerts::Options::Done done) {
    Notify(client, loop, alert, std::move(done));
  };
  options->launch = [jobs](const std::string& request_id, const msg::JobSpecT& spec,
                           TrialAlerts::Options::Done done) {
    jobs->Launch(
        request_id, /*trace=*/"", spec,
        [done = std::move(done)](const absl::StatusOr<std::string>& job) { done(job.status()); });
  };
  options->leaders = [client, loop](const std::string& job,
                                    std::function<void(std::vector<pid_t>)> done) {
    Leaders(client, loop, job, std::move(done));
  };
}

}  // namespace trainer
