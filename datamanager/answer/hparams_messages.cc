#include "datamanager/answer/hparams_messages.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datamanager/brief/run_parameters.h"
#include "eventlog/hparams_content.h"
#include "nlohmann/json.hpp"
#include "runtime/text/json_number.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using eventlog::HParamsContent;
using nlohmann::json;
using Pairs = std::vector<std::unique_ptr<msg::KeyValueT>>;

void Add(std::string key, std::string value, Pairs* pairs) {
  auto pair = std::make_unique<msg::KeyValueT>();
  pair->key = std::move(key);
  pair->value = std::move(value);
  pairs->push_back(std::move(pair));
}

// Formats a number like protobuf's JSON, where a number that is not finite is a string.
std::string NumberAsJson(double number) {
  if (!std::isfinite(number)) {
    return absl::StrCat("\"", runtime::Absl(runtime::NotFiniteWord(number)), "\"");
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

// Converts seconds since 1970; returns 0 for a time beyond +-200,000 years.
std::int64_t Microseconds(double seconds) {
  return std::abs(seconds) < 6e12 ? static_cast<std::int64_t>(seconds * 1e6) : 0;
}

const char* StatusName(HParamsContent::Status status) {
  switch (status) {
    case HParamsContent::Status::kSuccess:
      return "success";
    case HParamsContent::Status::kFailure:
      return "failure";
    case HParamsContent::Status::kRunning:
      return "running";
    case HParamsContent::Status::kUnknown:
      break;
  }
  return "unknown";
}

void TakeStart(std::string_view content, msg::RunHParamsT* message) {
  const auto start = eventlog::ReadHParamsContent(content);
  if (!start.ok() || start->kind != HParamsContent::Kind::kSessionStart) return;
  message->group = runtime::LossyUtf8(start->group_name);
  message->model_uri = runtime::LossyUtf8(start->model_uri);
  message->monitor_url = runtime::LossyUtf8(start->monitor_url);
  message->start_us = Microseconds(start->start_time);
}

void TakeEnd(std::string_view content, msg::RunHParamsT* message) {
  const auto end = eventlog::ReadHParamsContent(content);
  if (!end.ok() || end->kind != HParamsContent::Kind::kSessionEnd) return;
  message->status = StatusName(end->status);
  message->end_us = Microseconds(end->end_time);
}

void TakeParameters(const HParamsSources& sources, msg::RunHParamsT* message) {
  const std::span<const ConfigFacts> all[] = {sources.config, sources.plugin};
  for (const ConfigFacts& fact : MergeParameters(all)) {
    Add(std::string(fact.name), ParameterAsJson(fact), &message->hparams);
  }
  if (!sources.config.empty()) {
    message->source = sources.of_lineage ? "lineage" : "trial";
  } else if (!sources.plugin.empty()) {
    message->source = "hparams";
  }
}

}  // namespace

msg::RunHParamsT HParamsMessage(const HParamsSources& sources) {
  msg::RunHParamsT message;
  if (!sources.session_start.empty()) TakeStart(sources.session_start, &message);
  if (!sources.session_end.empty()) TakeEnd(sources.session_end, &message);
  message.experiment.assign(sources.experiment.begin(), sources.experiment.end());
  TakeParameters(sources, &message);
  if (message.group.empty()) message.group = runtime::LossyUtf8(sources.group);
  for (const TagFacts& tag : sources.tags) {
    // (A machine's resource usage is not a result of the trial.)
    if (!tag.scalar || tag.name.starts_with("sys/")) continue;
    if (message.metrics.size() == kMaxMetrics) break;
    Add(runtime::LossyUtf8(tag.name), NumberAsJson(tag.last), &message.metrics);
  }
  return message;
}

}  // namespace datamanager
