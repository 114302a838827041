// The trainer service: runs trials and stores their reports. A user's program that links this file
// is a trainer too, with the functions that the program registers (docs/trainables.md). Each
// function runs as a trial in a process of its own: the same program, started with --run_function.

#include <algorithm>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/process/service_process.h"
#include "runtime/file/file_limit.h"
#include "runtime/file/local_path.h"
#include "runtime/file/locations.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"
#include "trainer/alert/trial_rules.h"
#include "trainer/attempt/start_holds.h"
#include "trainer/function/function_main.h"
#include "trainer/report/metric_rule.h"
#include "trainer/trainer_service.h"

ABSL_FLAG(std::string, logdir, "./runs", "Directory of the runs.");
ABSL_FLAG(int, slots, 0, "Trials that run at once, at most; 0: one for each core.");
ABSL_FLAG(int, keep_trials, 10'000, "Ended trials that are known; directories always stay.");
ABSL_FLAG(std::string, min_free, "1GiB",
          "Room on the disk of the runs that an attempt leaves when it begins, such as 5GiB or 2%; "
          "with less the trials wait. 0: none.");
ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(10), "How long a graceful stop may take.");
ABSL_FLAG(std::string, supervisor, "",
          "The supervisor that restarts this service; \"external\": not the yard.");
ABSL_FLAG(std::string, alerts, "",
          "Rules that raise an alert for any trial, separated by commas: loss>10,reward<0.");
ABSL_FLAG(int, stall_steps, 10,
          "A trial has stalled after so many of its median steps without a report; 0: never.");
ABSL_FLAG(absl::Duration, stall_floor, absl::Seconds(60), "But after this time at the earliest.");
ABSL_FLAG(std::string, run_function, "", "Runs this function as a trial; the trainer says so.");
ABSL_FLAG(absl::Duration, heartbeat, absl::ZeroDuration(),
          "The function prints a line this often.");
ABSL_FLAG(std::string, listen, "", "Address to serve on; default: its socket in the yard.");

namespace {

bus::ServiceProcess::Options ProcessOptions() {
  return {.name = "trainer",
          .stop_grace = absl::GetFlag(FLAGS_stop_grace),
          .supervisor = absl::GetFlag(FLAGS_supervisor),
          .listen = absl::GetFlag(FLAGS_listen)};
}

absl::StatusOr<trainer::TrialRules::Settings> AlertSettings() {
  auto rules = trainer::MetricRule::ParseAll(
      absl::StrSplit(absl::GetFlag(FLAGS_alerts), ',', absl::SkipWhitespace()));
  if (!rules.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--alerts: ", rules.status().message()));
  }
  return trainer::TrialRules::Settings{.rules = *std::move(rules),
                                       .stall_steps = std::max(0, absl::GetFlag(FLAGS_stall_steps)),
                                       .stall_floor = absl::GetFlag(FLAGS_stall_floor)};
}

absl::Status CheckFlags() {
  if (auto settings = AlertSettings(); !settings.ok()) return settings.status();
  absl::Status good = bus::ServiceProcess::CheckFlags(ProcessOptions());
  good.Update(trainer::ParseMinFree(absl::GetFlag(FLAGS_min_free)).status());
  return good;
}

absl::StatusOr<int> Run() {
  auto alerts = AlertSettings();
  if (!alerts.ok()) return alerts.status();
  const std::string typed = absl::GetFlag(FLAGS_logdir);
  if (auto local = runtime::CheckLocalPath("--logdir", typed); !local.ok()) return local;
  const std::string logdir = runtime::AbsolutePath(typed);
  auto process = bus::ServiceProcess::Create(ProcessOptions());
  if (!process.ok()) return process.status();
  const auto min_free = trainer::ParseMinFree(absl::GetFlag(FLAGS_min_free));
  if (!min_free.ok()) return min_free.status();
  auto service = trainer::TrainerService::Create(
      process->get(), {.logdir = logdir,
                       .slots = absl::GetFlag(FLAGS_slots),
                       .keep_trials = std::max(1, absl::GetFlag(FLAGS_keep_trials)),
                       .min_free = *min_free,
                       .alerts = *std::move(alerts)});
  if (!service.ok()) return service.status();
  return (*process)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  runtime::ParseFlags("trainer", "The yard's trainer: runs trials and keeps what they report.",
                      argc, argv);
  if (const std::string function = absl::GetFlag(FLAGS_run_function); !function.empty()) {
    return trainer::FunctionMain(function, absl::GetFlag(FLAGS_heartbeat));
  }
  if (const auto end = runtime::EndAfterCheck("trainer", CheckFlags())) return *end;
  runtime::RaiseFileLimit();
  const absl::Status entered = runtime::EnterCallersDirectory();
  if (!entered.ok()) return runtime::ReportAndExitCode("trainer", entered);
  const auto code = Run();
  return code.ok() ? *code : runtime::ReportAndExitCode("trainer", code.status());
}
