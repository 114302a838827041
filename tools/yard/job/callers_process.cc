#include "tools/yard/job/callers_process.h"

#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"

namespace yard {
namespace {

constexpr std::pair<const char*, int> kLimits[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK}};

std::uint64_t Value(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max() : limit;
}

}  // namespace

msg::CallersProcessT CallersProcess() {
  msg::CallersProcessT process;
  process.umask = 0022;
  process.nice = getpriority(PRIO_PROCESS, 0);
  // umask(2) cannot read the mask without changing it.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    const std::string key = line.substr(0, line.find(':'));
    const std::string value(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
    if (key == "Umask") {
      process.umask = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 8));
    }
    if (key == "Cpus_allowed_list") process.cpus = value;
  }
  for (const auto& [name, number] : kLimits) {
    rlimit limit = {};
    if (getrlimit(static_cast<__rlimit_resource>(number), &limit) != 0) continue;
    auto known = std::make_unique<msg::ProcessLimitT>();
    known->name = name;
    known->soft = Value(limit.rlim_cur);
    known->hard = Value(limit.rlim_max);
    process.limits.push_back(std::move(known));
  }
  return process;
}

}  // namespace yard
