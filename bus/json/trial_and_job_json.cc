#include "bus/json/trial_and_job_json.h"

#include <cctype>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/exact_json.h"
#include "runtime/text/json_number.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

// Returns the number at the beginning of `text`; empty if `text` does not begin with a number.
std::string_view NumberAt(std::string_view text) {
  const bool is_number = text[0] == '-' || std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  return is_number ? text.substr(0, text.find_first_not_of("+-.0123456789eE")) : "";
}

bool IsTooLarge(std::string_view number) {
  double value = 0;
  return absl::SimpleAtod(runtime::Absl(number), &value) && std::isinf(value);
}

// Quotes NaN, Infinity, -Infinity and numbers too large for a double where they are outside
// strings.
std::string QuoteNotFinite(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      result.push_back(c);
      if (c == '\\' && i + 1 < text.size()) result.push_back(text[++i]);
      if (c == '"') in_string = false;
      continue;
    }
    bool quoted = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (text.substr(i, word.size()) != word) continue;
      absl::StrAppend(&result, "\"", std::string(word), "\"");
      i += word.size() - 1;
      quoted = true;
      break;
    }
    if (quoted) continue;
    if (const std::string_view number = NumberAt(text.substr(i)); !number.empty()) {
      if (IsTooLarge(number)) {
        result += c == '-' ? "\"-Infinity\"" : "\"Infinity\"";
      } else {
        result += number;
      }
      i += number.size() - 1;
      continue;
    }
    in_string = c == '"';
    result.push_back(c);
  }
  return result;
}

// Returns null unless the attempt ended with an exit code.
nlohmann::json ExitCodeOf(const msg::AttemptT& attempt) {
  const bool has_none = attempt.ended_us == 0 || attempt.signal != 0 || attempt.error_number != 0 ||
                        attempt.shim_lost;
  return has_none ? nlohmann::json() : nlohmann::json(attempt.exit_code);
}

nlohmann::json ToJson(const msg::AttemptT& attempt) {
  return {{"number", attempt.number},
          {"pid", PidToJson(attempt.pid)},
          {"started", TimeToJson(attempt.started_us)},
          {"ended", TimeToJson(attempt.ended_us)},
          {"exit_code", ExitCodeOf(attempt)},
          {"signal", attempt.signal},
          {"reason", attempt.reason},
          {"core_dumped", attempt.core_dumped},
          {"out_of_memory", attempt.out_of_memory},
          {"was_stopped", attempt.was_stopped},
          {"shim_lost", attempt.shim_lost},
          {"error_number", attempt.error_number},
          {"node", TextOrNull(attempt.node)},
          {"host", TextOrNull(attempt.host)}};
}

nlohmann::json ToJson(const msg::FailureT& failure) {
  return {{"task", failure.task},
          {"attempt", failure.attempt},
          {"reason", failure.reason},
          {"time", TimeToJson(failure.time_us)},
          {"last_lines", failure.last_lines},
          {"log", failure.log_path},
          {"consequences", failure.consequences}};
}

}  // namespace

std::string IsoTime(std::int64_t microseconds) {
  if (microseconds == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromUnixMicros(microseconds),
                          absl::UTCTimeZone());
}

nlohmann::json MetricsToJson(const std::string& metrics) {
  auto json = ParseExactJson(QuoteNotFinite(metrics));
  return json.is_object() ? json : nlohmann::json::object();
}

