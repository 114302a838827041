// The registry: records which processes are alive, and hosts the event hub.

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/event/hub.h"
#include "bus/process/service_process.h"
#include "registry/instance_service.h"
#include "registry/name_methods.h"
#include "registry/registry_service.h"
#include "runtime/file/file_limit.h"
#include "runtime/file/locations.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"

ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(10), "How long a graceful stop may take.");
ABSL_FLAG(std::string, supervisor, "",
          "The supervisor that restarts this service; \"external\": not the yard.");
ABSL_FLAG(std::string, listen, "", "Address to serve on; default: its socket in the yard.");

namespace {

bus::ServiceProcess::Options ProcessOptions() {
  return {.name = "registry",
          .stop_grace = absl::GetFlag(FLAGS_stop_grace),
          .supervisor = absl::GetFlag(FLAGS_supervisor),
          .listen = absl::GetFlag(FLAGS_listen)};
}

int Run() {
  runtime::RaiseFileLimit();
  auto process = bus::ServiceProcess::Create(ProcessOptions());
  if (!process.ok()) return runtime::ReportAndExitCode("registry", process.status());
  bus::Node* const node = (*process)->node();
  const bus::Hub::Options addresses = bus::Hub::DefaultAddresses(node->locations());
  const auto hub = bus::Hub::Create(node, addresses);
  if (!hub.ok()) return runtime::ReportAndExitCode("registry", hub.status());
  msg::HubInfoT info;
  info.publish_endpoint = addresses.publish_endpoint;
  info.subscribe_endpoint = addresses.subscribe_endpoint;
  info.epoch = node->epoch();
  registry::RegistryService service({.node = node,
                                     .loop = (*process)->loop(),
                                     .hub = hub->get(),
                                     .hub_info = info,
                                     .leases = {.epoch = node->epoch()}},
                                    (*process)->service());
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  registry::InstanceService instances(
      {.loop = (*process)->loop(),
       .clock = (*process)->clock(),
       .client = (*process)->client(),
       .uid = geteuid(),
       .environment = std::move(environment),
       .working_directory = runtime::AbsolutePath("."),
       .launcher_is_there = [&] { return service.IsThere("launcher"); }},
      (*process)->service());
  registry::AddNameMethods((*process)->service(), (*process)->loop(), hub->get(), &service,
                           &instances);
  (*process)->AddGauge("leases", [&] { return service.GetStats().leases; });
  (*process)->AddGauge("watchers", [&] { return service.GetStats().watchers; });
  (*process)->AddCounter("leases_expired", [&] { return service.GetStats().expired; });
  (*process)->AddCounter("processes_ended", [&] { return service.GetStats().processes_ended; });
  (*process)->AddCounter("events_forwarded", [&] { return (*hub)->GetStats().forwarded; });
  (*process)->AddCounter("events_dropped", [&] { return (*hub)->GetStats().dropped(); });
  (*process)->AddCounter("events_dropped_topic", [&] { return (*hub)->GetStats().dropped_topic; });
  (*process)->AddCounter("events_dropped_reserved",
                         [&] { return (*hub)->GetStats().dropped_reserved; });
  (*process)->AddCounter("events_dropped_malformed",
                         [&] { return (*hub)->GetStats().dropped_malformed; });
  (*process)->AddGauge("events_kept_bytes", [&] { return (*hub)->GetStats().kept_bytes; });
  (*process)->AddGauge("subscriptions", [&] { return (*hub)->GetStats().subscriptions; });
  (*process)->AddGauge("tools", [&] { return instances.GetStats().instances; });
  (*process)->AddCounter("tools_launched", [&] { return instances.GetStats().launched; });
  (*process)->AddCounter("tools_reused", [&] { return instances.GetStats().reused; });
  (*process)->AddCounter("tools_failed", [&] { return instances.GetStats().failed; });
  for (const std::string& address : {addresses.publish_endpoint, addresses.subscribe_endpoint}) {
    (*process)->KeepSocket(address, [&hub] { return (*hub)->BindAgain(); });
  }
  return (*process)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  runtime::ParseFlags("registry", "The yard's registry: who is alive and where, and the event hub.",
                      argc, argv);
  const absl::Status checked = bus::ServiceProcess::CheckFlags(ProcessOptions());
  if (const auto end = runtime::EndAfterCheck("registry", checked)) return *end;
  return Run();
}
