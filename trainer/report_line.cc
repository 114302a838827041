#include "trainer/report_line.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/string_view.h"
#include "trainer/json_text.h"

namespace trainer {
namespace {

using runtime::Absl;

bool IsTrue(const JsonValue* value) {
  return value != nullptr && value->kind == JsonValue::Kind::kBool && value->boolean;
}

std::string TextOf(const JsonValue* value) { return value == nullptr ? "" : StringOf(*value); }

std::optional<ReportLine::Kind> KindOf(std::string_view type) {
  if (type == "hello") return ReportLine::Kind::kHello;
  if (type == "report") return ReportLine::Kind::kReport;
  if (type == "log") return ReportLine::Kind::kLog;
  if (type == "hb") return ReportLine::Kind::kHeartbeat;
  if (type == "fail") return ReportLine::Kind::kFail;
  if (type == "ckpt_begin" || type == "ckpt_end" || type == "barrier") {
    return ReportLine::Kind::kUnimplemented;
  }
  return std::nullopt;
}

absl::Status ReadReport(const JsonValue& line, ReportLine& report) {
  const JsonValue* const metrics = line.Find("m");
  if (metrics == nullptr || metrics->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("a report needs an object \"m\"");
  }
  const JsonValue* step = line.Find("step");
  if (step == nullptr || step->kind == JsonValue::Kind::kNull) {
    step = metrics->Find("step");
  } else if (step->kind != JsonValue::Kind::kInteger) {
    return absl::InvalidArgumentError("\"step\" must be a whole number of 64 bits");
  }
  if (step != nullptr && step->kind == JsonValue::Kind::kInteger) report.step = step->integer;
  report.done = IsTrue(line.Find("done")) || IsTrue(metrics->Find("done"));
  report.metrics = CompactJson(*metrics);
  const JsonValue* const iteration = metrics->Find("training_iteration");
  if (iteration != nullptr && iteration->kind == JsonValue::Kind::kInteger) {
    report.training_iteration = iteration->integer;
  }
  const JsonValue* const time = metrics->Find("time_this_iter_s");
  if (time != nullptr && time->IsNumber()) report.time_this_iter_s = time->number;
  const JsonValue* const checkpoint = line.Find("ckpt");
  if (checkpoint != nullptr && checkpoint->kind != JsonValue::Kind::kNull) {
    report.kind = ReportLine::Kind::kUnimplemented;
    report.type = "ckpt";
  }
  return absl::OkStatus();
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
      metric.text = StringOf(value);
      break;
    default:
      metric.text = CompactJson(value);
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

// {"a":{"b":1},"a/b":2}: the last one counts.
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
  if (line.size() > kMaxReportLine) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line has ", line.size(), " bytes, more than ", kMaxReportLine));
  }
  auto json = ParseJson(line);
  if (!json.ok()) return json.status();
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("expected a JSON object");
  }
  const JsonValue* const type = json->Find("t");
  if (type == nullptr || type->kind != JsonValue::Kind::kString) {
    return absl::InvalidArgumentError("expected a string \"t\", the kind of the line");
  }
  ReportLine result;
  result.type = StringOf(*type);
  const auto kind = KindOf(result.type);
  if (!kind) {
    return absl::InvalidArgumentError(absl::StrCat("no kind of line is called ", Absl(type->raw)));
  }
  result.kind = *kind;
  if (const JsonValue* const seq = json->Find("seq"); seq != nullptr) {
    result.seq = CompactJson(*seq);
  }
  if (result.kind == ReportLine::Kind::kLog) result.text = TextOf(json->Find("text"));
  if (result.kind == ReportLine::Kind::kFail) result.text = TextOf(json->Find("error"));
  if (result.kind != ReportLine::Kind::kReport) return result;
  if (auto status = ReadReport(*json, result); !status.ok()) return status;
  return result;
}

bool WantsAnswer(const ReportLine& line) {
  return line.kind != ReportLine::Kind::kLog && line.kind != ReportLine::Kind::kHeartbeat &&
         line.kind != ReportLine::Kind::kFail;
}

absl::StatusOr<std::vector<Metric>> FlattenMetrics(std::string_view metrics) {
  auto json = ParseJson(metrics);
  if (!json.ok()) return json.status();
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("metrics are not a JSON object");
  }
  std::vector<Metric> leaves;
  AppendLeaves("", *json, leaves);
  KeepLastOfEachName(leaves);
  return leaves;
}

std::string OkLine(std::string_view seq) {
  return absl::StrCat("{\"t\":\"ok\"", SeqMember(seq), ",\"events\":[]}");
}

std::string StopLine(std::string_view seq, std::string_view reason, double grace_s) {
  return absl::StrCat("{\"t\":\"stop\"", SeqMember(seq), ",\"reason\":", Quote(reason),
                      absl::StrFormat(",\"grace_s\":%g}", grace_s));
}

std::string ErrorLine(std::string_view seq, const absl::Status& error) {
  return absl::StrCat("{\"t\":\"error\"", SeqMember(seq), ",\"code\":\"",
                      absl::StatusCodeToString(error.code()),
                      "\",\"error\":", Quote(runtime::Std(error.message())), "}");
}

std::string WelcomeLine(std::string_view config, std::int64_t iteration, std::string_view trial,
                        std::string_view name) {
  return absl::StrCat("{\"t\":\"welcome\",\"v\":1,\"config\":", Absl(config),
                      ",\"checkpoint\":null,\"iteration\":", iteration, ",\"trial\":", Quote(trial),
                      ",\"name\":", Quote(name), "}");
}

}  // namespace trainer
