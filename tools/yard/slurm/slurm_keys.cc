#include "tools/yard/slurm/slurm_keys.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/text/quantities.h"

namespace yard {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

absl::Status Expected(const std::string& key, std::string_view form, const std::string& value) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": expected ", runtime::Absl(form),
                                                 ", not \"", runtime::Printable(value), "\""));
}

// Parses "8:00:00", "1-12" or "1-12:30:00", Slurm's time formats. Returns nothing for other forms.
std::optional<absl::Duration> ParseSlurmTime(const std::string& text) {
  std::string rest = text;
  std::uint32_t days = 0;
  const std::size_t dash = rest.find('-');
  const bool has_days = dash != std::string::npos;
  if (has_days) {
    if (!absl::SimpleAtoi(rest.substr(0, dash), &days)) return std::nullopt;
    rest = rest.substr(dash + 1);
  }
  const std::vector<std::string> parts = absl::StrSplit(rest, ':');
  if (parts.size() > 3 || (!has_days && parts.size() != 3)) return std::nullopt;
  absl::Duration time = absl::Hours(24) * days;
  const std::array<absl::Duration, 3> units = {absl::Hours(1), absl::Minutes(1), absl::Seconds(1)};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::uint32_t number = 0;
    if (parts[i].empty() || parts[i].size() > 6 || !absl::SimpleAtoi(parts[i], &number)) {
      return std::nullopt;
    }
    time += units[i] * number;
  }
  return time;
}

bool IsBareNumber(const std::string& text) {
  double number = 0;
  return absl::SimpleAtod(text, &number);
}

absl::Status SetTime(const std::string& key, const std::string& value, SlurmPool* pool) {
  auto time = ParseSlurmTime(value);
  // A bare number is ambiguous (minutes for Slurm, seconds for the yard), so it is refused.
  if (!time && !IsBareNumber(value)) time = ParseTime(value);
  const std::int64_t minutes = time ? absl::ToInt64Minutes(absl::Ceil(*time, absl::Minutes(1))) : 0;
  if (minutes < 1 || minutes > std::numeric_limits<std::uint32_t>::max()) {
    return Expected(key, "a time like 8h, 90m, 8:00:00 or 1-12:00:00", value);
  }
  pool->time_minutes = static_cast<std::uint32_t>(minutes);
  return absl::OkStatus();
}

template <std::uint32_t SlurmPool::*field>
absl::Status SetSeconds(const std::string& key, const std::string& value, SlurmPool* pool) {
  const auto time = ParseTime(value);
  const std::int64_t seconds =
      time ? absl::ToInt64Seconds(absl::Ceil(*time, absl::Seconds(1))) : -1;
  if (seconds < 0 || seconds > std::numeric_limits<std::uint32_t>::max()) {
    return Expected(key, kTimeForm, value);
  }
  pool->*field = static_cast<std::uint32_t>(seconds);
  return absl::OkStatus();
}

template <std::uint32_t SlurmPool::*field>
absl::Status SetNumber(const std::string& key, const std::string& value, SlurmPool* pool) {
  std::uint32_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number == 0) {
    return Expected(key, "a number from 1", value);
  }
  pool->*field = number;
  return absl::OkStatus();
}

template <std::string SlurmPool::*field>
absl::Status SetWord(const std::string& key, const std::string& value, SlurmPool* pool) {
  if (value.empty() || value.starts_with('-')) return Expected(key, "a word for sbatch", value);
  pool->*field = value;
  return absl::OkStatus();
}

absl::Status SetMemory(const std::string& key, const std::string& value, SlurmPool* pool) {
  const auto bytes = ParseSize(value);
  if (!bytes || *bytes == 0 || IsBareNumber(value)) {
    return Expected(key, "a size like 4GiB or 500MiB", value);
  }
  pool->memory_mib = (*bytes + kMib - 1) / kMib;
  return absl::OkStatus();
}

// Splits "n1,n[2-3,5]" at commas outside of brackets.
absl::Status SetExclude(const std::string& key, const std::string& value, SlurmPool* pool) {
  std::vector<std::string> nodes(1);
  int depth = 0;
  for (const char c : value) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      nodes.emplace_back();
    } else {
      nodes.back() += c;
    }
  }
  for (const std::string& node : nodes) {
    if (node.empty() || node.starts_with('-')) return Expected(key, "nodes like n1,n[2-3]", value);
  }
  pool->exclude = std::move(nodes);
  return absl::OkStatus();
}

absl::Status SetSbatch(const std::string&, const std::string& value, SlurmPool* pool) {
  pool->sbatch_words = absl::StrSplit(value, ' ', absl::SkipEmpty());
  return absl::OkStatus();
}

