#include "launcher/job/probe_record.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/job/probe_address.h"
#include "launcher/wire/record.h"

namespace launcher {
namespace {

constexpr std::uint32_t kLongestMs = 24 * 3'600'000;
constexpr std::uint32_t kShortestPeriodMs = 100;
constexpr std::uint32_t kMostFailures = 1'000'000;

}  // namespace

std::string WrongProbe(const msg::ProbeT& probe) {
  const int ways = (probe.argv.empty() ? 0 : 1) + (probe.tcp.empty() ? 0 : 1) +
                   (probe.http.empty() ? 0 : 1) + (probe.heartbeat ? 1 : 0);
  if (ways != 1) return "it has to have one of argv, tcp, http and heartbeat";
  if (!probe.argv.empty() && probe.argv[0].empty()) return "there is no program";
  for (const std::string& word : probe.argv) {
    if (word.find('\0') != word.npos) return "an argument holds a NUL byte";
  }
  if (auto where = ParseProbeAddress(probe); !where.ok()) {
    return std::string(where.status().message());
  }
  for (const auto& [name, time] :
       {std::pair("period_ms", probe.period_ms), std::pair("timeout_ms", probe.timeout_ms),
        std::pair("start_delay_ms", probe.start_delay_ms)}) {
    if (time > kLongestMs) return absl::StrCat(name, ": ", time, " is more than a day");
  }
  if (probe.period_ms != 0 && probe.period_ms < kShortestPeriodMs) {
    return absl::StrCat("period_ms: ", probe.period_ms, " is less than ", kShortestPeriodMs);
  }
  if (probe.failures > kMostFailures) return "failures: at most a million";
  return "";
}

bool IsProbeOfItsHost(const msg::ProbeT& probe) { return probe.heartbeat || !probe.argv.empty(); }

std::string EncodeProbe(const msg::ProbeT& probe) {
  Record record("probe");
  record.AddAll("argv", probe.argv);
  record.AddNumber("heartbeat", probe.heartbeat ? 1 : 0);
  record.AddNumber("period_ms", probe.period_ms);
  record.AddNumber("timeout_ms", probe.timeout_ms);
  record.AddNumber("failures", probe.failures);
  record.AddNumber("start_delay_ms", probe.start_delay_ms);
  return record.Encode();
}

std::optional<msg::ProbeT> DecodeProbe(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "probe") return std::nullopt;
  const auto number = [&](std::string_view key) {
    return static_cast<std::uint32_t>(record->GetNumber(key));
  };
  msg::ProbeT probe;
  probe.argv = record->GetAll("argv");
  probe.heartbeat = record->GetNumber("heartbeat") != 0;
  probe.period_ms = number("period_ms");
  probe.timeout_ms = number("timeout_ms");
  probe.failures = number("failures");
  probe.start_delay_ms = number("start_delay_ms");
  if (!IsProbeOfItsHost(probe) || !WrongProbe(probe).empty()) return std::nullopt;
  return probe;
}

}  // namespace launcher
