// The program of the launcher, which starts, watches, restarts and stops processes.

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/alert/alert_kinds.h"
#include "bus/process/service_process.h"
#include "launcher/alert/machine_rules.h"
#include "launcher/launcher_parts.h"
#include "launcher/share/resources.h"
#include "launcher/wire/process_limit.h"
#include "runtime/file/file_limit.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"

ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(10), "time for a graceful stop");
ABSL_FLAG(std::string, supervisor, "",
          "\"external\": somebody else (systemd, Docker) starts this and the other services");
ABSL_FLAG(std::string, resources, "",
          "what tasks share, e.g. \"gpu=0,1;slots=4\"; empty: the GPUs of this machine");
ABSL_FLAG(
    std::string, machine_directory, "/var/lib/trainyard-machine",
    "directory of the locks by which the yards of all users of this machine share its GPUs; an "
    "administrator makes it; without it each yard has them for itself");
ABSL_FLAG(absl::Duration, keep_jobs_for, absl::Hours(7 * 24),
          "ended jobs are forgotten, with their logs, when they are older");
ABSL_FLAG(std::size_t, keep_jobs, 10'000, "and when there are more of them");
ABSL_FLAG(
    std::string, notify, "",
    "command line for /bin/sh that tells a person of an alert; it reads JSON (docs/alerts.md)");
ABSL_FLAG(std::vector<std::string>, notify_kinds, {},
          "kinds of alerts that are told, separated by commas; empty: all but trial_ended");
ABSL_FLAG(std::size_t, notify_most, 10,
          "a person is told so many times within notify_window, at most; further alerts are told "
          "together");
ABSL_FLAG(absl::Duration, notify_window, absl::Minutes(10), "see notify_most");
ABSL_FLAG(std::string, disk_floor, "1GiB",
          "an alert is raised when less is free on the disk of runs or state; 0: never");
ABSL_FLAG(absl::Duration, node_lost_after, absl::Minutes(5),
          "a host of a pool that is away for so long has lost its tasks: they start elsewhere");
ABSL_FLAG(std::string, listen, "", "address to listen on; empty: ipc in the runtime directory");

namespace {

std::optional<std::string> VisibleGpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? std::nullopt : std::optional<std::string>(visible);
}

// True if the flag --resources declares the GPUs that tasks share.
bool DeclaresGpus(const std::string& said, const std::vector<launcher::Resource>& resources) {
  return !said.empty() && std::any_of(resources.begin(), resources.end(),
                                      [](const auto& resource) { return resource.name == "gpu"; });
}

// Raises the limit of open files, for thousands of held ports and watched shims. Returns the
// original limit, which the tasks get.
std::vector<launcher::ProcessLimit> RaiseOwnLimits() {
  const runtime::FileLimit before = runtime::RaiseFileLimit();
  if (before.hard == 0) return {};
  return {{.name = "nofile", .soft = before.soft, .hard = before.hard}};
}

bus::ServiceProcess::Options ProcessOptions() {
  return {.name = "launcher",
          .stop_grace = absl::GetFlag(FLAGS_stop_grace),
          .supervisor = absl::GetFlag(FLAGS_supervisor),
          .listen = absl::GetFlag(FLAGS_listen)};
}

absl::StatusOr<std::vector<launcher::Resource>> SharedResources() {
  const std::string shared = absl::GetFlag(FLAGS_resources);
  auto resources = launcher::ParseResources(
      shared.empty() ? launcher::LocalResources("/dev", VisibleGpus())
                     : std::vector<std::string>(absl::StrSplit(shared, ';')));
  if (resources.ok()) return resources;
  return absl::InvalidArgumentError(absl::StrCat("--resources: ", resources.status().message()));
}

absl::Status CheckNotifyKinds() {
  for (const std::string& kind : absl::GetFlag(FLAGS_notify_kinds)) {
    if (bus::FindAlertKind(kind) != nullptr) continue;
    std::vector<std::string> kinds;
    for (const bus::AlertKind& known : bus::kAlertKinds) kinds.emplace_back(known.name);
    return absl::InvalidArgumentError(absl::StrCat("--notify_kinds: there is no kind of alert ",
                                                   kind, "; the kinds are ",
                                                   absl::StrJoin(kinds, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> DiskFloor() {
  auto floor = launcher::ParseBytes(absl::GetFlag(FLAGS_disk_floor));
  if (floor.ok()) return floor;
  return absl::InvalidArgumentError(absl::StrCat("--disk_floor: ", floor.status().message()));
}

absl::Status CheckFlags() {
  if (absl::Status good = DiskFloor().status(); !good.ok()) return good;
  if (absl::Status good = CheckNotifyKinds(); !good.ok()) return good;
  if (absl::Status good = SharedResources().status(); !good.ok()) return good;
  return bus::ServiceProcess::CheckFlags(ProcessOptions());
}

}  // namespace

int main(int argc, char** argv) {
  // One heap for all threads, since most memory is allocated by one thread and freed by another.
  mallopt(M_ARENA_MAX, 1);
  runtime::ParseFlags("launcher", "Starts, watches, restarts and stops the yard's processes.", argc,
                      argv);
  if (const auto end = runtime::EndAfterCheck("launcher", CheckFlags())) return *end;
  const auto limits = RaiseOwnLimits();  // Called before threads start.
  auto process = bus::ServiceProcess::Create(ProcessOptions());
  if (!process.ok()) return runtime::ReportAndExitCode("launcher", process.status());
  auto resources = SharedResources();
  if (!resources.ok()) return runtime::ReportAndExitCode("launcher", resources.status());
  const auto floor = DiskFloor();
  if (!floor.ok()) return runtime::ReportAndExitCode("launcher", floor.status());
  const bool hides_gpus = DeclaresGpus(absl::GetFlag(FLAGS_resources), *resources);
  auto parts = launcher::LauncherParts::Create(
      process->get(),
      {.external = absl::GetFlag(FLAGS_supervisor) == "external",
       .resources = *std::move(resources),
       .limits = limits,
       .hides_gpus = hides_gpus,
       .machine_directory = absl::GetFlag(FLAGS_machine_directory),
       .keep_jobs_for = absl::GetFlag(FLAGS_keep_jobs_for),
       .keep_jobs = absl::GetFlag(FLAGS_keep_jobs),
       .notify = absl::GetFlag(FLAGS_notify),
       .notify_kinds = absl::GetFlag(FLAGS_notify_kinds),
       .notify_pace = {.most = std::max<std::size_t>(1, absl::GetFlag(FLAGS_notify_most)),
                       .window = absl::GetFlag(FLAGS_notify_window)},
       .disk_floor = *floor,
       .node_lost_after = absl::GetFlag(FLAGS_node_lost_after)});
  if (!parts.ok()) return runtime::ReportAndExitCode("launcher", parts.status());
  const int code = (*process)->Run();
  parts->reset();
  return code;
}
