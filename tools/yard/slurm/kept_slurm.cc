#include "tools/yard/slurm/kept_slurm.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/slurm/slurm_keeper.h"

namespace yard {
namespace {

absl::StatusOr<Bundle> ReadOwnBundle() {
  const auto node = runtime::FindBinary("launcher/node/yard-node");
  if (!node.ok()) return node.status();
  const auto shim = runtime::FindBinary("launcher/yard-shim");
  if (!shim.ok()) return shim.status();
  return ReadBundle(*node, *shim);
}

absl::StatusOr<std::vector<msg::NodeT>> Nodes(bus::Client* client) {
  const auto reply = client->Call<rpc::Launcher::Nodes>({}, Patient());
  if (!reply.ok()) return reply.status();
  std::vector<msg::NodeT> nodes;
  for (const auto& node : reply->nodes) nodes.push_back(*node);
  return nodes;
}

absl::StatusOr<std::set<std::string>> WantedPools(bus::Client* client, bool trials) {
  std::set<std::string> pools;
  msg::JobsRequestT jobs;
  jobs.live_only = true;
  const auto live = client->Call<rpc::Launcher::Jobs>(jobs, Patient());
  if (!live.ok()) return live.status();
  for (const auto& job : live->jobs) {
    if (!job->pool.empty() && !job->stop_requested) pools.insert(job->pool);
  }
  if (!trials) return pools;
  msg::TrialsRequestT request;
  request.live_only = true;
  const auto waiting = client->Call<rpc::Trainer::Trials>(request, Patient());
  if (!waiting.ok()) return waiting.status();
  for (const auto& trial : waiting->trials) {
    if (!trial->pool.empty()) pools.insert(trial->pool);
  }
  return pools;
}

absl::StatusOr<std::set<std::string>> LiveSweeps(bus::Client* client) {
  msg::SweepsRequestT request;
  request.live_only = true;
  const auto live = client->Call<rpc::Trainer::Sweeps>(request, Patient());
  if (!live.ok()) return live.status();
  std::set<std::string> sweeps;
  for (const auto& sweep : live->sweeps) sweeps.insert(sweep->id);
  return sweeps;
}

// Returns true if `tasks` are all tasks of the job.
bool IsWhole(bus::Client* client, const std::string& job, const std::vector<std::string>& tasks) {
  msg::JobsRequestT request;
  request.job = job;
  const auto reply = client->Call<rpc::Launcher::Jobs>(request, Patient());
  return reply.ok() && reply->jobs.size() == 1 && reply->jobs[0]->tasks.size() == tasks.size();
}

absl::Status RestartTasks(bus::Client* client, const std::vector<std::string>& tasks) {
  std::map<std::string, std::vector<std::string>> by_job;
  for (const std::string& task : tasks) by_job[task.substr(0, task.find('/'))].push_back(task);
  for (const auto& [job, own] : by_job) {
    for (const std::string& what :
         IsWhole(client, job, own) ? std::vector<std::string>{job} : own) {
      msg::RestartJobRequestT request;
      request.job = what;
      const absl::Status restarted =
          client->Call<rpc::Launcher::RestartJob>(request, Patient()).status();
      // The job may have ended meanwhile.
      if (!restarted.ok() && !absl::IsNotFound(restarted) &&
          !absl::IsFailedPrecondition(restarted)) {
        return restarted;
      }
    }
  }
  return absl::OkStatus();
}

SlurmCalls CallsOf(bus::Client* client) {
  return {
      .nodes = [client] { return Nodes(client); },
      .wanted_pools = [client](bool trials) { return WantedPools(client, trials); },
      .live_sweeps = [client] { return LiveSweeps(client); },
      .set_node =
          [client](const msg::SetNodeRequestT& request) {
            return client->Call<rpc::Launcher::SetNode>(request, Patient()).status();
          },
      .remove_node =
          [client](const std::string& node, const std::string& why) {
            msg::RemoveNodeRequestT request;
            request.name = node;
            request.force = true;
            request.why = why;
            const absl::Status removed =
                client->Call<rpc::Launcher::RemoveNode>(request, Patient()).status();
            return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
          },
      .restart_tasks =
          [client](const std::vector<std::string>& tasks) { return RestartTasks(client, tasks); }};
}

int Fail(Context& context, const absl::Status& status) {
  *context.err << "yard: " << runtime::Printable(std::string(status.message())) << "\n";
  return ExitCodeOf(status);
}

}  // namespace

int KeepSlurm(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return Fail(context, client.status());
  const runtime::UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return Fail(context, absl::InternalError("cannot make an event"));
  context.interrupt->Handle([&stop] {
    const std::uint64_t one = 1;
    (void)!write(stop.get(), &one, sizeof one);
  });
  const absl::Status kept = KeepAllocations({.state_directory = context.locations.state_directory,
                                             .environment = context.environment,
                                             .read_bundle = ReadOwnBundle,
                                             .calls = CallsOf(*client),
                                             .say =
                                                 [&](std::string_view line) {
                                                   *context.err << runtime::Printable(line) << "\n"
                                                                << std::flush;
                                                 },
                                             .stop = stop.get()});
  context.interrupt->Handle({});
  return kept.ok() ? kDone : Fail(context, kept);
}

}  // namespace yard
