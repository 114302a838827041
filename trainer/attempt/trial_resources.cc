#include "trainer/attempt/trial_resources.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/byte_size.h"
#include "runtime/text/json_value.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxName = 32;
constexpr std::size_t kMaxRequests = 64;  // For resources, and for limits.
constexpr std::uint64_t kLongestRunMs = 100ull * 365 * 24 * 3600 * 1000;
constexpr std::string_view kJob = "j-";

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// `kind` is "resource" or "process limit".
template <typename Requests>
absl::Status CheckNames(const Requests& requests, const char* kind) {
  if (requests.size() > kMaxRequests) {
    return Invalid(requests.size(), " ", kind, "s are asked for, more than ", kMaxRequests);
  }
  std::set<std::string> names;
  for (const auto& request : requests) {
    if (!IsName(request->name)) {
      return Invalid(kind, " ", runtime::Quote(request->name),
                     ": not a name of at most 32 letters, digits, underscores and dashes");
    }
    if (!names.insert(request->name).second) {
      return Invalid(kind, " ", request->name, " is asked for twice");
    }
  }
  return absl::OkStatus();
}

bool AsksForAnything(const msg::TrialOptionsT& options) {
  return !options.resources.empty() || !options.process_limits.empty() ||
         options.control_limits != nullptr;
}

template <typename T>
std::vector<std::unique_ptr<T>> Copies(const std::vector<std::unique_ptr<T>>& all) {
  std::vector<std::unique_ptr<T>> copies;
  for (const auto& one : all) copies.push_back(std::make_unique<T>(*one));
  return copies;
}

// Returns the length of a job id at the start of `text`: "j-" and letters or digits. 0 if none.
std::size_t JobIdLength(std::string_view text) {
  if (text.substr(0, kJob.size()) != kJob) return 0;
  const auto end = std::find_if_not(text.begin() + kJob.size(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  });
  const auto length = static_cast<std::size_t>(end - text.begin());
  return length > kJob.size() ? length : 0;
}

// Returns the length of "/" and a task's name at the start of `text`; 0 if none.
std::size_t TaskNameLength(std::string_view text) {
  if (text.empty() || text[0] != '/') return 0;
  const auto end = std::find_if_not(text.begin() + 1, text.end(), IsNameCharacter);
  return static_cast<std::size_t>(end - text.begin());
}

}  // namespace

absl::Status CheckResources(const msg::TrialOptionsT& options) {
  if (auto status = CheckNames(options.resources, "resource"); !status.ok()) return status;
  if (auto status = CheckNames(options.process_limits, "process limit"); !status.ok()) {
    return status;
  }
  if (options.max_run_time_ms > kLongestRunMs) {
    return Invalid("max_run_time_ms: ", options.max_run_time_ms,
                   " is more than a hundred years (0: no limit)");
  }
  for (const auto& request : options.resources) {
    if (request->amount == 0) {
      return Invalid("resource ", request->name, ": an amount of 0; leave it out");
    }
  }
  for (const auto& limit : options.process_limits) {
    if (limit->soft > limit->hard) {
      return Invalid("process limit ", limit->name, ": the soft one, ", limit->soft,
                     ", is above the hard one, ", limit->hard);
    }
  }
  return absl::OkStatus();
}

void SetResources(const msg::TrialOptionsT& options, msg::JobSpecT* job) {
  job->share_sets = options.share_gpu;
  if (!AsksForAnything(options)) return;
  if (job->groups.empty()) {
    auto group = std::make_unique<msg::TaskGroupT>();
    group->type = job->task_type;
    group->count = 1;
    job->groups.push_back(std::move(group));
  }
  for (const auto& group : job->groups) {
    group->resources = Copies(options.resources);
    group->process_limits = Copies(options.process_limits);
    if (options.control_limits == nullptr) continue;
    group->control_limits = std::make_unique<msg::ControlLimitsT>(*options.control_limits);
  }
}

std::optional<std::int64_t> StartOf(const msg::JobT& job) {
  std::optional<std::int64_t> first;
  for (const auto& task : job.tasks) {
    if (task->attempts.empty()) continue;
    const std::int64_t started_us = task->attempts.front()->started_us;
    if (!first || *first == 0 || (started_us != 0 && started_us < *first)) first = started_us;
  }
  return first;
}

std::string WhyJobWaits(const msg::JobT& job,
                        const std::function<const TrialRecord*(const std::string& job)>& trial_of) {
  if (job.state != msg::TaskState::Pending) return "";
  std::string why;
  std::string_view rest = job.reason;
  while (!rest.empty()) {
    const bool begins_word = why.empty() || why.back() == ' ';
    const std::size_t length = begins_word ? JobIdLength(rest) : 0;
    const TrialRecord* const trial =
        length == 0 ? nullptr : trial_of(std::string(rest.substr(0, length)));
    if (trial == nullptr) {
      why += rest.substr(0, std::max<std::size_t>(length, 1));
      rest.remove_prefix(std::max<std::size_t>(length, 1));
      continue;
    }
    why += trial->id();
    rest.remove_prefix(length);
    // A trial's only task is named like the trial: its task name is dropped.
    if (trial->spec.options.tasks.empty()) rest.remove_prefix(TaskNameLength(rest));
  }
  return why;
}

std::string WhyBehind(const msg::TrialOptionsT& options, const AwaitedResources& awaited) {
  for (const std::string& name : AwaitedBy(options)) {
    const auto waiting = awaited.find(name);
    if (waiting == awaited.end()) continue;
    return absl::StrCat("waits for ", name, " behind ", waiting->second);
  }
  return "";
}

std::vector<std::string> AwaitedBy(const msg::TrialOptionsT& options) {
  if (!options.pool.empty()) return {absl::StrCat("pool ", options.pool)};
  std::vector<std::string> names;
  for (const auto& request : options.resources) names.push_back(request->name);
  return names;
}

std::string OutOfMemoryWords(std::uint64_t limit, const std::string& reason) {
  return absl::StrCat("out of memory, with a limit of ", runtime::ByteSize(limit),
                      " for each task (--memory): ", reason);
}

}  // namespace trainer
