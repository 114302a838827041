#include "eventlog/mindspore_event.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eventlog/protobuf_json.h"
#include "eventlog/wire.h"
#include "protozero/types.hpp"
#include "runtime/text/string_view.h"

namespace eventlog {
namespace {

using wire::Error;
using Tag = protozero::pbf_tag_type;

enum class EventField : Tag {
  kWallTime = 1,
  kStep = 2,
  kVersion = 3,
  kGraph = 4,
  kSummary = 5,
  kExplain = 6,
};
enum class SummaryField : Tag { kValue = 1 };
enum class ValueField : Tag {
  kTag = 1,
  kScalar = 3,
  kImage = 4,
  kTensor = 8,
  kHistogram = 9,
  kLandscape = 10,
};
enum class LineageField : Tag {
  kWallTime = 1,
  kStep = 2,
  kVersion = 3,
  kTrain = 6,
  kEvaluation = 7,
  kDataset = 9,
  kUserDefined = 10,
};

// As in DecodeEvent(): an empty value takes far more memory than space in the file.
constexpr std::size_t kMaxValues = 1'000'000;

void SetMessage(ValueKind kind, std::string_view plugin, DataClass data_class,
                std::string_view bytes, SummaryValue* value) {
  value->kind = kind;
  value->plugin = plugin;
  value->data_class = data_class;
  value->bytes = bytes;
  value->scalar.reset();
}

void DecodeValue(std::string_view bytes, SummaryValue* result, std::uint32_t* unknown_fields) {
  bool has_tag = false;
  auto value = wire::Open<ValueField>(bytes);
  while (value.next()) {
    switch (value.tag()) {
      case ValueField::kTag:
        result->tag = wire::TakeBytes(value);
        has_tag = true;
        break;
      case ValueField::kScalar: {
        const double number = wire::TakeFloat(value);
        SetMessage(ValueKind::kSimpleValue, "scalar", DataClass::kScalar, {}, result);
        result->scalar = number;
        break;
      }
      case ValueField::kImage:
        SetMessage(ValueKind::kMindSporeImage, "image", DataClass::kBlobSequence,
                   wire::TakeBytes(value), result);
        break;
      case ValueField::kTensor:
        SetMessage(ValueKind::kMindSporeTensor, "tensor", DataClass::kTensor,
                   wire::TakeBytes(value), result);
        break;
      case ValueField::kHistogram:
        SetMessage(ValueKind::kMindSporeHistogram, "histogram", DataClass::kTensor,
                   wire::TakeBytes(value), result);
        break;
      case ValueField::kLandscape:
        SetMessage(ValueKind::kLandscape, "loss_landscape", DataClass::kTensor,
                   wire::TakeBytes(value), result);
        break;
      default:
        ++*unknown_fields;
        value.skip();
    }
  }
  if (!has_tag) throw Error("a value without a tag");
}

// An event has one kind of content: earlier content is dropped.
void SetKind(EventKind kind, std::string_view bytes, Event* event) {
  if (kind != event->kind) event->values.clear();
  event->file_version = {};
  event->kind = kind;
  event->bytes = bytes;
}

void DecodeSummary(std::string_view bytes, Event* event) {
  SetKind(EventKind::kSummary, {}, event);
  auto summary = wire::Open<SummaryField>(bytes);
  while (summary.next(SummaryField::kValue)) {
    if (event->values.size() >= kMaxValues) {
      // `event` is reused: the next event must not keep this much memory.
      std::vector<SummaryValue>().swap(event->values);
      throw Error("over 1,000,000 values");
    }
    DecodeValue(wire::TakeBytes(summary), &event->values.emplace_back(), &event->unknown_fields);
  }
}

void DecodeInto(std::string_view payload, Event* event) {
  bool has_wall_time = false;
  auto message = wire::Open<EventField>(payload);
  while (message.next()) {
    switch (message.tag()) {
      case EventField::kWallTime:
        event->wall_time = wire::TakeDouble(message);
        has_wall_time = true;
        break;
      case EventField::kStep:
        event->step = wire::TakeInt64(message);
        break;
      case EventField::kVersion: {
        const std::string_view version = wire::TakeBytes(message);
        SetKind(EventKind::kFileVersion, {}, event);
        event->file_version = version;
        break;
      }
      case EventField::kGraph:
        SetKind(EventKind::kMindSporeGraph, wire::TakeBytes(message), event);
        break;
      case EventField::kSummary:
        DecodeSummary(wire::TakeBytes(message), event);
        break;
      case EventField::kExplain:
        SetKind(EventKind::kExplain, wire::TakeBytes(message), event);
        break;
      default:
        ++event->unknown_fields;
        message.skip();
    }
  }
  if (!has_wall_time) throw Error("the wall time is missing");
}

void SetLineage(LineageKind kind, std::string_view bytes, LineageEvent* event) {
  event->kind = kind;
  event->file_version = kind == LineageKind::kFileVersion ? bytes : std::string_view();
  event->bytes = kind == LineageKind::kFileVersion ? std::string_view() : bytes;
}

void DecodeLineageInto(std::string_view payload, LineageEvent* event) {
  bool has_wall_time = false;
  auto message = wire::Open<LineageField>(payload);
  while (message.next()) {
    switch (message.tag()) {
      case LineageField::kWallTime:
        event->wall_time = wire::TakeDouble(message);
        has_wall_time = true;
        break;
      case LineageField::kStep:
        event->step = wire::TakeInt64(message);
        break;
      case LineageField::kVersion:
        SetLineage(LineageKind::kFileVersion, wire::TakeBytes(message), event);
        break;
      case LineageField::kTrain:
        SetLineage(LineageKind::kTrain, wire::TakeBytes(message), event);
        break;
      case LineageField::kEvaluation:
        SetLineage(LineageKind::kEvaluation, wire::TakeBytes(message), event);
        break;
      case LineageField::kDataset:
        SetLineage(LineageKind::kDataset, wire::TakeBytes(message), event);
        break;
      case LineageField::kUserDefined:
        SetLineage(LineageKind::kUserDefined, wire::TakeBytes(message), event);
        break;
      default:
        message.skip();
    }
  }
  if (!has_wall_time) throw Error("the wall time is missing");
}

// The messages of mindinsight_lineage.proto.
using Kind = JsonKind;

const JsonMessage& HyperParameters() {
  static constexpr JsonField kFields[] = {
      {1, "optimizer", Kind::kText},     {2, "learning_rate", Kind::kFloat},
      {3, "loss_function", Kind::kText}, {4, "epoch", Kind::kInteger},
      {5, "parallel_mode", Kind::kText}, {6, "device_num", Kind::kInteger},
      {8, "batch_size", Kind::kInteger},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& TrainDataset() {
  static constexpr JsonField kFields[] = {{1, "train_dataset_path", Kind::kText},
                                          {2, "train_dataset_size", Kind::kInteger}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Algorithm() {
  static constexpr JsonField kFields[] = {{1, "network", Kind::kText}, {2, "loss", Kind::kFloat}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Model() {
  static constexpr JsonField kFields[] = {{3, "path", Kind::kText}, {4, "size", Kind::kInteger}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& TrainLineage() {
  static constexpr JsonField kFields[] = {
      {1, "hyper_parameters", Kind::kMessage, false, &HyperParameters},
      {2, "train_dataset", Kind::kMessage, false, &TrainDataset},
      {3, "algorithm", Kind::kMessage, false, &Algorithm},
      {4, "model", Kind::kMessage, false, &Model},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& ValidDataset() {
  static constexpr JsonField kFields[] = {{1, "valid_dataset_path", Kind::kText},
                                          {2, "valid_dataset_size", Kind::kInteger}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& EvaluationLineage() {
  static constexpr JsonField kFields[] = {
      {2, "metric", Kind::kText},
      {3, "valid_dataset", Kind::kMessage, false, &ValidDataset},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

template <Kind kKind>
const JsonMessage& EntryOf() {
  static constexpr JsonField kFields[] = {{1, "key", Kind::kText}, {2, "value", kKind}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& StringList() {
  static constexpr JsonField kFields[] = {{1, "strValue", Kind::kText, true}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& StringListEntry() {
  static constexpr JsonField kFields[] = {{1, "key", Kind::kText},
                                          {2, "value", Kind::kMessage, false, &StringList}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& OperationParameter() {
  static constexpr JsonField kFields[] = {
      {1, "mapStr", Kind::kMap, false, &EntryOf<Kind::kText>},
      {2, "mapStrList", Kind::kMap, false, &StringListEntry},
      {3, "mapBool", Kind::kMap, false, &EntryOf<Kind::kBool>},
      {4, "mapInt", Kind::kMap, false, &EntryOf<Kind::kInteger>},
      {5, "mapDouble", Kind::kMap, false, &EntryOf<Kind::kDouble>},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Operation() {
  static constexpr JsonField kFields[] = {
      {1, "operationParam", Kind::kMessage, false, &OperationParameter},
      {2, "size", Kind::kInteger, true},
      {3, "weights", Kind::kFloat, true},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& DatasetGraph() {
  static constexpr JsonField kFields[] = {
      {1, "children", Kind::kMessage, true, &DatasetGraph},
      {2, "parameter", Kind::kMessage, false, &OperationParameter},
      {3, "operations", Kind::kMessage, true, &Operation},
      {4, "sampler", Kind::kMessage, false, &Operation},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& UserDefinedInfo();

const JsonMessage& UserDefinedEntry() {
  static constexpr JsonField kFields[] = {{1, "key", Kind::kText},
                                          {2, "value", Kind::kMessage, false, &UserDefinedInfo}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& UserDefinedInfo() {
  static constexpr JsonField kFields[] = {
      {1, "user_info", Kind::kMessage, true, &UserDefinedInfo},
      {2, "map_dict", Kind::kMap, false, &UserDefinedEntry},
      {3, "map_int32", Kind::kMap, false, &EntryOf<Kind::kInteger>},
      {4, "map_str", Kind::kMap, false, &EntryOf<Kind::kText>},
      {5, "map_double", Kind::kMap, false, &EntryOf<Kind::kDouble>},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

}  // namespace

bool IsMindSporeVersion(std::string_view file_version) {
  return file_version.starts_with("MindSpore.Event:") ||
         file_version.starts_with("Mindspore.Event:");
}

absl::Status DecodeMindSporeEvent(std::string_view payload, Event* event) {
  event->Clear();
  return wire::Guarded("an event", [&] { DecodeInto(payload, event); });
}

std::string MindSporeTag(const SummaryValue& value) {
  return absl::StrCat(runtime::Absl(value.tag), "/", runtime::Absl(value.plugin));
}

absl::StatusOr<LineageEvent> DecodeLineageEvent(std::string_view payload) {
  LineageEvent event;
  const absl::Status status =
      wire::Guarded("a lineage event", [&] { DecodeLineageInto(payload, &event); });
  if (!status.ok()) return status;
  return event;
}

absl::StatusOr<std::string> LineageJson(LineageKind kind, std::string_view bytes) {
  switch (kind) {
    case LineageKind::kTrain:
      return ProtobufAsJson(TrainLineage(), bytes);
    case LineageKind::kEvaluation:
      return ProtobufAsJson(EvaluationLineage(), bytes);
    case LineageKind::kDataset:
      return ProtobufAsJson(DatasetGraph(), bytes);
    case LineageKind::kUserDefined:
      return ProtobufAsJson(UserDefinedInfo(), bytes);
    case LineageKind::kNone:
    case LineageKind::kFileVersion:
      break;
  }
  return absl::InvalidArgumentError("the event holds no lineage");
}

}  // namespace eventlog
