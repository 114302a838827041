#include "tools/yard/services/gate_key.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/state/service_output.h"
#include "tools/yard/state/wanted.h"

namespace yard {
namespace {

constexpr absl::Duration kToStart = absl::Seconds(10);
constexpr char kPort[] = "7711";
constexpr char kAddress[] = "127.0.0.1";
constexpr std::size_t kMostAddresses = 16;

// Returns the value of a flag of the gate, from the settings of the running yard, else of the last
// one.
std::string GateFlag(const runtime::Locations& locations, const std::string& name,
                     const std::string& fallback) {
  std::optional<Wanted> wanted;
  if (auto noted = ReadWanted(locations); noted.ok()) wanted = *std::move(noted);
  if (!wanted) {
    if (auto last = ReadLastWanted(locations)) wanted = std::move(last->wanted);
  }
  if (!wanted) return fallback;
  std::string value = fallback;
  for (const std::string& flag : FlagsOf("gate", *wanted)) {
    const std::string start = "--" + name + "=";
    if (absl::StartsWith(flag, start)) value = flag.substr(start.size());
  }
  return value;
}

std::vector<std::string> ServedAddresses(const runtime::Locations& locations) {
  std::vector<std::string> addresses =
      absl::StrSplit(GateFlag(locations, "gate_address", kAddress), ',', absl::SkipEmpty());
  if (addresses.empty()) addresses.emplace_back(kAddress);
  return addresses;
}

bool IsEvery(const std::string& host) { return host == "0.0.0.0" || host == "::" || host == "*"; }

bool IsOfThisHost(const std::string& host) {
  return absl::StartsWith(host, "127.") || host == "::1" || host == "localhost";
}

std::string AddressOf(std::string host, const std::string& port) {
  if (absl::StrContains(host, ":") && !absl::StartsWith(host, "[")) {
    host = absl::StrCat("[", host, "]");
  }
  return absl::StrCat("tcp://", host, ":", port);
}

// Returns the addresses of all network interfaces that are up, without loopback and link-local
// ones.
std::vector<std::string> OwnAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool is_used = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_used || one->ifa_addr == nullptr) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET) {
      bytes = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      const auto* const six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      if (!IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) bytes = &six->sin6_addr;
    }
    if (bytes == nullptr || inet_ntop(family, bytes, text.data(), text.size()) == nullptr) continue;
    addresses.emplace_back(text.data());
  }
  return addresses;
}

}  // namespace

std::string OwnHostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "localhost";
}

std::string AddressOfGate(const runtime::Locations& locations) {
  const std::string host = ServedAddresses(locations).front();
  return AddressOf(IsEvery(host) ? OwnHostName() : host, GateFlag(locations, "gate_port", kPort));
}

absl::StatusOr<std::vector<std::string>> AddressesOfGate(const runtime::Locations& locations) {
  std::vector<std::string> hosts;
  const auto add = [&](const std::string& host) {
    const bool is_known = std::find(hosts.begin(), hosts.end(), host) != hosts.end();
    if (!is_known && hosts.size() < kMostAddresses) hosts.push_back(host);
  };
  for (const std::string& host : ServedAddresses(locations)) {
    if (IsOfThisHost(host)) continue;
    if (!IsEvery(host)) {
      add(host);
      continue;
    }
    const bool is_four_only = host == "0.0.0.0";
    add(OwnHostName());
    for (const std::string& own : OwnAddresses()) {
      if (!is_four_only || !absl::StrContains(own, ":")) add(own);
    }
  }
  if (hosts.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the gate serves on ", AddressOfGate(locations),
        ", where no other host reaches it; next: yard up --gate_address 0.0.0.0, or name the "
        "addresses of a tunnel with --gate"));
  }
  const std::string port = GateFlag(locations, "gate_port", kPort);
  for (std::string& host : hosts) host = AddressOf(std::move(host), port);
  return hosts;
}

absl::StatusOr<bus::CurvePair> EnsureGateKey(const Context& context, const bus::KeyFolder& folder) {
  const bool is_new = absl::IsNotFound(folder.ServerKey().status());
  auto key = folder.MakeServerKey();
  if (!key.ok() || !is_new) return key;
  if (const auto wanted = ReadWanted(context.locations); wanted.ok() && wanted->has_value()) {
    Awaited gate{.services = {"gate"}};
    gate.output_begins["gate"] = OutputEnd(context.locations, "gate");
    if (absl::Status written = WriteWanted(context.locations, **wanted); !written.ok()) {
      return written;
    }
    const absl::Status ready = WaitUntilReady(context, gate, kToStart, [](const auto&) {});
    if (!ready.ok()) return ready;
  }
  return key;
}

}  // namespace yard
