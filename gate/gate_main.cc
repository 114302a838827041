// The gate: the only process of a yard that listens on the network. Identifies its clients by their
// keys, passes on what the keys' roles allow, and stores nothing.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/access/key_folder.h"
#include "bus/process/service_process.h"
#include "bus/thread/tcp_door.h"
#include "gate/key_book.h"
#include "gate/splices.h"
#include "glog/logging.h"
#include "runtime/event_loop.h"
#include "runtime/file/file_limit.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"

ABSL_FLAG(int, gate_port, 7711, "Port of the gate.");
ABSL_FLAG(std::string, gate_address, "127.0.0.1",
          "Addresses of this machine to serve the gate on, 0.0.0.0 for all of them.");
ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(2), "How long a graceful stop may take.");
ABSL_FLAG(std::string, supervisor, "",
          "The supervisor that restarts this service; \"external\": not the yard.");
ABSL_FLAG(std::string, listen, "", "Address to serve the bus on; default: its socket in the yard.");

namespace {

constexpr int kMostPort = 65'535;
constexpr absl::Duration kLook = absl::Milliseconds(300);

bus::ServiceProcess::Options ProcessOptions() {
  return {.name = "gate",
          .stop_grace = absl::GetFlag(FLAGS_stop_grace),
          .supervisor = absl::GetFlag(FLAGS_supervisor),
          .listen = absl::GetFlag(FLAGS_listen),
          .pool_threads = 2};
}

std::vector<std::string> Endpoints() {
  std::vector<std::string> endpoints;
  for (const auto address :
       absl::StrSplit(absl::GetFlag(FLAGS_gate_address), ',', absl::SkipEmpty())) {
    const bool is_ipv6 = absl::StrContains(address, ":") && !absl::StartsWith(address, "[");
    endpoints.push_back(absl::StrCat("tcp://", is_ipv6 ? "[" : "", address, is_ipv6 ? "]" : "", ":",
                                     absl::GetFlag(FLAGS_gate_port)));
  }
  return endpoints;
}

absl::Status CheckFlags() {
  const int port = absl::GetFlag(FLAGS_gate_port);
  if (port < 1 || port > kMostPort) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gate_port is ", port, "; it must be from 1 to ", kMostPort));
  }
  if (Endpoints().empty()) {
    return absl::InvalidArgumentError("--gate_address names no address, such as 127.0.0.1");
  }
  return bus::ServiceProcess::CheckFlags(ProcessOptions());
}

// Re-reads the keys periodically, so that the connections of a removed key are cut within a second.
class KeyLook {
 public:
  KeyLook(runtime::EventLoop* loop, gate::KeyBook* keys, gate::Splices* splices)
      : loop_(loop), keys_(keys), splices_(splices) {
    Plan();
  }

 private:
  void Plan() {
    loop_->RunAfter(kLook, [this] {
      keys_->Read();
      const std::uint64_t before = std::exchange(version_, keys_->version());
      if (before != version_) splices_->KeysChanged();
      Plan();
    });
  }

  runtime::EventLoop* const loop_;
  gate::KeyBook* const keys_;
  gate::Splices* const splices_;
  std::uint64_t version_ = 0;
};

int Run() {
  runtime::RaiseFileLimit();
  auto process = bus::ServiceProcess::Create(ProcessOptions());
  if (!process.ok()) return runtime::ReportAndExitCode("gate", process.status());
  const bus::KeyFolder folder((*process)->locations().state_directory);
  auto own = folder.ServerKey();
  if (absl::IsNotFound(own.status())) {
    own = absl::FailedPreconditionError(absl::StrCat("no key was made: ", folder.ServerKeyPath(),
                                                     " is missing; next: yard gate key"));
  }
  if (!own.ok()) return runtime::ReportAndExitCode("gate", own.status());
  gate::KeyBook keys(folder, (*process)->clock());
  keys.Read();
  const auto splices = gate::Splices::Open({.node = (*process)->node(),
                                            .endpoints = Endpoints(),
                                            .own = *std::move(own),
                                            .keys = &keys});
  if (!splices.ok()) return runtime::ReportAndExitCode("gate", splices.status());
  for (const std::string& endpoint : (*splices)->endpoints()) {
    LOG(INFO) << "the gate is at " << endpoint << ", for " << keys.size() << " keys";
  }
  const KeyLook look((*process)->loop(), &keys, splices->get());

  using Stats = gate::Splices::Stats;
  const auto of = [&](std::uint64_t Stats::*field) {
    return [&splices, field] { return (*splices)->GetStats().*field; };
  };
  (*process)->AddGauge("connections", of(&Stats::connections));
  (*process)->AddGauge("splices", of(&Stats::splices));
  (*process)->AddGauge("subscriptions", of(&Stats::subscriptions));
  (*process)->AddGauge("nodes", of(&Stats::nodes));
  (*process)->AddGauge("channels", of(&Stats::channels));
  (*process)->AddGauge("keys_allowed", [&] { return keys.size(); });
  (*process)->AddCounter("keys_refused", [&] { return keys.refused(); });
  (*process)->AddCounter("connections_without_key",
                         [] { return bus::TcpDoor::OfThisProcess().GetStats().unused; });
  (*process)->AddCounter("calls_passed", of(&Stats::calls_passed));
  (*process)->AddCounter("calls_refused", of(&Stats::calls_refused));
  (*process)->AddCounter("malformed", of(&Stats::malformed));
  (*process)->AddCounter("events_passed", of(&Stats::events_passed));
  (*process)->AddCounter("connections_cut", of(&Stats::connections_cut));
  (*process)->AddCounter("connections_crowded_out",
                         [] { return bus::TcpDoor::OfThisProcess().GetStats().cut; });
  return (*process)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  runtime::ParseFlags("gate", "The yard's gate: lets clients with a key in from the network.", argc,
                      argv);
  if (const auto end = runtime::EndAfterCheck("gate", CheckFlags())) return *end;
  return Run();
}
