// The web service: the page, and HTTP for programs. A client of the bus; it decides and stores only
// who may use its port.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/process/service_process.h"
#include "glog/logging.h"
#include "runtime/event_loop.h"
#include "runtime/file/file_limit.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"
#include "runtime/text/random_id.h"
#include "web/api/api.h"
#include "web/door/doors.h"
#include "web/events/bus_topics.h"
#include "web/events/event_streams.h"
#include "web/http/server.h"
#include "web/metrics/metrics_handler.h"
#include "web/metrics/yard_facts.h"
#include "web/metrics/yard_metrics.h"
#include "web/session/sessions.h"
#include "web/views/saved_views.h"

ABSL_FLAG(std::string, page, "on", "Serve the page on a port: on or off; the socket stays.");
ABSL_FLAG(int, port, 0, "Port of the page; 0: 7710, or another one if that is taken.");
ABSL_FLAG(std::string, address, "127.0.0.1,::1",
          "Addresses to serve the page on; others than of this machine need --allow_remote.");
ABSL_FLAG(bool, allow_remote, false, "Serve on an address that others can reach, without TLS.");
ABSL_FLAG(int, metrics_port, 0,
          "Port on 127.0.0.1 for Prometheus, for the whole yard: /metrics, and /healthz; 0: none.");
ABSL_FLAG(std::string, hosts, "", "Names of this machine, besides localhost, that a URL may have.");
ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(5), "How long a graceful stop may take.");
ABSL_FLAG(std::string, supervisor, "",
          "The supervisor that restarts this service; \"external\": not the yard.");
ABSL_FLAG(std::string, listen, "", "Address to serve the bus on; default: its socket in the yard.");

namespace {

// Most of the work is waiting for other services, so more threads than cores are useful.
constexpr int kThreads = 8;
constexpr int kMostPort = 65'535;
constexpr std::size_t kMostScrapers = 8;
// A service that takes longer counts as down; Prometheus itself waits 10 s.
constexpr absl::Duration kScrapePatience = absl::Seconds(3);

bus::ServiceProcess::Options ProcessOptions() {
  return {.name = "web",
          .stop_grace = absl::GetFlag(FLAGS_stop_grace),
          .supervisor = absl::GetFlag(FLAGS_supervisor),
          .listen = absl::GetFlag(FLAGS_listen),
          .pool_threads = kThreads};
}

web::DoorOptions DoorFlags() {
  return {.page = absl::GetFlag(FLAGS_page),
          .port = absl::GetFlag(FLAGS_port),
          .addresses = absl::StrSplit(absl::GetFlag(FLAGS_address), ',', absl::SkipEmpty()),
          .allow_remote = absl::GetFlag(FLAGS_allow_remote)};
}

absl::Status CheckFlags() {
  if (absl::Status good = web::CheckDoors(DoorFlags()); !good.ok()) return good;
  const int port = absl::GetFlag(FLAGS_metrics_port);
  if (port < 0 || port > kMostPort) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics_port is ", port, "; it must be from 1 to ", kMostPort));
  }
  return bus::ServiceProcess::CheckFlags(ProcessOptions());
}

// Returns null without a port.
absl::StatusOr<std::unique_ptr<web::HttpServer>> ServeMetrics(bus::ServiceProcess* process) {
  const int port = absl::GetFlag(FLAGS_metrics_port);
  if (port == 0) return std::unique_ptr<web::HttpServer>();
  auto server = web::HttpServer::Start(
      {.addresses = {"127.0.0.1"},
       .port = port,
       .max_connections = kMostScrapers,
       .handler = web::MetricsHandler({.pool = process->pool(), .text = [process] {
                                         return web::YardMetricsText(web::ReadYardFacts(
                                             *process->client(), kScrapePatience));
                                       }})});
  if (!server.ok()) {
    return absl::Status(server.status().code(),
                        absl::StrCat("--metrics_port: ", server.status().message()));
  }
  LOG(INFO) << "metrics at http://127.0.0.1:" << port << "/metrics";
  return server;
}

int Run() {
  runtime::RaiseFileLimit();
  // Requests on the pool use these objects, so they are declared before, and destroyed after, the
  // process.
  std::unique_ptr<web::Sessions> sessions;
  std::unique_ptr<web::SavedViews> views;
  std::unique_ptr<web::Api> api;
  std::atomic<int> port = 0;  // 0 until known; requests may arrive earlier.
  auto process = bus::ServiceProcess::Create(ProcessOptions());
  if (!process.ok()) return runtime::ReportAndExitCode("web", process.status());
  runtime::EventLoop* const loop = (*process)->loop();
  sessions = web::Sessions::Open({.file = (*process)->locations().state_directory + "/web.sessions",
                                  .clock = (*process)->clock()});
  views = web::SavedViews::Open((*process)->locations().state_directory + "/web.views",
                                (*process)->clock());

  std::unique_ptr<web::EventStreams> streams;
  web::BusTopics topics({.node = (*process)->node(),
                         .loop = loop,
                         .on_event =
                             [&](const auto& topic, auto event, const auto& data, bool is_state) {
                               using Slow = web::EventStreams::Slow;
                               streams->Publish(topic, event, data,
                                                is_state ? Slow::kKeep : Slow::kDrop);
                             },
                         .on_gap = [&](const auto& topic) { streams->TellGap(topic); }});
  streams = std::make_unique<web::EventStreams>(web::EventStreams::Options{
      .loop = loop,
      .epoch = runtime::RandomHex128().substr(0, 8),
      .on_wanted = [&](const auto& topic) { topics.Follow(topic); },
      .on_unwanted = [&](const auto& topic) { topics.Unfollow(topic); }});

  api = std::make_unique<web::Api>(web::Api::Options{
      .client = (*process)->client(),
      .pool = (*process)->pool(),
      .sessions = sessions.get(),
      .views = views.get(),
      .clock = (*process)->clock(),
      .hosts = absl::StrSplit(absl::GetFlag(FLAGS_hosts), ',', absl::SkipEmpty()),
      .address = [&port] { return web::AddressOf(port); },
      .open_stream =
          [&](std::vector<std::string> names, std::string last_id,
              std::shared_ptr<web::Reply> reply) {
            loop->Post([&streams, names = std::move(names), last_id = std::move(last_id),
                        reply = std::move(reply)] { streams->Open(names, last_id, reply); });
          }});
  auto server = web::OpenDoors(DoorFlags(), (*process)->locations(),
                               [&](web::Request request, std::shared_ptr<web::Reply> reply) {
                                 api->Handle(std::move(request), std::move(reply));
                               });
  if (!server.ok()) return runtime::ReportAndExitCode("web", server.status());
  const auto metrics = ServeMetrics(process->get());
  if (!metrics.ok()) return runtime::ReportAndExitCode("web", metrics.status());
  port = (*server)->port();
  if (port != 0) LOG(INFO) << "the page is at " << web::AddressOf(port);
  (*process)->AddGauge("connections", [&] { return (*server)->GetStats().connections; });
  (*process)->AddCounter("requests", [&] { return (*server)->GetStats().requests; });
  (*process)->AddCounter("requests_refused", [&] { return (*server)->GetStats().refused; });
  (*process)->AddCounter("connections_refused", [&] { return (*server)->GetStats().turned_away; });
  (*process)->KeepSocket("ipc://" + web::SocketOf((*process)->locations()),
                         [&] { return (*server)->BindAgain(); });
  return (*process)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  runtime::ParseFlags("web", "The yard's page, and HTTP for programs.", argc, argv);
  if (const auto end = runtime::EndAfterCheck("web", CheckFlags())) return *end;
  return Run();
}
