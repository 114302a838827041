#include "tools/yard/job/job_json.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tools/yard/text/quantities.h"

namespace yard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr char kHidden[] = "<hidden>";

std::string Time(std::uint64_t milliseconds) {
  return FormatTime(absl::Milliseconds(static_cast<std::int64_t>(milliseconds)));
}

// Omits empty values.
void Put(Json* json, const char* key, const std::string& value) {
  if (!value.empty()) (*json)[key] = value;
}
void Put(Json* json, const char* key, const std::vector<std::string>& values) {
  if (!values.empty()) (*json)[key] = values;
}
void Put(Json* json, const char* key, bool value) {
  if (value) (*json)[key] = true;
}
void PutNumber(Json* json, const char* key, std::uint64_t value) {
  if (value != 0) (*json)[key] = value;
}
void PutTime(Json* json, const char* key, std::uint64_t milliseconds) {
  if (milliseconds != 0) (*json)[key] = Time(milliseconds);
}
void PutSize(Json* json, const char* key, std::uint64_t bytes) {
  if (bytes != 0) (*json)[key] = FormatSize(bytes);
}

void PutEnvironment(Json* json, const std::vector<std::string>& environment, Secrets secrets) {
  for (const std::string& assignment : environment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) continue;
    (*json)["environment"][assignment.substr(0, equals)] =
        secrets == Secrets::kHidden ? kHidden : assignment.substr(equals + 1);
  }
}

const char* MilestoneName(msg::Milestone milestone) {
  switch (milestone) {
    case msg::Milestone::Started:
      return "started";
    case msg::Milestone::Ready:
      return "ready";
    case msg::Milestone::Completed:
      return "completed";
  }
  return "";
}

std::string LimitText(std::uint64_t value) {
  return value == kUnlimited ? "unlimited" : absl::StrCat(value);
}

void PutProbe(Json* json, const msg::ProbeT* probe) {
  if (probe == nullptr) return;
  Json liveness = Json::object();
  Put(&liveness, "command", probe->argv);
  Put(&liveness, "tcp", probe->tcp);
  Put(&liveness, "http", probe->http);
  Put(&liveness, "heartbeat", probe->heartbeat);
  PutTime(&liveness, "period", probe->period_ms);
  PutTime(&liveness, "timeout", probe->timeout_ms);
  PutNumber(&liveness, "failures", probe->failures);
  PutTime(&liveness, "start_delay", probe->start_delay_ms);
  (*json)["liveness"] = std::move(liveness);
}

Json GroupToJson(const msg::TaskGroupT& group, Secrets secrets) {
  Json json = Json::object();
  json["count"] = group.count;
  Put(&json, "addresses", group.addresses);
  Put(&json, "command", group.argv);
  Put(&json, "cwd", group.working_directory);
  PutEnvironment(&json, group.environment, secrets);
  for (const auto& after : group.start_after) {
    json["start_after"][after->type] = MilestoneName(after->milestone);
  }
  Put(&json, "ready_pattern", group.ready_pattern);
  PutNumber(&json, "ready_fd", group.ready_fd);
  PutProbe(&json, group.liveness.get());
  PutResources(group.resources, group.process_limits, group.control_limits.get(), &json);
  return json;
}

void PutRestarts(Json* json, const msg::JobSpecT& spec) {
  if (spec.restart != msg::RestartPolicy::Never) {
    (*json)["restart"] = spec.restart == msg::RestartPolicy::Always ? "always" : "on-failure";
  }
  PutNumber(json, "max_restarts", spec.max_restarts);
  PutTime(json, "restart_window", spec.restart_window_ms);
  PutTime(json, "restart_delay", spec.restart_delay_ms);
  PutTime(json, "restart_delay_limit", spec.restart_delay_limit_ms);
  Put(json, "gang", spec.gang);
}

}  // namespace

Json JobToJson(const msg::JobSpecT& spec, Secrets secrets) {
  Json json = Json::object();
  Put(&json, "name", spec.name);
  Put(&json, "command", spec.argv);
  Put(&json, "cwd", spec.working_directory);
  for (const auto& group : spec.groups) json["tasks"][group->type] = GroupToJson(*group, secrets);
  Put(&json, "rpc_layer", spec.rpc_layer);
  Put(&json, "grpc_fail_fast", spec.grpc_fail_fast);
  PutTime(&json, "max_run_time", spec.max_run_time_ms);
  if (spec.stop_signal != 0) json["stop_signal"] = SignalName(spec.stop_signal);
  PutTime(&json, "stop_grace", spec.stop_grace_ms);
  PutRestarts(&json, spec);
  PutProbe(&json, spec.liveness.get());
  for (const auto& after : spec.after) json["after"][after->job] = MilestoneName(after->milestone);
  Put(&json, "autostart", spec.autostart);
  Put(&json, "ignore_chief", spec.ignore_chief);
  Put(&json, "keep_going", spec.keep_going);
  Put(&json, "daemon", spec.daemon);
  if (spec.release_ports) json["hold_ports"] = false;
  Put(&json, "share_gpu", spec.share_sets);
  Put(&json, "log_directory", spec.log_directory);
  PutSize(&json, "log_limit", spec.log_limit_bytes);
  PutSize(&json, "log_rotate_size", spec.log_rotate_bytes);
  PutNumber(&json, "log_rotate_files", spec.log_rotate_files);
  Put(&json, "own_namespace", spec.own_namespace);
  Put(&json, "at", spec.pool);
  for (const auto& label : spec.labels) json["labels"][label->key] = label->value;
  PutEnvironment(&json, spec.environment, secrets);
  return json;
}

void PutResources(const std::vector<std::unique_ptr<msg::ResourceRequestT>>& resources,
                  const std::vector<std::unique_ptr<msg::ProcessLimitT>>& limits,
                  const msg::ControlLimitsT* control, Json* json) {
  for (const auto& request : resources) (*json)["resources"][request->name] = request->amount;
  for (const auto& limit : limits) {
    (*json)["limits"][limit->name] =
        limit->soft == limit->hard
            ? LimitText(limit->soft)
            : absl::StrCat(LimitText(limit->soft), ":", LimitText(limit->hard));
  }
  if (control == nullptr) return;
  PutSize(json, "memory", control->memory_bytes);
  if (control->milli_cpus != 0) (*json)["cpus"] = control->milli_cpus / 1000.0;
  PutNumber(json, "processes", control->processes);
}

}  // namespace yard
