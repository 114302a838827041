#include "launcher/job/job_spec_record.h"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bus/call/stored_table.h"
#include "launcher/job/probe_record.h"
#include "launcher/wire/record.h"

namespace launcher {
namespace {

constexpr char kIdentifier[] = "YJOB";
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxTaskType = 32;
// With smaller files, rotation would cost more than the writes.
constexpr std::uint64_t kLeastRotateBytes = 64 * 1024;
constexpr std::uint64_t kLongestTimeMs = 100ull * 365 * 86'400'000;

bool IsTaskType(std::string_view type) {
  return type.size() <= kMaxTaskType && std::all_of(type.begin(), type.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
         });
}

bool IsName(std::string_view name) {
  return name.size() <= kMaxName && !name.starts_with('-') &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

absl::Status CheckStrings(const msg::JobSpecT& spec) {
  for (const auto& argument : spec.argv) {
    if (HasNul(argument)) return absl::InvalidArgumentError("argv: an argument holds a NUL byte");
  }
  for (const auto& entry : spec.environment) {
    const auto equals = entry.find('=');
    if (HasNul(entry) || equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError("environment: an entry is not NAME=value");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReportChannel(const msg::ReportChannelT& channel) {
  if (channel.socket.empty() || channel.socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("report_channel: \"", channel.socket, "\" cannot be a unix socket's path"));
  }
  if (channel.nonce.empty() || channel.nonce.find_first_of(" \n") != std::string::npos) {
    return absl::InvalidArgumentError("report_channel: the nonce must be one word");
  }
  return absl::OkStatus();
}

// Decodes the format of versions in which a job had one task.
msg::JobSpecT OfRecord(const Record& record) {
  msg::JobSpecT spec;
  spec.name = record.Get("name");
  spec.task_type = record.Get("task_type");
  spec.task_index = static_cast<std::uint32_t>(record.GetNumber("task_index"));
  spec.argv = record.GetAll("argv");
  spec.environment = record.GetAll("env");
  spec.working_directory = record.Get("cwd");
  spec.restart = static_cast<msg::RestartPolicy>(record.GetNumber("restart"));
  spec.max_restarts = static_cast<std::uint32_t>(record.GetNumber("max_restarts"));
  spec.stop_signal = static_cast<std::int32_t>(record.GetNumber("stop_signal"));
  spec.stop_grace_ms = static_cast<std::uint32_t>(record.GetNumber("stop_grace_ms"));
  spec.log_directory = record.Get("log_directory");
  spec.log_limit_bytes = static_cast<std::uint64_t>(record.GetNumber("log_limit_bytes"));
  if (record.Has("report_socket")) {
    spec.report_channel = std::make_unique<msg::ReportChannelT>();
    spec.report_channel->socket = record.Get("report_socket");
    spec.report_channel->nonce = record.Get("report_nonce");
  }
  const auto keys = record.GetAll("label_key");
  const auto values = record.GetAll("label_value");
  for (std::size_t i = 0; i < std::min(keys.size(), values.size()); ++i) {
    spec.labels.push_back(std::make_unique<msg::KeyValueT>());
    spec.labels.back()->key = keys[i];
    spec.labels.back()->value = values[i];
  }
  return spec;
}

constexpr std::uint32_t kLongestDelayMs = 24 * 3'600'000;
constexpr std::size_t kMostAfter = 100;
constexpr std::size_t kMaxApplied = 2 << 20;

bool IsSha256(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// True for a relative path without "..", which stays below its directory.
bool IsBelow(const std::string& path) {
  return !path.starts_with('/') && !HasNul(path) &&
         absl::StrCat("/", path, "/").find("/../") == std::string::npos;
}

absl::Status CheckPool(const msg::JobSpecT& spec) {
  if (HasNul(spec.pool)) return absl::InvalidArgumentError("pool: holds a NUL byte");
  if (spec.work == nullptr) return absl::OkStatus();
  if (spec.pool.empty()) return absl::InvalidArgumentError("work: only a job with a pool has some");
  if (!IsSha256(spec.work->sha256)) {
    return absl::InvalidArgumentError("work: sha256 is not 64 of 0-9 and a-f");
  }
  if (!IsBelow(spec.work->subdirectory)) {
    return absl::InvalidArgumentError("work: subdirectory is not a path below the archive");
  }
  return absl::OkStatus();
}

absl::Status CheckKept(const msg::JobSpecT& spec) {
  std::vector<std::pair<std::string, const msg::ProbeT*>> probes = {
      {"liveness", spec.liveness.get()}};
  for (const auto& group : spec.groups) {
    probes.emplace_back(absl::StrCat("groups: ", group->type, ": liveness"), group->liveness.get());
  }
  for (const auto& [name, probe] : probes) {
    const std::string wrong = probe == nullptr ? "" : WrongProbe(*probe);
    if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", wrong));
  }
  if (spec.restart_delay_ms > kLongestDelayMs || spec.restart_delay_limit_ms > kLongestDelayMs) {
    return absl::InvalidArgumentError("restart_delay_ms, restart_delay_limit_ms: at most a day");
  }
  if (spec.restart_delay_limit_ms != 0 && spec.restart_delay_limit_ms < spec.restart_delay_ms) {
    return absl::InvalidArgumentError("restart_delay_limit_ms: less than restart_delay_ms");
  }
  if (spec.after.size() > kMostAfter) {
    return absl::InvalidArgumentError(absl::StrCat("after: at most ", kMostAfter, " jobs"));
  }
  for (const auto& after : spec.after) {
    if (after->job.empty() || !IsName(after->job) || after->milestone > msg::Milestone::MAX) {
      return absl::InvalidArgumentError("after: no name of a job, or an unknown milestone");
    }
  }
  if (spec.autostart && spec.daemon) {
    return absl::InvalidArgumentError(
        "autostart and daemon: a job that ends with its launcher cannot come back with it");
  }
  if (spec.applied.size() > kMaxApplied) {
    return absl::InvalidArgumentError(absl::StrCat("applied: more than ", kMaxApplied, " bytes"));
  }
  if (!spec.applied_from.empty() &&
      (!spec.applied_from.starts_with('/') || HasNul(spec.applied_from))) {
    return absl::InvalidArgumentError("applied_from: not an absolute path");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeJobSpec(const msg::JobSpecT& spec) {
  return bus::EncodeStored<msg::JobSpec>(spec, kIdentifier);
}

std::optional<msg::JobSpecT> DecodeJobSpec(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (record) return record->kind() == "job" ? std::optional(OfRecord(*record)) : std::nullopt;
  auto spec = bus::DecodeStored<msg::JobSpec>(bytes, kIdentifier);
  return spec == nullptr ? std::nullopt : std::optional(std::move(*spec));
}

absl::Status CheckJobSpec(const msg::JobSpecT& spec) {
  // (Groups may have programs of their own, which CheckCluster() validates.)
  if (spec.groups.empty() && (spec.argv.empty() || spec.argv[0].empty())) {
    return absl::InvalidArgumentError("argv: there is no program");
  }
  if (!spec.working_directory.starts_with('/') || HasNul(spec.working_directory)) {
    return absl::InvalidArgumentError("working_directory: not an absolute path");
  }
  if (!spec.log_directory.empty() &&
      (!spec.log_directory.starts_with('/') || HasNul(spec.log_directory))) {
    return absl::InvalidArgumentError("log_directory: not an absolute path");
  }
  if (!IsTaskType(spec.task_type)) {
    return absl::InvalidArgumentError(
        "task_type: at most 32 letters, digits, underscores and dashes");
  }
  if (!IsName(spec.name)) {
    return absl::InvalidArgumentError(
        "name: at most 128 bytes, no control characters, no - in front");
  }
  if (spec.stop_signal < 0 || spec.stop_signal > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("stop_signal: ", spec.stop_signal, " is no signal"));
  }
  if (spec.restart > msg::RestartPolicy::MAX) {
    return absl::InvalidArgumentError("restart: an unknown policy");
  }
  for (const auto& [name, time] : {std::pair("max_run_time_ms", spec.max_run_time_ms),
                                   std::pair("restart_window_ms", spec.restart_window_ms)}) {
    if (time <= kLongestTimeMs) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", time, " is more than a hundred years (0: no limit)"));
  }
  if (spec.log_rotate_bytes != 0 && spec.log_rotate_bytes < kLeastRotateBytes) {
    return absl::InvalidArgumentError(absl::StrCat("log_rotate_bytes: ", spec.log_rotate_bytes,
                                                   " is less than ", kLeastRotateBytes,
                                                   " (0: never)"));
  }
  if (auto status = CheckStrings(spec); !status.ok()) return status;
  if (auto status = CheckKept(spec); !status.ok()) return status;
  if (auto status = CheckPool(spec); !status.ok()) return status;
  return spec.report_channel == nullptr ? absl::OkStatus()
                                        : CheckReportChannel(*spec.report_channel);
}

std::vector<std::string> CleanEnvironment(const std::vector<std::string>& environment) {
  static constexpr std::array<std::string_view, 2> kNames = {"YARD_FD=", "YARD_SOCKET="};
  std::vector<std::string> clean;
  clean.reserve(environment.size());
  for (const auto& entry : environment) {
    const auto starts = [&](std::string_view text) { return entry.starts_with(text); };
    if (std::any_of(kNames.begin(), kNames.end(), starts)) continue;
    clean.push_back(entry);
  }
  return clean;
}

}  // namespace launcher
