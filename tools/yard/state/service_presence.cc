#include "tools/yard/state/service_presence.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bus/access/access_file.h"
#include "bus/access/key_folder.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/yard_command.h"

namespace yard {
namespace {

constexpr std::size_t kMostReadyBytes = 64 << 10;

bool HasGateKey(const runtime::Locations& locations) {
  return access(bus::KeyFolder(locations.state_directory).ServerKeyPath().c_str(), F_OK) == 0;
}

// Content of the file that a service writes once it is ready.
struct ReadyFile {
  pid_t pid = 0;
  bool external = false;
  std::string endpoint;  // Address on which it serves.
};
ReadyFile ReadReadyFile(const runtime::Locations& locations, std::string_view service) {
  ReadyFile ready{.endpoint = locations.ServiceAddress(service)};
  const auto text = runtime::ReadFile(
      absl::StrCat(locations.runtime_directory, "/", runtime::Absl(service), ".ready"),
      kMostReadyBytes);
  if (!text.ok()) return ready;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    int pid = 0;
    if (absl::ConsumePrefix(&line, "listen=")) {
      ready.endpoint = std::string(line);
    } else if (line == "supervisor=external") {
      ready.external = true;
    } else if (ready.pid == 0 && absl::SimpleAtoi(line, &pid)) {
      ready.pid = pid;
    }
  }
  return ready;
}

bool IsServed(const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  return !endpoint.starts_with(kIpc) ||
         Probe(endpoint.substr(kIpc.size()), SOCK_STREAM) != Listening::kNo;
}

// Returns the process that holds the service's lock of the state directory; 0 if none.
pid_t HolderOfState(const runtime::Locations& locations, std::string_view service) {
  return runtime::LockHolder(
             absl::StrCat(locations.state_directory, "/", runtime::Absl(service), ".lock"))
      .value_or(0);
}

}  // namespace

bool IsElsewhere(const runtime::Locations& locations) {
  return bus::PathOfAccessFile(locations.registry_address).has_value();
}

std::vector<std::string> ServicesOf(const runtime::Locations& locations) {
  std::vector<std::string> services(std::begin(kServices), std::end(kServices));
  if (HasGateKey(locations) || HolderOf(locations, "gate") != 0) services.emplace_back("gate");
  return services;
}

pid_t HolderOf(const runtime::Locations& locations, std::string_view service) {
  if (const auto holder = runtime::LockHolder(locations.LockPath(service)); holder.ok()) {
    return *holder;
  }
  const pid_t holder = HolderOfState(locations, service);
  if (holder == 0) return 0;
  const auto place = PlaceOf(holder, service, locations.state_directory);
  return place.ok() && place->directory == locations.runtime_directory ? holder : 0;
}

std::optional<OwnProcess> HoldService(const runtime::Locations& locations,
                                      const std::string& service) {
  return OwnProcess::Hold(HolderOf(locations, service), [&](pid_t pid) {
    const auto place = PlaceOf(pid, service, locations.state_directory);
    return place.ok() && place->directory == locations.runtime_directory;
  });
}

bool IsExternal(const runtime::Locations& locations, std::string_view service) {
  return ReadReadyFile(locations, service).external;
}

bool IsReady(const runtime::Locations& locations, const std::string& service) {
  const pid_t holder = HolderOf(locations, service);
  if (holder == 0 || IsSuspended(holder)) return false;
  const ReadyFile ready = ReadReadyFile(locations, service);
  return ready.pid == holder && IsServed(ready.endpoint);
}

bool TakesCalls(const runtime::Locations& locations, const std::string& service) {
  const pid_t holder = HolderOf(locations, service);
  return holder != 0 && !IsEnding(holder) && IsServed(ReadReadyFile(locations, service).endpoint);
}

bool HasLostItsSocket(const runtime::Locations& locations, std::string_view service) {
  const ReadyFile ready = ReadReadyFile(locations, service);
  return ready.pid != 0 && ready.pid == HolderOf(locations, service) && !IsServed(ready.endpoint);
}

std::string RuntimeDirectoryElsewhere(const runtime::Locations& locations) {
  for (const std::string_view service : kServices) {
    const pid_t holder = HolderOfState(locations, service);
    if (holder == 0 || HolderOf(locations, service) != 0) continue;
    const auto place = PlaceOf(holder, service, locations.state_directory);
    if (place.ok() && place->directory != locations.runtime_directory) return place->directory;
  }
  return "";
}

absl::Status CheckNotElsewhere(const Context& context) {
  const std::string elsewhere = RuntimeDirectoryElsewhere(context.locations);
  if (elsewhere.empty()) return absl::OkStatus();
  const bool named =
      std::any_of(context.environment.begin(), context.environment.end(),
                  [](const std::string& entry) { return entry.starts_with("YARD_REGISTRY="); });
  return absl::FailedPreconditionError(absl::StrCat(
      "the services of ", context.locations.state_directory, " have their sockets in ", elsewhere,
      ", not in ", context.locations.runtime_directory, ", which is this shell's; next: ",
      CommandToUse(elsewhere, named ? "YARD_REGISTRY" : "XDG_RUNTIME_DIR")));
}

}  // namespace yard
