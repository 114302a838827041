#include "launcher/wire/process_limit.h"

#include <sys/resource.h>

#include <array>
#include <charconv>

namespace launcher {
namespace {

struct Known {
  std::string_view name;
  int resource;
};
constexpr std::array<Known, 16> kKnown = {{{"as", RLIMIT_AS},
                                           {"core", RLIMIT_CORE},
                                           {"cpu", RLIMIT_CPU},
                                           {"data", RLIMIT_DATA},
                                           {"fsize", RLIMIT_FSIZE},
                                           {"locks", RLIMIT_LOCKS},
                                           {"memlock", RLIMIT_MEMLOCK},
                                           {"msgqueue", RLIMIT_MSGQUEUE},
                                           {"nice", RLIMIT_NICE},
                                           {"nofile", RLIMIT_NOFILE},
                                           {"nproc", RLIMIT_NPROC},
                                           {"rss", RLIMIT_RSS},
                                           {"rtprio", RLIMIT_RTPRIO},
                                           {"rttime", RLIMIT_RTTIME},
                                           {"sigpending", RLIMIT_SIGPENDING},
                                           {"stack", RLIMIT_STACK}}};
constexpr std::string_view kWord = "unlimited";

std::string Show(std::uint64_t value) {
  return value == ProcessLimit::kUnlimited ? std::string(kWord) : std::to_string(value);
}

std::optional<std::uint64_t> Value(std::string_view text) {
  if (text == kWord) return ProcessLimit::kUnlimited;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string ProcessLimit::ToString() const { return name + "=" + Show(soft) + ":" + Show(hard); }

std::optional<ProcessLimit> ProcessLimit::Parse(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto values = text.substr(equals + 1);
  const auto colon = values.find(':');
  const auto soft = Value(values.substr(0, colon));
  const auto hard = colon == std::string_view::npos ? soft : Value(values.substr(colon + 1));
  if (!soft || !hard) return std::nullopt;
  return ProcessLimit{std::string(text.substr(0, equals)), *soft, *hard};
}

int ProcessLimit::resource() const {
  for (const Known& known : kKnown) {
    if (known.name == name) return known.resource;
  }
  return -1;
}

std::vector<std::string_view> ProcessLimit::Names() {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

}  // namespace launcher
