#include "launcher/share/held_ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launcher/share/port_user.h"
#include "runtime/counted.h"

namespace launcher {
namespace {

constexpr int kFirstPort = 10000, kLastPort = 65535;
constexpr int kFewPorts = 1000;

bool SetOption(int socket, int level, int option, int value) {
  return setsockopt(socket, level, option, &value, sizeof(value)) == 0;
}

bool BindWildcard(int socket, int family, int port) {
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_any;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_ANY);
  v4.sin_port = v6.sin6_port;
  return family == AF_INET6 ? bind(socket, reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)) == 0
                            : bind(socket, reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)) == 0;
}

bool AllowOthers(int socket) {
  return SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1) &&
         SetOption(socket, SOL_SOCKET, SO_REUSEPORT, 1);
}

enum class Company { kAlone, kWithOthers };

// Returns a socket that is bound to the port, or an invalid one with errno set. With kAlone it
// succeeds only if no other socket is bound to the port, not even one that allows others. (That is
// why the options are set after bind(): set before, they would let us share the port with the
// holding socket of another launcher. A later bind() of a task is checked against the options at
// that time.)
runtime::UniqueFd BindFamily(int family, int port, Company company) {
  runtime::UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return {};
  if (family == AF_INET6 && !SetOption(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0)) return {};
  if (company == Company::kWithOthers && !AllowOthers(socket.get())) return {};
  if (!BindWildcard(socket.get(), family, port)) {
    const int error = errno;
    socket.reset();
    errno = error;
    return {};
  }
  if (company == Company::kAlone && !AllowOthers(socket.get())) return {};
  return socket;
}

runtime::UniqueFd Bind(int port, Company company) {
  auto socket = BindFamily(AF_INET6, port, company);
  if (socket.valid()) return socket;
  const bool no_ipv6 = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
  return no_ipv6 ? BindFamily(AF_INET, port, company) : runtime::UniqueFd();
}

std::string EphemeralRange() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Describe(const std::vector<HeldPorts::Range>& ranges) {
  return absl::StrJoin(ranges, ", ", [](std::string* to, const HeldPorts::Range& range) {
    absl::StrAppend(to, range.first, "-", range.last);
  });
}

}  // namespace

HeldPorts::HeldPorts(Options options) : ranges_(std::move(options.ranges)) {
  if (ranges_.empty()) ranges_ = FreeRanges(EphemeralRange());
  for (const Range& range : ranges_) {
    places_ += static_cast<std::uint64_t>(std::max(0, range.last - range.first + 1));
  }
  if (places_ != 0) next_ = options.start % places_;
}

std::vector<HeldPorts::Range> HeldPorts::FreeRanges(std::string_view ephemeral) {
  std::istringstream text{std::string(ephemeral)};
  int low = 0, high = -1;
  if (!(text >> low >> high) || low > high) return {{kFirstPort, kLastPort}};
  std::vector<Range> ranges;
  int count = 0;
  for (const Range range : {Range{kFirstPort, std::min(low - 1, kLastPort)},
                            Range{std::max(high + 1, kFirstPort), kLastPort}}) {
    if (range.first > range.last) continue;
    ranges.push_back(range);
    count += range.last - range.first + 1;
  }
  if (count < kFewPorts) return {{kFirstPort, kLastPort}};
  return ranges;
}

int HeldPorts::At(std::uint64_t place) const {
  for (const Range& range : ranges_) {
    const auto size = static_cast<std::uint64_t>(std::max(0, range.last - range.first + 1));
    if (place < size) return range.first + static_cast<int>(place);
    place -= size;
  }
  return 0;
}

absl::StatusOr<std::vector<int>> HeldPorts::Take(const std::string& job, int count) {
  std::vector<int> taken;
  const auto wanted = static_cast<std::size_t>(std::max(count, 0));
  const auto give_back = [&](const std::string& why) {
    for (const int port : taken) Release(job, port);
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot take ", runtime::Counted(wanted, "port"), " of ", Describe(ranges_), ": ", why));
  };
  for (std::uint64_t tried = 0; taken.size() < wanted; ++tried) {
    if (tried == places_) {
      return give_back(absl::StrCat("only ", taken.size(), taken.size() == 1 ? " is" : " are",
                                    " free, jobs have ", ports_.size() - taken.size()));
    }
    const int port = At(next_);
    next_ = (next_ + 1) % places_;
    if (ports_.contains(port)) continue;
    auto socket = Bind(port, Company::kAlone);
    if (!socket.valid()) {
      if (errno == EADDRINUSE || errno == EACCES) continue;
      return give_back(std::generic_category().message(errno));
    }
    ports_[port] = {job, std::move(socket)};
    taken.push_back(port);
  }
  return taken;
}

absl::Status HeldPorts::TakeUp(const std::string& job, int port) {
  if (port < 1 || port > kLastPort) {
    return absl::InvalidArgumentError(absl::StrCat(port, " is no port"));
  }
  auto& [owner, socket] = ports_.try_emplace(port, Port{job, {}}).first->second;
  if (owner != job) {
    return absl::FailedPreconditionError(absl::StrCat("port ", port, " belongs to job ", owner));
  }
  if (socket.valid()) return absl::OkStatus();
  socket = Bind(port, Company::kWithOthers);
  if (socket.valid()) return absl::OkStatus();
  const int error = errno;
  const std::string what = absl::StrCat("cannot hold port ", port, ": ");
  if (error != EADDRINUSE) {
    return absl::UnavailableError(absl::StrCat(what, std::generic_category().message(error)));
  }
  const std::string user = PortUser(port);
  return absl::AlreadyExistsError(absl::StrCat(what, user.empty() ? "somebody" : user, " uses it"));
}

void HeldPorts::LetGo(const std::string& job, int port) {
  const auto found = ports_.find(port);
  if (found != ports_.end() && found->second.job == job) found->second.socket.reset();
}

void HeldPorts::Release(const std::string& job, int port) {
  const auto found = ports_.find(port);
  if (found != ports_.end() && found->second.job == job) ports_.erase(found);
}

bool HeldPorts::IsHeld(int port) const {
  const auto found = ports_.find(port);
  return found != ports_.end() && found->second.socket.valid();
}

}  // namespace launcher
