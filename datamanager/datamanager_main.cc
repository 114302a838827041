// The data manager: reads run directories and answers questions about them.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/time/time.h"
#include "bus/publisher.h"
#include "bus/schema/envelope_generated.h"
#include "bus/service_process.h"
#include "datamanager/follower.h"
#include "datamanager/point_topics.h"
#include "datamanager/run_catalog.h"
#include "datamanager/service_methods.h"
#include "runtime/exit_code.h"
#include "runtime/file_limit.h"
#include "runtime/locations.h"

ABSL_FLAG(std::string, logdir, "runs", "Directory with the runs, at any depth.");
ABSL_FLAG(std::size_t, cache_mb, 1024, "Memory for points, in MiB; older runs are read again.");
ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(10), "How long a graceful stop may take.");
ABSL_FLAG(std::string, supervisor, "", "Who restarts this service; \"external\": not the yard.");
ABSL_FLAG(std::string, listen, "", "Address to serve on; default: its socket in the yard.");

namespace {

int Run() {
  runtime::RaiseFileLimit();
  auto process = bus::ServiceProcess::Create({.name = "datamanager",
                                              .stop_grace = absl::GetFlag(FLAGS_stop_grace),
                                              .supervisor = absl::GetFlag(FLAGS_supervisor),
                                              .listen = absl::GetFlag(FLAGS_listen)});
  if (!process.ok()) return runtime::ReportAndExitCode("datamanager", process.status());
  bus::Publisher* const publisher = (*process)->publisher();
  const auto publish = [publisher](std::string_view topic, msg::EnvelopeT event) {
    return publisher->PublishEnvelope(topic, std::move(event));
  };
  const std::string logdir = runtime::AbsolutePath(absl::GetFlag(FLAGS_logdir));
  datamanager::RunCatalog catalog(
      {.root = logdir,
       .byte_budget = absl::GetFlag(FLAGS_cache_mb) << 20,
       .on_points = [publish](const auto& run, const auto& tag, auto first, const auto& points) {
         datamanager::PublishPoints(publish, run, tag, first, points);
       }});
  datamanager::AddMethods((*process)->service(), &catalog);
  (*process)->AddCounter("runs", [&] { return catalog.GetStats().runs; });
  (*process)->AddCounter("point_bytes", [&] { return catalog.GetStats().bytes; });
  (*process)->AddCounter("records", [&] { return catalog.GetStats().records; });
  (*process)->AddCounter("bad_records", [&] { return catalog.GetStats().bad_records; });
  (*process)->AddCounter("runs_dropped", [&] { return catalog.GetStats().dropped; });
  auto follower =
      datamanager::Follower::Create((*process)->loop(), (*process)->pool(), &catalog, {});
  if (!follower.ok()) return runtime::ReportAndExitCode("datamanager", follower.status());
  return (*process)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("The yard's data manager: reads runs, answers about their points.");
  absl::ParseCommandLine(argc, argv);
  const absl::Status entered = runtime::EnterCallersDirectory();
  if (!entered.ok()) return runtime::ReportAndExitCode("datamanager", entered);
  return Run();
}
