#include "tools/yard/trial/trial_details_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/job/job_json.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

using nlohmann::json;

constexpr std::size_t kLogLines = 10;
constexpr int kLogLineWidth = 500;
constexpr std::size_t kLogLineBytes = 8 * kLogLineWidth;  // Upper bound for that width.

void AddLine(std::string& text, const char* key, const std::string& value) {
  if (value.empty()) return;
  absl::StrAppend(&text, absl::StrFormat("%-10s ", key), runtime::Printable(value), "\n");
}

absl::Duration Milliseconds(std::uint64_t count) {
  return absl::Milliseconds(static_cast<std::int64_t>(count));
}

// Returns "training_iteration >= 10, acc >= 0.5".
std::string BoundsLine(const std::string& stop) {
  std::vector<std::string> bounds;
  const json object = MetricNumbers(stop);
  for (const auto& [name, value] : object.items()) {
    for (const json& bound : value.is_array() ? value : json::array({value})) {
      std::string words = bound.is_string() ? bound.get<std::string>() : ">=" + bound.dump();
      const std::size_t number = words.find_first_not_of("<>=");
      if (number != words.npos) words.insert(number, " ");
      bounds.push_back(absl::StrCat(name, " ", words));
    }
  }
  return absl::StrJoin(bounds, ", ");
}

std::string StatisticsTable(const msg::TrialDetailsReplyT& details, int width) {
  if (details.statistics.empty()) return "";
  Table table({"METRIC", ">COUNT", ">LAST", ">MIN", ">MAX", ">MEAN", ">LAST 5", ">LAST 10"});
  for (const auto& metric : details.statistics) {
    table.AddRow({metric->name, absl::StrCat(metric->count), ShortNumber(metric->last),
                  ShortNumber(metric->min), ShortNumber(metric->max), ShortNumber(metric->mean),
                  ShortNumber(metric->last_5_mean), ShortNumber(metric->last_10_mean)});
  }
  return table.ToString(width);
}

// A line of the log. If a text has several lines, only the first has a time.
struct LogLine {
  std::int64_t time_us = 0;
  absl::string_view text;
};

std::string LogText(const msg::TrialDetailsReplyT& details, absl::TimeZone zone) {
  std::vector<LogLine> lines;
  for (const auto& said : details.log) {
    std::int64_t time_us = said->time_us;
    for (const auto line : absl::StrSplit(absl::StripSuffix(said->text, "\n"), '\n')) {
      lines.push_back({std::exchange(time_us, 0), line.substr(0, kLogLineBytes)});
    }
  }
  std::string text;
  const std::size_t left_out = lines.size() - std::min(lines.size(), kLogLines);
  if (left_out > 0) AddLine(text, "log", "(lines before these: --json)");
  std::size_t time_width = 27;
  for (std::size_t i = left_out; i < lines.size(); ++i) {
    const std::string shown =
        FitText(runtime::Printable(runtime::Std(lines[i].text)), kLogLineWidth);
    // Lines without a time are indented by the same width.
    const std::string time = LocalTime(lines[i].time_us, zone);
    time_width = std::max(time_width, time.size());
    AddLine(text, "log", absl::StrFormat("%-*s  %s", static_cast<int>(time_width), time, shown));
  }
  return text;
}

// Returns "chief 1, worker 3".
std::string TasksLine(const msg::TrialOptionsT& options) {
  return absl::StrJoin(options.tasks, ", ", [](std::string* text, const auto& tasks) {
    absl::StrAppend(text, tasks->type, " ", tasks->count);
  });
}

// Returns the resources and limits of each task, with the keys of a job file.
nlohmann::ordered_json ResourcesOf(const msg::TrialOptionsT& options) {
  auto object = nlohmann::ordered_json::object();
  PutResources(options.resources, options.process_limits, options.control_limits.get(), &object);
  return object;
}

// Returns "4GiB", "0.5" or "gpu=1, slots=2".
std::string ValueLine(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [name, part] : value.items()) {
    parts.push_back(absl::StrCat(name, "=", ValueLine(part)));
  }
  return absl::StrJoin(parts, ", ");
}

