#include "trainer/report/report_line.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/report_channel/relay_protocol.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"

namespace trainer {
namespace {

using runtime::Absl;
using runtime::JsonValue;

bool IsTrue(const JsonValue* value) {
  return value != nullptr && value->kind == JsonValue::Kind::kBool && value->boolean;
}

std::string TextOf(const JsonValue* value) {
  return value == nullptr ? "" : runtime::StringOf(*value);
}

std::optional<ReportLine::Kind> KindOf(std::string_view type) {
  if (type == "hello") return ReportLine::Kind::kHello;
  if (type == "report") return ReportLine::Kind::kReport;
  if (type == "log") return ReportLine::Kind::kLog;
  if (type == "hb") return ReportLine::Kind::kHeartbeat;
  if (type == "fail") return ReportLine::Kind::kFail;
  if (type == "ckpt_begin") return ReportLine::Kind::kCheckpointBegin;
  if (type == "ckpt_end") return ReportLine::Kind::kCheckpointEnd;
  if (type == "ckpt_fail") return ReportLine::Kind::kCheckpointFail;
  if (type == "config") return ReportLine::Kind::kConfig;
  if (type == "annotate") return ReportLine::Kind::kAnnotate;
  if (type == "barrier") return ReportLine::Kind::kUnimplemented;
  return std::nullopt;
}

absl::Status ReadPath(const JsonValue& value, std::string_view name, ReportLine& line) {
  if (value.kind == JsonValue::Kind::kString) line.checkpoint = runtime::StringOf(value);
  if (!line.checkpoint.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Absl(name), "\" must be a string, the path of a directory"));
}

std::optional<std::int64_t> CountOf(const JsonValue* value) {
  const bool is_count =
      value != nullptr && value->kind == JsonValue::Kind::kInteger && value->integer >= 0;
  return is_count ? std::optional(value->integer) : std::nullopt;
}

// Limits the total size: flattening repeats a few long names of nested objects many times.
constexpr std::size_t kMaxNameBytes = 4 * runtime::kMaxReportLine;

// Returns the bytes of all flattened names below an object.
std::size_t NameBytes(std::size_t prefix, const JsonValue& object) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : object.members) {
    const std::size_t path = prefix + name.size() + 1;
    bytes += value.kind == JsonValue::Kind::kObject ? NameBytes(path, value) : path;
  }
  return bytes;
}

absl::Status ReadReport(const JsonValue& line, ReportLine& report) {
  const JsonValue* const metrics = line.Find("m");
  if (metrics == nullptr || metrics->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("a report needs an object \"m\"");
  }
  if (NameBytes(0, *metrics) > kMaxNameBytes) {
    return absl::InvalidArgumentError("the names in \"m\" are too long for so many values");
  }
  const JsonValue* step = line.Find("step");
  if (step == nullptr || step->kind == JsonValue::Kind::kNull) {
    step = metrics->Find("step");
  } else if (step->kind != JsonValue::Kind::kInteger) {
    return absl::InvalidArgumentError("\"step\" must be a whole number of 64 bits");
  }
  if (step != nullptr && step->kind == JsonValue::Kind::kInteger) report.step = step->integer;
  report.done = IsTrue(line.Find("done")) || IsTrue(metrics->Find("done"));
  report.metrics = runtime::CompactJson(*metrics);
  const JsonValue* const iteration = metrics->Find("training_iteration");
  if (iteration != nullptr && iteration->kind == JsonValue::Kind::kInteger) {
    report.training_iteration = iteration->integer;
  }
  const JsonValue* const time = metrics->Find("time_this_iter_s");
  if (time != nullptr && time->IsNumber()) report.time_this_iter_s = time->number;
  report.timesteps_this_iter = CountOf(metrics->Find("timesteps_this_iter"));
  report.episodes_this_iter = CountOf(metrics->Find("episodes_this_iter"));
  const std::size_t said = metrics->Find("done") == nullptr ? 0 : 1;
  report.only_done = report.done && metrics->members.size() == said;
  const JsonValue* const checkpoint = line.Find("ckpt");
  if (checkpoint == nullptr || checkpoint->kind == JsonValue::Kind::kNull) return absl::OkStatus();
  return ReadPath(*checkpoint, "ckpt", report);
}

absl::Status ReadCheckpointBegin(const JsonValue& line, ReportLine& begin) {
  const JsonValue* const step = line.Find("step");
  if (step == nullptr || step->kind == JsonValue::Kind::kNull) return absl::OkStatus();
  if (step->kind != JsonValue::Kind::kInteger || step->integer < 0) {
    return absl::InvalidArgumentError("\"step\" of a checkpoint must be a whole number from 0 on");
  }
  begin.step = step->integer;
  return absl::OkStatus();
}

