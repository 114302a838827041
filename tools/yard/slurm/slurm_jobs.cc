#include "tools/yard/slurm/slurm_jobs.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/follow/follow.h"

namespace yard {
namespace {

constexpr char kKeeper[] = "keeper";
// Exceeds the time that the keeper needs to give all allocations back.
constexpr std::uint32_t kGraceMs = 60'000;
constexpr std::uint64_t kLogBytes = 1 << 20;

absl::StatusOr<bool> IsThere(bus::Client& client) {
  msg::JobsRequestT request;
  request.live_only = true;
  const auto reply = client.Call<rpc::Launcher::Jobs>(request, Patient());
  if (!reply.ok()) return reply.status();
  return std::any_of(reply->jobs.begin(), reply->jobs.end(),
                     [](const auto& job) { return IsJobOfSlurm(*job); });
}

}  // namespace

msg::JobSpecT JobOfSlurm(const std::string& program, const std::vector<std::string>& environment) {
  msg::JobSpecT spec;
  spec.name = kSlurmJob;
  spec.argv = {program, kKeepSlurm};
  spec.environment = CallersEnvironment(environment);
  std::erase_if(spec.environment,
                [](const std::string& entry) { return absl::StartsWith(entry, "YARD_AT="); });
  spec.working_directory = "/";
  // The keeper exits with 0 once it has nothing to keep.
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = std::numeric_limits<std::uint32_t>::max();
  spec.stop_grace_ms = kGraceMs;
  spec.log_rotate_bytes = kLogBytes;
  spec.log_rotate_files = 1;
  spec.keep_going = true;
  spec.autostart = true;
  auto label = std::make_unique<msg::KeyValueT>();
  label->key = kKeeper;
  label->value = kSlurmJob;
  spec.labels.push_back(std::move(label));
  return spec;
}

bool IsJobOfSlurm(const msg::JobT& job) {
  return std::find(job.argv.begin(), job.argv.end(), kKeepSlurm) != job.argv.end();
}

absl::Status EnsureSlurmJob(Context& context) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  const auto there = IsThere(**client);
  if (!there.ok() || *there) return there.status();
  const auto program = runtime::FindBinary("tools/yard/yard");
  if (!program.ok()) return program.status();
  msg::LaunchRequestT request;
  request.spec = std::make_unique<msg::JobSpecT>(JobOfSlurm(*program, context.environment));
  const auto launched = (*client)->Call<rpc::Launcher::Launch>(request, Patient());
  if (launched.ok() || !absl::IsAlreadyExists(launched.status())) return launched.status();
  // Another command may have launched it meanwhile.
  const auto meanwhile = IsThere(**client);
  if (!meanwhile.ok() || *meanwhile) return meanwhile.status();
  return absl::AlreadyExistsError(absl::StrCat(
      "another job is called ", kSlurmJob,
      ", as the job that keeps the allocations of Slurm has to be; next: yard stop ", kSlurmJob));
}

}  // namespace yard