json OptionsToJson(const msg::TrialOptionsT& options) {
  json object = {{"priority", options.priority},
                 {"labels", options.labels},
                 {"fail_fast", options.fail_fast},
                 {"required_metrics", options.required_metrics},
                 {"keep_checkpoints", options.keep_checkpoints},
                 {"durable", options.durable}};
  if (options.checkpoint_bytes > 0) object["checkpoint_bytes"] = options.checkpoint_bytes;
  if (options.share_gpu) object["share_gpu"] = true;
  for (const auto& [name, text] : {std::pair("function", options.function),
                                   {"output", options.output_reports},
                                   {"group", options.group},
                                   {"from", options.from},
                                   {"restore", options.restore},
                                   {"checkpoint_metric", options.checkpoint_metric}}) {
    if (!text.empty()) object[name] = text;
  }
  for (const auto& [name, text] : {std::pair("stop", options.stop),
                                   {"plateau", options.plateau},
                                   {"provenance", options.provenance}}) {
    if (!text.empty()) object[name] = MetricsToJson(text);
  }
  for (const auto& [name, count] :
       {std::pair("time_budget_s", options.time_budget_ms),
        std::pair("max_run_time_s", options.max_run_time_ms),
        std::pair("heartbeat_s", std::uint64_t{options.heartbeat_ms})}) {
    if (count > 0) object[name] = absl::ToDoubleSeconds(Milliseconds(count));
  }
  for (const auto& tasks : options.tasks) {
    object["tasks"].push_back(json{{"type", tasks->type}, {"count", tasks->count}});
  }
  const auto resources = ResourcesOf(options);
  for (const auto& [key, value] : resources.items()) object[key] = json(value);
  return object;
}

}  // namespace

std::string DetailsText(const msg::TrialDetailsReplyT& details, int width, absl::TimeZone zone) {
  std::string text;
  if (details.options != nullptr) {
    const msg::TrialOptionsT& options = *details.options;
    AddLine(text, "function", options.function);
    AddLine(text, "output", options.output_reports);
    AddLine(text, "tasks", TasksLine(options));
    const auto resources = ResourcesOf(options);
    for (const auto& [key, value] : resources.items()) {
      AddLine(text, key.c_str(), ValueLine(value));
    }
    AddLine(text, "called", options.display_name);
    AddLine(text, "labels", absl::StrJoin(options.labels, ", "));
    for (const auto line : absl::StrSplit(options.note, '\n')) {
      AddLine(text, "note", std::string(line));
    }
    AddLine(text, "group", options.group);
    if (options.priority != 0) AddLine(text, "priority", absl::StrCat(options.priority));
    AddLine(text, "stops at", BoundsLine(options.stop));
    AddLine(text, "plateau", options.plateau);
    if (options.time_budget_ms > 0) {
      AddLine(text, "budget", FormatTime(Milliseconds(options.time_budget_ms)));
    }
    if (options.max_run_time_ms > 0) {
      AddLine(text, "run time", FormatTime(Milliseconds(options.max_run_time_ms)));
    }
    if (options.share_gpu) AddLine(text, "share_gpu", "true");
    if (options.durable) AddLine(text, "durable", "every report is synced to the disk");
    AddLine(text, "needs", absl::StrJoin(options.required_metrics, ", "));
    if (options.heartbeat_ms > 0) {
      AddLine(text, "heartbeat", FormatTime(Milliseconds(options.heartbeat_ms)));
    }
  }
  std::uint64_t checkpoint_bytes = 0;
  for (const auto& checkpoint : details.checkpoints) {
    checkpoint_bytes += checkpoint->bytes;
    AddLine(text, "checkpoint",
            absl::StrCat(checkpoint->directory, "  ", ShortBytes(checkpoint->bytes),
                         checkpoint->has_score ? "  score " + ShortNumber(checkpoint->score) : ""));
  }
  if (!details.checkpoints.empty()) {
    const std::uint64_t limit = details.options == nullptr ? 0 : details.options->checkpoint_bytes;
    AddLine(text, "together",
            absl::StrCat(ShortBytes(checkpoint_bytes),
                         limit > 0 ? absl::StrCat(" of ", ShortBytes(limit)) : ""));
  }
  if (details.events_waiting > 0) AddLine(text, "told", absl::StrCat(details.events_waiting));
  return text + StatisticsTable(details, width) + LogText(details, zone);
}

json DetailsToJson(const msg::TrialDetailsReplyT& details) {
  json checkpoints = json::array();
  for (const auto& checkpoint : details.checkpoints) {
    checkpoints.push_back(ToJson(*checkpoint));
  }
  json statistics = json::object();
  for (const auto& metric : details.statistics) statistics[metric->name] = ToJson(*metric);
  json log = json::array();
  for (const auto& said : details.log) {
    log.push_back({{"time", TimeToJson(said->time_us)}, {"text", said->text}});
  }
  return {
      {"options", details.options == nullptr ? json::object() : OptionsToJson(*details.options)},
      {"config", MetricsToJson(details.config)},
      {"seed", details.seed},
      {"max_restarts", details.max_restarts},
      {"statistics", statistics},
      {"checkpoints", checkpoints},
      {"events_waiting", details.events_waiting},
      {"log", log}};
}

}  // namespace yard
