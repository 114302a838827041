#include "tools/yard/trial/trial_flags.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/job/job_draft.h"
#include "tools/yard/text/quantities.h"

namespace yard {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kOthers[] =
    "Also (docs/cli_trials.md): --after --alert --at --configs --engine --from --function --label "
    "--on_end "
    "--resources "
    "--stop --worker ...";

absl::Status Wrong(const char* flag, const std::string& expected, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": expected ", expected, ", not \"", runtime::Printable(text), "\""));
}

absl::StatusOr<std::int32_t> ParseNumber(const char* flag, const std::string& text,
                                         std::int32_t unset, std::int32_t least,
                                         const char* expected) {
  if (text.empty()) return unset;
  std::int32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least) return Wrong(flag, expected, text);
  return number;
}

// Returns milliseconds; 0 for an empty text.
absl::StatusOr<std::int64_t> ParseLimit(const char* flag, const std::string& text,
                                        std::int64_t largest) {
  if (text.empty()) return 0;
  const auto time = ParseTime(text);
  if (!time.has_value()) return Wrong(flag, kTimeForm, text);
  const std::int64_t milliseconds = absl::ToInt64Milliseconds(*time);
  if (milliseconds < 1 || milliseconds > largest) {
    return Wrong(flag, absl::StrCat("from 1ms to ", FormatTime(absl::Milliseconds(largest))), text);
  }
  return milliseconds;
}

constexpr std::size_t kLongestStop = 4096;
// Default: keep this many of the best checkpoints, and the newest one.
constexpr std::int32_t kKeptCheckpoints = 3;

// Parses "loss<0.02" into "loss" and "<0.02"; "acc=0.9" and "acc>=0.9" into "acc" and 0.9.
std::optional<std::pair<std::string, Json>> ParseBound(const std::string& word) {
  std::size_t end = word.find_last_of("<>=");
  if (end == word.npos) return std::nullopt;
  Json number = Json::parse(word.substr(end + 1), nullptr, /*allow_exceptions=*/false);
  const bool is_pair =
      end > 0 && word[end] == '=' && (word[end - 1] == '<' || word[end - 1] == '>');
  const std::size_t begin = is_pair ? end - 1 : end;
  if (begin == 0 || !number.is_number()) return std::nullopt;
  const std::string sign = word.substr(begin, end + 1 - begin);
  if (sign != "=" && sign != ">=") number = sign + number.dump();
  return std::pair(word.substr(0, begin), std::move(number));
}