absl::Status SetGate(const std::string& key, const std::string& value, SlurmPool* pool) {
  const std::vector<std::string> addresses = absl::StrSplit(value, ',', absl::SkipEmpty());
  const bool is_good = !addresses.empty() &&
                       std::all_of(addresses.begin(), addresses.end(), [](const auto& address) {
                         return address.starts_with("tcp://") && address.rfind(':') > 5;
                       });
  if (!is_good) return Expected(key, "addresses like tcp://login1:7711,tcp://10.0.0.1:7711", value);
  pool->gate = addresses;
  return absl::OkStatus();
}

struct Entry {
  SlurmKey key;
  absl::Status (*set)(const std::string& key, const std::string& value, SlurmPool* pool);
};

const std::vector<Entry>& Entries() {
  static const auto* const entries = new std::vector<Entry>{
      {{"nodes", "number", "Nodes of the allocation: 1, or as many as the tasks of the job need."},
       SetNumber<&SlurmPool::nodes>},
      {{"time", "time", "Its time limit: 8h, 8:00:00. Without it that of the partition."}, SetTime},
      {{"partition", "text", "sbatch --partition"}, SetWord<&SlurmPool::partition>},
      {{"account", "text", "sbatch --account"}, SetWord<&SlurmPool::account>},
      {{"qos", "text", "sbatch --qos"}, SetWord<&SlurmPool::qos>},
      {{"constraint", "text", "sbatch --constraint"}, SetWord<&SlurmPool::constraint>},
      {{"gpus", "text", "GPUs of each node: 2, a100:2."}, SetWord<&SlurmPool::gpus>},
      {{"cpus", "number", "Processors of each node."}, SetNumber<&SlurmPool::cpus>},
      {{"memory", "size", "Memory of each node: 4GiB."}, SetMemory},
      {{"exclude", "text", "Hosts that are not wanted: n1,n[2-3]."}, SetExclude},
      {{"sbatch", "text", "Further words for sbatch, separated by spaces."}, SetSbatch},
      {{"slots", "number", "Tasks at a time on each node. Without it as many as its processors."},
       SetNumber<&SlurmPool::slots>},
      {{"directory", "path",
        "A directory that this host and the nodes see, for the programs of a node. Without it "
        "~/.cache/trainyard/slurm."},
       SetWord<&SlurmPool::directory>},
      {{"gate", "text", "Addresses of the gate as the nodes reach it: tcp://HOST:PORT,..."},
       SetGate},
      {{"drain", "time",
        "So long before the end of its time no task starts, and running ones start elsewhere. "
        "Without it a tenth of the time, at most 5m."},
       SetSeconds<&SlurmPool::drain_seconds>},
      {{"idle", "time", "An allocation that no task uses is given back after that: 10m."},
       SetSeconds<&SlurmPool::idle_seconds>},
  };
  return *entries;
}

}  // namespace

const std::vector<SlurmKey>& SlurmKeys() {
  static const auto* const keys = [] {
    auto* const all = new std::vector<SlurmKey>;
    for (const Entry& entry : Entries()) all->push_back(entry.key);
    return all;
  }();
  return *keys;
}

absl::Status SetSlurmKey(const std::string& key, const std::string& value, SlurmPool* pool) {
  std::vector<std::string_view> names;
  for (const Entry& entry : Entries()) {
    if (entry.key.name == key) return entry.set(key, value, pool);
    names.push_back(entry.key.name);
  }
  const std::string_view nearest = runtime::NearestWord(key, names);
  return absl::InvalidArgumentError(absl::StrCat(
      runtime::Printable(key), ": there is no such key of slurm",
      nearest.empty() ? "" : absl::StrCat("; did you mean ", runtime::Absl(nearest), "?")));
}

absl::Status CheckSlurmValue(const std::string& key, const std::string& value) {
  SlurmPool scratch;
  return SetSlurmKey(key, value, &scratch);
}

absl::Status SetSlurmValues(const SlurmValues& values, std::string_view before, SlurmPool* pool) {
  for (const auto& [key, value] : values) {
    const absl::Status set = SetSlurmKey(key, value, pool);
    if (!set.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(runtime::Absl(before), set.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status AddSlurmAssignment(const std::string& assignment, SlurmValues* values) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--slurm: expected KEY=VALUE, not \"", runtime::Printable(assignment), "\""));
  }
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (const absl::Status good = CheckSlurmValue(key, value); !good.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--slurm: ", good.message()));
  }
  (*values)[key] = value;
  return absl::OkStatus();
}

std::size_t NodesForTasks(std::size_t tasks, const SlurmPool& pool) {
  const std::size_t slots = pool.slots > 0 ? pool.slots : std::max<std::size_t>(1, pool.cpus);
  return std::max<std::size_t>(1, (tasks + slots - 1) / slots);
}

}  // namespace yard
