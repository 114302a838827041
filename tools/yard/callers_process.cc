#include "tools/yard/callers_process.h"

#include <sys/resource.h>

#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace yard {
namespace {

constexpr std::pair<const char*, int> kLimits[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK}};

std::string Value(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::string("unlimited") : absl::StrCat(limit);
}

}  // namespace

std::string CallersProcess() {
  // umask(2) cannot tell it without setting it.
  std::string mask = "22", cpus;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    const std::string key = line.substr(0, line.find(':'));
    const std::string value(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
    if (key == "Umask") mask = value;
    if (key == "Cpus_allowed_list") cpus = value;
  }
  std::string text = absl::StrCat("YARD_CALLER=umask=", mask,
                                  ";nice=", getpriority(PRIO_PROCESS, 0), ";cpus=", cpus);
  for (const auto& [name, number] : kLimits) {
    rlimit limit = {};
    if (getrlimit(static_cast<__rlimit_resource>(number), &limit) != 0) continue;
    absl::StrAppend(&text, ";", name, "=", Value(limit.rlim_cur), ":", Value(limit.rlim_max));
  }
  return text;
}

}  // namespace yard
