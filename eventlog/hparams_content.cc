#include "eventlog/hparams_content.h"

#include <utility>

#include "absl/status/status.h"
#include "eventlog/protobuf_json.h"
#include "eventlog/wire.h"
#include "protozero/types.hpp"

namespace eventlog {
namespace {

using wire::Error;
using Tag = protozero::pbf_tag_type;

enum class PluginField : Tag { kExperiment = 2, kSessionStart = 3, kSessionEnd = 4 };
enum class StartField : Tag {
  kHParams = 1,
  kModelUri = 2,
  kMonitorUrl = 3,
  kGroupName = 4,
  kStartTime = 5,
};
enum class EndField : Tag { kStatus = 1, kEndTime = 2 };
enum class EntryField : Tag { kKey = 1, kValue = 2 };

// The messages of TensorBoard's hparams/api.proto.
using Kind = JsonKind;

const JsonMessage& Interval() {
  static constexpr JsonField kFields[] = {{1, "min_value", Kind::kDouble},
                                          {2, "max_value", Kind::kDouble}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& HParamInfo() {
  static constexpr JsonField kFields[] = {
      {1, "name", Kind::kText},
      {2, "display_name", Kind::kText},
      {3, "description", Kind::kText},
      {4, "type", Kind::kInteger},
      {5, "domain_discrete", Kind::kListValue},
      {6, "domain_interval", Kind::kMessage, false, &Interval},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MetricName() {
  static constexpr JsonField kFields[] = {{1, "group", Kind::kText}, {2, "tag", Kind::kText}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MetricInfo() {
  static constexpr JsonField kFields[] = {
      {1, "name", Kind::kMessage, false, &MetricName},
      {3, "display_name", Kind::kText},
      {4, "description", Kind::kText},
      {5, "dataset_type", Kind::kInteger},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Experiment() {
  static constexpr JsonField kFields[] = {
      {6, "name", Kind::kText},
      {1, "description", Kind::kText},
      {2, "user", Kind::kText},
      {3, "time_created_secs", Kind::kDouble},
      {4, "hparam_infos", Kind::kMessage, true, &HParamInfo},
      {5, "metric_infos", Kind::kMessage, true, &MetricInfo},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

std::string OrThrow(absl::StatusOr<std::string> json) {
  if (!json.ok()) throw Error("a damaged value");
  return *std::move(json);
}

void ReadEntry(std::string_view bytes, HParamsContent* result) {
  std::string_view key, value;
  auto entry = wire::Open<EntryField>(bytes);
  while (entry.next()) {
    if (entry.tag() == EntryField::kKey) {
      key = wire::TakeBytes(entry);
    } else if (entry.tag() == EntryField::kValue) {
      value = wire::TakeBytes(entry);
    } else {
      entry.skip();
    }
  }
  result->hparams[std::string(key)] = OrThrow(ProtobufValueAsJson(value));
}

void ReadStart(std::string_view bytes, HParamsContent* result) {
  auto start = wire::Open<StartField>(bytes);
  while (start.next()) {
    switch (start.tag()) {
      case StartField::kHParams:
        ReadEntry(wire::TakeBytes(start), result);
        break;
      case StartField::kModelUri:
        result->model_uri = wire::TakeBytes(start);
        break;
      case StartField::kMonitorUrl:
        result->monitor_url = wire::TakeBytes(start);
        break;
      case StartField::kGroupName:
        result->group_name = wire::TakeBytes(start);
        break;
      case StartField::kStartTime:
        result->start_time = wire::TakeDouble(start);
        break;
      default:
        start.skip();
    }
  }
}

void ReadEnd(std::string_view bytes, HParamsContent* result) {
  auto end = wire::Open<EndField>(bytes);
  while (end.next()) {
    if (end.tag() == EndField::kStatus) {
      result->status = static_cast<HParamsContent::Status>(wire::TakeEnum(end));
    } else if (end.tag() == EndField::kEndTime) {
      result->end_time = wire::TakeDouble(end);
    } else {
      end.skip();
    }
  }
}

// The content has one kind: a later field replaces earlier ones.
void ReadInto(std::string_view content, HParamsContent* result) {
  auto plugin = wire::Open<PluginField>(content);
  while (plugin.next()) {
    switch (plugin.tag()) {
      case PluginField::kExperiment:
        *result = HParamsContent();
        result->kind = HParamsContent::Kind::kExperiment;
        result->experiment = OrThrow(ProtobufAsJson(Experiment(), wire::TakeBytes(plugin)));
        break;
      case PluginField::kSessionStart:
        *result = HParamsContent();
        result->kind = HParamsContent::Kind::kSessionStart;
        ReadStart(wire::TakeBytes(plugin), result);
        break;
      case PluginField::kSessionEnd:
        *result = HParamsContent();
        result->kind = HParamsContent::Kind::kSessionEnd;
        ReadEnd(wire::TakeBytes(plugin), result);
        break;
      default:
        plugin.skip();
    }
  }
}

}  // namespace

absl::StatusOr<HParamsContent> ReadHParamsContent(std::string_view content) {
  HParamsContent result;
  const absl::Status status =
      wire::Guarded("content of hparams", [&] { ReadInto(content, &result); });
  if (!status.ok()) return status;
  return result;
}

}  // namespace eventlog
