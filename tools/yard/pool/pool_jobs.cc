#include "tools/yard/pool/pool_jobs.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/follow/follow.h"

namespace yard {
namespace {

constexpr char kPoolLabel[] = "pool", kHostLabel[] = "host";
constexpr std::uint32_t kGraceMs = 60'000;  // Exceeds the time that HostKeeper needs to leave.
constexpr std::uint64_t kLogBytes = 1 << 20;

std::unique_ptr<msg::KeyValueT> Label(const std::string& key, const std::string& value) {
  auto label = std::make_unique<msg::KeyValueT>();
  label->key = key;
  label->value = value;
  return label;
}

std::string LabelOf(const msg::JobT& job, const std::string& key) {
  for (const auto& label : job.labels) {
    if (label->key == key) return label->value;
  }
  return "";
}

}  // namespace

std::vector<std::string> KeepHostWords(const KeptHost& kept) {
  return {kKeepHost, kept.pool, kept.host.address, absl::StrCat(kept.slots)};
}

absl::StatusOr<KeptHost> ReadKeepHostWords(const std::vector<std::string>& words) {
  KeptHost kept;
  if (words.size() != 4 || words[0] != kKeepHost || !absl::SimpleAtoi(words[3], &kept.slots)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kKeepHost, " is for the jobs of `yard pool`, and takes POOL ADDRESS SLOTS"));
  }
  if (absl::Status good = CheckPoolName(words[1]); !good.ok()) return good;
  kept.pool = words[1];
  auto host = ParsePoolHost(words[2]);
  if (!host.ok()) return host.status();
  kept.host = *std::move(host);
  return kept;
}

msg::JobSpecT JobOfHost(const KeptHost& kept, const std::string& program,
                        const std::vector<std::string>& environment) {
  msg::JobSpecT spec;
  spec.name = absl::StrCat("pool-", kept.pool, "-", kept.host.node);
  spec.argv = {program};
  for (std::string& word : KeepHostWords(kept)) spec.argv.push_back(std::move(word));
  spec.environment = CallersEnvironment(environment);
  std::erase_if(spec.environment,
                [](const std::string& entry) { return absl::StartsWith(entry, "YARD_AT="); });
  spec.working_directory = "/";
  spec.restart = msg::RestartPolicy::Always;
  spec.max_restarts = std::numeric_limits<std::uint32_t>::max();
  spec.stop_grace_ms = kGraceMs;
  spec.log_rotate_bytes = kLogBytes;
  spec.log_rotate_files = 1;
  spec.keep_going = true;
  spec.autostart = true;
  spec.labels.push_back(Label(kPoolLabel, kept.pool));
  spec.labels.push_back(Label(kHostLabel, kept.host.address));
  return spec;
}

std::optional<HostJob> HostOfJob(const msg::JobT& job) {
  const std::string pool = LabelOf(job, kPoolLabel);
  auto host = ParsePoolHost(LabelOf(job, kHostLabel));
  const bool keeps = std::find(job.argv.begin(), job.argv.end(), kKeepHost) != job.argv.end();
  if (!keeps || pool.empty() || !host.ok()) return std::nullopt;
  return HostJob{.id = job.id, .pool = pool, .host = *std::move(host)};
}

absl::StatusOr<std::vector<msg::NodeT>> AllNodes(Context& context) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  const auto reply = (*client)->Call<rpc::Launcher::Nodes>({}, Patient());
  if (!reply.ok()) return reply.status();
  std::vector<msg::NodeT> nodes;
  for (const auto& node : reply->nodes) nodes.push_back(*node);
  return nodes;
}

absl::StatusOr<std::vector<HostJob>> AllHostJobs(Context& context) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  msg::JobsRequestT request;
  request.live_only = true;
  const auto reply = (*client)->Call<rpc::Launcher::Jobs>(request, Patient());
  if (!reply.ok()) return reply.status();
  std::vector<HostJob> jobs;
  for (const auto& job : reply->jobs) {
    if (auto host = HostOfJob(*job)) jobs.push_back(*std::move(host));
  }
  return jobs;
}

absl::StatusOr<msg::SetNodeReplyT> SetNode(Context& context, const msg::NodeT& node) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  msg::SetNodeRequestT request;
  request.name = node.name;
  request.pool = node.pool;
  request.address = node.address;
  request.slots = node.slots;
  request.draining = node.draining;
  request.allocation = node.allocation;
  // Until its first connection, a node shows the reason given by the process that registered it.
  if (node.host.empty()) request.why = node.why;
  return (*client)->Call<rpc::Launcher::SetNode>(request, Patient());
}

absl::Status RemoveNode(Context& context, const std::string& node, bool force) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  msg::RemoveNodeRequestT request;
  request.name = node;
  request.force = force;
  return (*client)->Call<rpc::Launcher::RemoveNode>(request, Patient()).status();
}

}  // namespace yard
