// The launcher: starts, watches, restarts and stops processes.

#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/time/time.h"
#include "bus/service_process.h"
#include "launcher/launcher_parts.h"
#include "runtime/exit_code.h"

ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(10), "time for a graceful stop");
ABSL_FLAG(std::string, supervisor, "",
          "\"external\": somebody else (systemd, Docker) starts this and the other services");
ABSL_FLAG(std::string, listen, "", "address to listen on; empty: ipc in the runtime directory");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Starts, watches, restarts and stops the yard's processes.");
  absl::ParseCommandLine(argc, argv);
  auto process = bus::ServiceProcess::Create({.name = "launcher",
                                              .stop_grace = absl::GetFlag(FLAGS_stop_grace),
                                              .supervisor = absl::GetFlag(FLAGS_supervisor),
                                              .listen = absl::GetFlag(FLAGS_listen)});
  if (!process.ok()) return runtime::ReportAndExitCode("launcher", process.status());
  auto parts = launcher::LauncherParts::Create(process->get(),
                                               absl::GetFlag(FLAGS_supervisor) == "external");
  if (!parts.ok()) return runtime::ReportAndExitCode("launcher", parts.status());
  const int code = (*process)->Run();
  parts->reset();
  return code;
}