absl::Status ReadCheckpointEnd(const JsonValue& line, ReportLine& end) {
  const JsonValue* const path = line.Find("path");
  if (path != nullptr) return ReadPath(*path, "path", end);
  return absl::InvalidArgumentError(
      "ckpt_end needs \"path\", the directory that ckpt_begin was answered");
}

absl::Status ReadConfig(const JsonValue& line, ReportLine& config) {
  const JsonValue* const changes = line.Find("c");
  if (changes == nullptr || changes->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("config needs an object \"c\"");
  }
  config.config = runtime::CompactJson(*changes);
  return absl::OkStatus();
}

absl::Status ReadText(const JsonValue& line, std::string_view name,
                      std::optional<std::string>& text) {
  const JsonValue* const value = line.Find(name);
  if (value == nullptr || value->kind == JsonValue::Kind::kNull) return absl::OkStatus();
  if (value->kind != JsonValue::Kind::kString) {
    return absl::InvalidArgumentError(absl::StrCat("\"", Absl(name), "\" must be a string"));
  }
  text = runtime::StringOf(*value);
  return absl::OkStatus();
}

absl::Status ReadTexts(const JsonValue& line, std::string_view name,
                       std::vector<std::string>& texts) {
  const JsonValue* const value = line.Find(name);
  if (value == nullptr || value->kind == JsonValue::Kind::kNull) return absl::OkStatus();
  const auto is_text = [](const JsonValue& one) { return one.kind == JsonValue::Kind::kString; };
  if (value->kind != JsonValue::Kind::kArray ||
      !std::all_of(value->items.begin(), value->items.end(), is_text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Absl(name), "\" must be an array of strings"));
  }
  for (const JsonValue& one : value->items) texts.push_back(runtime::StringOf(one));
  return absl::OkStatus();
}

absl::Status ReadAnnotate(const JsonValue& line, ReportLine& annotate) {
  absl::Status status = ReadTexts(line, "labels", annotate.labels);
  status.Update(ReadTexts(line, "remove_labels", annotate.remove_labels));
  status.Update(ReadText(line, "note", annotate.note));
  status.Update(ReadText(line, "name", annotate.name));
  return status;
}

Metric LeafOf(std::string name, const JsonValue& value) {
  Metric metric{std::move(name), std::nullopt, std::string(value.raw)};
  switch (value.kind) {
    case JsonValue::Kind::kInteger:
    case JsonValue::Kind::kDouble:
      metric.number = value.number;
      break;
    case JsonValue::Kind::kBool:
      metric.number = value.boolean ? 1 : 0;
      metric.text = value.boolean ? "True" : "False";
      break;
    case JsonValue::Kind::kNull:
      metric.text.clear();
      break;
    case JsonValue::Kind::kString:
      metric.text = runtime::StringOf(value);
      break;
    default:
      metric.text = runtime::CompactJson(value);
  }
  return metric;
}

void AppendLeaves(const std::string& prefix, const JsonValue& object, std::vector<Metric>& leaves) {
  for (const auto& [name, value] : object.members) {
    std::string path = prefix.empty() ? name : absl::StrCat(prefix, "/", name);
    if (value.kind == JsonValue::Kind::kObject) {
      AppendLeaves(path, value, leaves);
    } else {
      leaves.push_back(LeafOf(std::move(path), value));
    }
  }
}

// Without nested objects, no two leaves have the same path.
bool HasObjects(const JsonValue& object) {
  return std::any_of(object.members.begin(), object.members.end(), [](const auto& member) {
    return member.second.kind == JsonValue::Kind::kObject;
  });
}

// In {"a":{"b":1},"a/b":2} the last one wins.
void KeepLastOfEachName(std::vector<Metric>& leaves) {
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < leaves.size(); ++i) last[leaves[i].name] = i;
  if (last.size() == leaves.size()) return;
  std::vector<bool> stays(leaves.size(), false);
  for (const auto& [name, index] : last) stays[index] = true;
  std::vector<Metric> kept;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (stays[i]) kept.push_back(std::move(leaves[i]));
  }
  leaves = std::move(kept);
}

std::string SeqMember(std::string_view seq) {
  return seq.empty() ? "" : absl::StrCat(",\"seq\":", Absl(seq));
}

}  // namespace