nlohmann::json MetricNumbers(const std::string& metrics) {
  auto json = nlohmann::json::parse(QuoteNotFinite(metrics), nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

nlohmann::json NumberToJson(double value) {
  if (!std::isfinite(value)) return runtime::NotFiniteWord(value);
  return value;
}

nlohmann::json TimeToJson(std::int64_t microseconds) {
  return microseconds == 0 ? nlohmann::json() : nlohmann::json(IsoTime(microseconds));
}

nlohmann::json PidToJson(std::int64_t pid) {
  return pid == 0 ? nlohmann::json() : nlohmann::json(pid);
}

nlohmann::json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

nlohmann::json ToJson(const msg::TrialT& trial) {
  return {{"id", trial.id},
          {"kind", "trial"},
          {"name", trial.name},
          {"state", StateName(trial.state)},
          {"argv", trial.argv},
          {"working_directory", trial.working_directory},
          {"directory", trial.log_directory},
          {"job", trial.job},
          {"attempt", trial.attempt},
          {"created", TimeToJson(trial.created_us)},
          {"started", TimeToJson(trial.started_us)},
          {"ended", TimeToJson(trial.ended_us)},
          {"reports", trial.reports},
          {"training_iteration", trial.training_iteration},
          {"metrics", MetricsToJson(trial.last_metrics)},
          {"reason", trial.reason},
          {"error_lines", trial.error_lines},
          {"stop_requested", trial.stop_requested},
          {"pause_requested", trial.pause_requested},
          {"priority", trial.priority},
          {"labels", trial.labels},
          {"note", TextOrNull(trial.note)},
          {"display_name", TextOrNull(trial.display_name)},
          {"group", trial.group},
          {"checkpoint", trial.checkpoint},
          {"checkpoint_iteration", trial.checkpoint_iteration},
          {"attached_pid", PidToJson(trial.attached_pid)},
          {"pool", TextOrNull(trial.pool)},
          {"node", TextOrNull(trial.node)},
          {"unseen", trial.unseen}};
}

nlohmann::json ToJson(const msg::TaskT& task) {
  nlohmann::json attempts = nlohmann::json::array();
  for (const auto& attempt : task.attempts) attempts.push_back(ToJson(*attempt));
  return {{"id", task.id},
          {"kind", "task"},
          {"type", task.type},
          {"index", task.index},
          {"state", StateName(task.state)},
          {"reason", task.reason},
          {"rank", task.rank},
          {"address", task.address},
          {"ready", task.ready},
          {"restarts", task.restarts},
          {"resources", task.resources},
          {"attempts", attempts},
          {"node", TextOrNull(task.node)},
          {"host", TextOrNull(task.host)},
          {"stdout", task.stdout_path},
          {"stderr", task.stderr_path}};
}

nlohmann::json ToJson(const msg::JobT& job) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const auto& task : job.tasks) tasks.push_back(ToJson(*task));
  nlohmann::json labels = nlohmann::json::object();
  for (const auto& label : job.labels) labels[label->key] = label->value;
  return {{"id", job.id},
          {"kind", "job"},
          {"name", job.name},
          {"state", StateName(job.state)},
          {"argv", job.argv},
          {"working_directory", job.working_directory},
          {"created", TimeToJson(job.created_us)},
          {"ended", TimeToJson(job.ended_us)},
          {"reason", job.reason},
          {"stop_requested", job.stop_requested},
          {"restarts", job.restarts},
          {"failure", job.failure == nullptr ? nlohmann::json() : ToJson(*job.failure)},
          {"labels", labels},
          {"autostart", job.autostart},
          {"applied_from", TextOrNull(job.applied_from)},
          {"pool", TextOrNull(job.pool)},
          {"tasks", tasks}};
}

nlohmann::json ToJson(const msg::CheckpointT& checkpoint) {
  nlohmann::json json = {{"directory", checkpoint.directory},
                         {"training_iteration", checkpoint.training_iteration},
                         {"created", TimeToJson(checkpoint.created_us)},
                         {"bytes", checkpoint.bytes}};
  if (checkpoint.has_score) json["score"] = NumberToJson(checkpoint.score);
  return json;
}

nlohmann::json ToJson(const msg::MetricStatisticsT& metric) {
  return {{"count", metric.count},
          {"last", NumberToJson(metric.last)},
          {"min", NumberToJson(metric.min)},
          {"max", NumberToJson(metric.max)},
          {"mean", NumberToJson(metric.mean)},
          {"last_5_mean", NumberToJson(metric.last_5_mean)},
          {"last_10_mean", NumberToJson(metric.last_10_mean)}};
}

}  // namespace bus