// Merges "NAME=NUMBER", "NAME<NUMBER" and so on, and JSON objects, into one object; empty for none.
absl::StatusOr<std::string> ParseStop(const std::vector<std::string>& words) {
  static constexpr char kForm[] =
      "METRIC=NUMBER (reached at or above it), METRIC<NUMBER (also <=, >, >=) or a JSON object";
  Json all = Json::object();
  for (const std::string& word : words) {
    if (word.size() > kLongestStop) return Wrong("--stop", kForm, word.substr(0, 80));
    if (word[0] == '{') {
      const auto object = Json::parse(word, nullptr, /*allow_exceptions=*/false);
      if (!object.is_object()) return Wrong("--stop", kForm, word);
      all.update(object);
      continue;
    }
    auto bound = ParseBound(word);
    if (!bound) return Wrong("--stop", kForm, word);
    auto& [name, number] = *bound;
    if (!all.contains(name)) {
      all[name] = std::move(number);
    } else {
      // A metric with both a lower and an upper bound.
      if (!all[name].is_array()) all[name] = Json::array({all[name]});
      all[name].push_back(std::move(number));
    }
  }
  return all.empty() ? "" : all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Accepts a metric's name, or the whole JSON object.
absl::StatusOr<std::string> ParsePlateau(const std::string& text) {
  if (text.empty()) return text;
  if (text[0] != '{') {
    return Json{{"metric", text}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  if (!Json::parse(text, nullptr, /*allow_exceptions=*/false).is_object()) {
    return Wrong("--plateau", "METRIC or a JSON object", text);
  }
  return text;
}

// Returns the tasks of a cluster; empty for a single task.
absl::StatusOr<std::vector<std::unique_ptr<msg::TrialTasksT>>> ParseTasks(
    const TaskCountFlags& flags) {
  const auto counts = flags.Counts();
  if (!counts.ok()) return counts.status();
  std::vector<std::unique_ptr<msg::TrialTasksT>> tasks;
  for (const TaskCountFlags::Count& count : *counts) {
    if (count.count == 0) continue;
    tasks.push_back(std::make_unique<msg::TrialTasksT>());
    tasks.back()->type = count.type;
    tasks.back()->count = count.count;
  }
  if (tasks.empty() && !counts->empty()) {
    return absl::InvalidArgumentError("no tasks: every count is 0");
  }
  return tasks;
}

// Parses "TRIAL", "TRIAL:end", "TRIAL:start" and "TRIAL:success"; a name may contain colons.
std::vector<std::unique_ptr<msg::AfterTrialT>> ParseAfter(const std::vector<std::string>& texts) {
  constexpr std::pair<std::string_view, msg::TrialMilestone> kMilestones[] = {
      {":end", msg::TrialMilestone::Ended},
      {":start", msg::TrialMilestone::Started},
      {":success", msg::TrialMilestone::Done}};
  std::vector<std::unique_ptr<msg::AfterTrialT>> all;
  for (const std::string& text : texts) {
    auto after = std::make_unique<msg::AfterTrialT>();
    after->trial = text;
    for (const auto& [word, milestone] : kMilestones) {
      if (!text.ends_with(word)) continue;
      after->trial = text.substr(0, text.size() - word.size());
      after->milestone = milestone;
    }
    all.push_back(std::move(after));
  }
  return all;
}

// Sets the resources and limits of each task in `options`.
absl::Status SetResources(const TaskResourceFlags& flags, msg::TrialOptionsT* options) {
  JobDraft draft;
  if (absl::Status status = flags.Apply(&draft); !status.ok()) return status;
  if (draft.spec.groups.empty()) return absl::OkStatus();
  msg::TaskGroupT& task = *draft.spec.groups.front();
  options->resources = std::move(task.resources);
  options->process_limits = std::move(task.process_limits);
  options->control_limits = std::move(task.control_limits);
  return absl::OkStatus();
}

}  // namespace

void TrialFlags::Declare(OptionSet& options) {
  options.Add("--grid", grid_, "NAME=V1,V2: a trial for each combination; {NAME} is its value.");
  options.Hidden("--configs", configs_);
  options.HiddenFlag("--fail_fast", fail_fast_);
  options.HiddenFlag("--again", again_);
  options.Hidden("--from", from_);
  options.Hidden("--after", after_);
  DeclareForSweep(options);
  options.Footer(kOthers);
}

void TrialFlags::DeclareForSweep(OptionSet& options) {
  options.Hidden("--function", function_);
  options.Hidden("--output", output_);
  options.Hidden("--restore", restore_);
  options.Hidden("--priority", priority_);
  options.Hidden("--not_before", not_before_);
  options.Hidden("--label", labels_);
  options.Hidden("--stop", stop_);
  options.Hidden("--plateau", plateau_);
  options.Hidden("--time_budget", time_budget_);
  options.Hidden("--heartbeat", heartbeat_);
  options.Hidden("--grace", grace_);
  options.Hidden("--max_run_time", max_run_time_);
  options.Hidden("--alert", alerts_);
  options.Hidden("--stall_steps", stall_steps_);
  options.Hidden("--on_end", on_end_);
  options.Hidden("--required_metric", required_metrics_);
  options.Hidden("--keep_checkpoints", keep_checkpoints_);
  options.Hidden("--checkpoint_metric", checkpoint_metric_);
  tasks_.DeclareHidden(options);
  resources_.DeclareHidden(options);
  options.Hidden("--at", pool_);
  along_.Declare(options);
  engine_.Declare(options);
  options.Hidden("--checkpoint_bytes", checkpoint_bytes_);
  options.HiddenFlag("--durable", durable_);
  options.HiddenFlag("--share_gpu", share_gpu_);
}

bool TrialFlags::SetDefault(const std::string& flag, const std::vector<std::string>& values) {
  const std::map<std::string, std::string*> texts = {{"function", &function_},
                                                     {"output", &output_},
                                                     {"restore", &restore_},
                                                     {"priority", &priority_},
                                                     {"not_before", &not_before_},
                                                     {"plateau", &plateau_},
                                                     {"time_budget", &time_budget_},
                                                     {"heartbeat", &heartbeat_},
                                                     {"grace", &grace_},
                                                     {"max_run_time", &max_run_time_},
                                                     {"stall_steps", &stall_steps_},
                                                     {"on_end", &on_end_},
                                                     {"keep_checkpoints", &keep_checkpoints_},
                                                     {"checkpoint_metric", &checkpoint_metric_},
                                                     {"checkpoint_bytes", &checkpoint_bytes_},
                                                     {"at", &pool_}};
  const std::map<std::string, std::vector<std::string>*> lists = {
      {"label", &labels_},
      {"stop", &stop_},
      {"required_metric", &required_metrics_},
      {"alert", &alerts_}};
  const std::map<std::string, bool*> switches = {{"durable", &durable_},
                                                 {"share_gpu", &share_gpu_}};
  if (const auto text = texts.find(flag); text != texts.end()) {
    if (text->second->empty() && !values.empty()) *text->second = values.back();
  } else if (const auto list = lists.find(flag); list != lists.end()) {
    if (list->second->empty()) *list->second = values;
  } else if (const auto is_on = switches.find(flag); is_on != switches.end()) {
    *is_on->second = *is_on->second || (!values.empty() && values.back() == "true");
  } else {
    return resources_.SetDefault(flag, values) || tasks_.SetDefault(flag, values) ||
           engine_.SetDefault(flag, values);
  }
  return true;
}

absl::StatusOr<msg::TrialOptionsT> TrialFlags::Options(const std::string& working_directory) const {
  msg::TrialOptionsT options;
  const auto priority = ParseNumber("--priority", priority_, 0,
                                    std::numeric_limits<std::int32_t>::min(), "a whole number");
  if (!priority.ok()) return priority.status();
  const auto keep = ParseNumber("--keep_checkpoints", keep_checkpoints_, kKeptCheckpoints, -1,
                                "how many are kept, from 0, or -1 for all");
  if (!keep.ok()) return keep.status();
  const auto bytes = ParseSize(checkpoint_bytes_.empty() ? "0" : checkpoint_bytes_);
  if (!bytes || (*bytes == 0 && !checkpoint_bytes_.empty())) {
    return Wrong("--checkpoint_bytes", kSizeForm, checkpoint_bytes_);
  }
  const auto budget = ParseLimit("--time_budget", time_budget_, std::int64_t{1} << 40);
  if (!budget.ok()) return budget.status();
  const auto max_run_time = ParseLimit("--max_run_time", max_run_time_, std::int64_t{1} << 40);
  if (!max_run_time.ok()) return max_run_time.status();
  const auto heartbeat =
      ParseLimit("--heartbeat", heartbeat_, std::numeric_limits<std::uint32_t>::max());
  if (!heartbeat.ok()) return heartbeat.status();
  const auto stall =
      ParseNumber("--stall_steps", stall_steps_, 0, -1, "a number of steps, or -1 for never");
  if (!stall.ok()) return stall.status();
  auto stop = ParseStop(stop_);
  if (!stop.ok()) return stop.status();
  auto plateau = ParsePlateau(plateau_);
  if (!plateau.ok()) return plateau.status();
  if (!from_.empty() && !restore_.empty()) {
    return absl::InvalidArgumentError("--from and --restore: a trial starts from one of them");
  }
  if (!not_before_.empty()) {
    const auto moment = ParseMomentToCome(not_before_, absl::Now(), absl::LocalTimeZone());
    if (!moment) return Wrong("--not_before", kMomentToComeForm, not_before_);
    options.not_before_us = absl::ToUnixMicros(*moment);
  }
  if (!runs_in_pool_) {
    if (absl::Status along = along_.Check(pool_); !along.ok()) return along;
  }
  if (auto engine = engine_.Wish(); !engine.ok()) return engine.status();
  if (!function_.empty() && !pool_.empty()) {
    return absl::InvalidArgumentError(
        "--at: a function runs in the trainer, and nowhere else; next: give a program");
  }
  options.pool = pool_;
  options.function = function_;
  options.output_reports = output_;
  options.priority = *priority;
  options.keep_checkpoints = *keep;
  options.time_budget_ms = static_cast<std::uint64_t>(*budget);
  options.max_run_time_ms = static_cast<std::uint64_t>(*max_run_time);
  options.heartbeat_ms = static_cast<std::uint32_t>(*heartbeat);
  options.stop = *std::move(stop);
  options.plateau = *std::move(plateau);
  options.labels = labels_;
  options.required_metrics = required_metrics_;
  options.checkpoint_metric = checkpoint_metric_;
  options.checkpoint_bytes = *bytes;
  options.durable = durable_;
  options.share_gpu = share_gpu_;
  options.alerts = alerts_;
  options.stall_steps = *stall;
  options.on_end = on_end_;
  if (!restore_.empty()) {
    auto restore = CallersPath("--restore", restore_, working_directory);
    if (!restore.ok()) return restore.status();
    options.restore = *std::move(restore);
  }
  options.fail_fast = fail_fast_;
  options.after = ParseAfter(after_);
  for (const auto& after : options.after) {
    if (after->trial.empty()) return Wrong("--after", "TRIAL, TRIAL:end or TRIAL:start", "");
  }
  auto tasks = ParseTasks(tasks_);
  if (!tasks.ok()) return tasks.status();
  options.tasks = *std::move(tasks);
  if (absl::Status status = SetResources(resources_, &options); !status.ok()) return status;
  return options;
}

absl::StatusOr<std::uint32_t> TrialFlags::GraceMs() const {
  const auto grace = ParseLimit("--grace", grace_, std::numeric_limits<std::uint32_t>::max());
  if (!grace.ok()) return grace.status();
  return static_cast<std::uint32_t>(*grace);
}

void TakeTasksFrom(msg::TrialOptionsT other, msg::TrialOptionsT* options) {
  if (options->pool.empty()) options->pool = std::move(other.pool);
  if (options->tasks.empty()) options->tasks = std::move(other.tasks);
  if (options->resources.empty()) options->resources = std::move(other.resources);
  if (options->process_limits.empty()) options->process_limits = std::move(other.process_limits);
  if (options->control_limits == nullptr) {
    options->control_limits = std::move(other.control_limits);
  }
  options->share_gpu = options->share_gpu || other.share_gpu;
}

}  // namespace yard