absl::StatusOr<ReportLine> ParseReportLine(std::string_view line) {
  if (line.size() > runtime::kMaxReportLine) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line has ", line.size(), " bytes, more than ", runtime::kMaxReportLine));
  }
  auto json = runtime::ParseJson(line);
  if (!json.ok()) return json.status();
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("expected a JSON object");
  }
  const JsonValue* const type = json->Find("t");
  if (type == nullptr || type->kind != JsonValue::Kind::kString) {
    return absl::InvalidArgumentError("expected a string \"t\", the kind of the line");
  }
  ReportLine result;
  result.type = runtime::StringOf(*type);
  const auto kind = KindOf(result.type);
  if (!kind) {
    return absl::InvalidArgumentError(absl::StrCat("no kind of line is called ", Absl(type->raw)));
  }
  result.kind = *kind;
  if (const JsonValue* const seq = json->Find("seq"); seq != nullptr) {
    result.seq = runtime::CompactJson(*seq);
  }
  if (result.kind == ReportLine::Kind::kHello) result.pid = CountOf(json->Find("pid")).value_or(0);
  if (result.kind == ReportLine::Kind::kLog) result.text = TextOf(json->Find("text"));
  if (result.kind == ReportLine::Kind::kFail) result.text = TextOf(json->Find("error"));
  if (result.kind == ReportLine::Kind::kCheckpointFail) {
    result.text = TextOf(json->Find("error"));
    result.failed_path = TextOf(json->Find("path"));
  }
  absl::Status status;
  if (result.kind == ReportLine::Kind::kReport) status = ReadReport(*json, result);
  if (result.kind == ReportLine::Kind::kCheckpointBegin)
    status = ReadCheckpointBegin(*json, result);
  if (result.kind == ReportLine::Kind::kCheckpointEnd) status = ReadCheckpointEnd(*json, result);
  if (result.kind == ReportLine::Kind::kConfig) status = ReadConfig(*json, result);
  if (result.kind == ReportLine::Kind::kAnnotate) status = ReadAnnotate(*json, result);
  if (!status.ok()) return status;
  return result;
}

bool WantsAnswer(const ReportLine& line) {
  return line.kind != ReportLine::Kind::kLog && line.kind != ReportLine::Kind::kHeartbeat &&
         line.kind != ReportLine::Kind::kFail;
}

absl::StatusOr<std::vector<Metric>> FlattenMetrics(std::string_view metrics) {
  auto json = runtime::ParseJson(metrics);
  if (!json.ok()) return json.status();
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("metrics are not a JSON object");
  }
  return FlattenObject(*json);
}

std::vector<Metric> FlattenObject(const JsonValue& metrics) {
  std::vector<Metric> leaves;
  leaves.reserve(metrics.members.size());
  AppendLeaves("", metrics, leaves);
  if (HasObjects(metrics)) KeepLastOfEachName(leaves);
  return leaves;
}

std::string OkLine(std::string_view seq, std::string_view events, std::string_view path) {
  std::string line = absl::StrCat("{\"t\":\"ok\"", SeqMember(seq));
  if (!path.empty()) absl::StrAppend(&line, ",\"path\":", runtime::Quote(path));
  return absl::StrCat(line, ",\"events\":[", Absl(events), "]}");
}

std::string CheckpointDirectoryLine(std::string_view seq, std::string_view path) {
  return absl::StrCat("{\"t\":\"ckpt_dir\"", SeqMember(seq), ",\"path\":", runtime::Quote(path),
                      "}");
}

std::string StopLine(std::string_view seq, std::string_view reason, double grace_s) {
  return absl::StrCat("{\"t\":\"stop\"", SeqMember(seq), ",\"reason\":", runtime::Quote(reason),
                      absl::StrFormat(",\"grace_s\":%g}", grace_s));
}

std::string ErrorLine(std::string_view seq, const absl::Status& error) {
  return absl::StrCat("{\"t\":\"error\"", SeqMember(seq), ",\"code\":\"",
                      absl::StatusCodeToString(error.code()),
                      "\",\"error\":", runtime::Quote(runtime::Std(error.message())), "}");
}

std::string WelcomeLine(std::string_view config, std::string_view checkpoint,
                        std::int64_t iteration, std::string_view trial, std::string_view name) {
  return absl::StrCat("{\"t\":\"welcome\",\"v\":1,\"config\":", Absl(config),
                      ",\"checkpoint\":", checkpoint.empty() ? "null" : runtime::Quote(checkpoint),
                      ",\"iteration\":", iteration, ",\"trial\":", runtime::Quote(trial),
                      ",\"name\":", runtime::Quote(name), "}");
}

}  // namespace trainer
