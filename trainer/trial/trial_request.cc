#include "trainer/trial/trial_request.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/file/own_directory.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"
#include "trainer/attempt/trial_cluster.h"
#include "trainer/attempt/trial_resources.h"
#include "trainer/function/functions.h"
#include "trainer/report/metric_rule.h"
#include "trainer/report/output_format.h"
#include "trainer/report/stop_criteria.h"
#include "trainer/run/run_configuration.h"
#include "trainer/run/run_provenance.h"
#include "trainer/trial/trial_order.h"

namespace trainer {
namespace {

constexpr std::int64_t kDefaultGraceMs = 10'000;
constexpr std::size_t kLongestCommand = 16 << 10;

absl::Status CheckWords(const std::vector<std::string>& words, std::string_view what) {
  for (const std::string& word : words) {
    if (word.find('\0') != word.npos) {
      return absl::InvalidArgumentError(absl::StrCat(runtime::Absl(what), " holds a NUL byte"));
    }
  }
  return absl::OkStatus();
}

bool IsAbsolute(const std::string& path) {
  return !path.empty() && path[0] == '/' && path.find('\0') == path.npos;
}

absl::Status CheckCheckpointOptions(const msg::TrialOptionsT& options) {
  if (!options.from.empty() && !options.restore.empty()) {
    return absl::InvalidArgumentError("from and restore are both given: a trial starts from one");
  }
  if (!options.restore.empty() && !IsAbsolute(options.restore)) {
    return absl::InvalidArgumentError(
        absl::StrCat("restore ", options.restore, " is no absolute path"));
  }
  if (options.keep_checkpoints < -1) {
    return absl::InvalidArgumentError(absl::StrCat("keep_checkpoints ", options.keep_checkpoints,
                                                   " is no number from 0 on, and not -1 for all"));
  }
  if (options.checkpoint_metric == "min-") {
    return absl::InvalidArgumentError("checkpoint_metric min- names no metric: write min-NAME");
  }
  return absl::OkStatus();
}

absl::Status CheckOutput(const msg::TrialOptionsT& options) {
  if (options.output_reports.empty()) return absl::OkStatus();
  if (auto format = OutputFormat::From(options.output_reports); !format.ok()) {
    return format.status();
  }
  if (options.function.empty() && options.tasks.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output ", options.output_reports,
                   ": reports are read from the output of a "
                   "program of one task, not of ",
                   options.function.empty() ? "several" : "a function"));
}

absl::Status CheckAlerts(const msg::TrialOptionsT& options) {
  if (auto rules = MetricRule::ParseAll(options.alerts); !rules.ok()) return rules.status();
  if (options.on_end.size() > kLongestCommand || options.on_end.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("on_end has ", options.on_end.size(),
                                                   " bytes; it may have ", kLongestCommand,
                                                   ", and no NUL byte"));
  }
  return absl::OkStatus();
}

// Checks that the request has a program, or a function of this program.
absl::Status CheckWhatRuns(const msg::RunTrialRequestT& request) {
  const std::string function = request.options == nullptr ? "" : request.options->function;
  if (function.empty()) {
    if (!request.argv.empty() && !request.argv[0].empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("argv is empty: no program to run");
  }
  if (!request.argv.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("argv and function ", function, " are both given: a trial runs one of them"));
  }
  if (!request.options->tasks.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("function ", function, " and tasks are both given: a function is one task"));
  }
  const auto found = FindFunction(function);
  return found.ok() ? absl::OkStatus() : absl::InvalidArgumentError(found.status().message());
}

}  // namespace

absl::Status CheckRunName(std::string_view name) {
  std::string_view problem;
  if (name.empty() || name.size() > 200) problem = "it must have 1 to 200 bytes";
  if (!name.empty() && name[0] == '.') problem = "it must not begin with a dot";
  // (Every program would take its directory for a flag.)
  if (!name.empty() && name[0] == '-') problem = "it must not begin with a -";
  for (const char c : name) {
    if (c == '/') problem = "it must not hold a slash";
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      problem = "it must not hold a control character";
    }
  }
  if (problem.empty() && runtime::ValidUtf8(name) != name) problem = "it must be UTF-8";
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot call a run ", runtime::Quote(name), ": ", runtime::Absl(problem)));
}

absl::StatusOr<TrialSpec> SpecFrom(const msg::RunTrialRequestT& request, const std::string& id,
                                   const std::string& logdir) {
  if (auto status = CheckWhatRuns(request); !status.ok()) return status;
  TrialSpec spec;
  spec.name = request.name.empty() ? id : request.name;
  if (auto status = CheckRunName(spec.name); !status.ok()) return status;
  if (auto status = CheckWords(request.argv, "argv"); !status.ok()) return status;
  if (auto status = CheckWords(request.environment, "environment"); !status.ok()) return status;
  const std::string& directory = request.logdir.empty() ? logdir : request.logdir;
  if (!IsAbsolute(directory)) {
    return absl::InvalidArgumentError(absl::StrCat("logdir ", directory, " is no absolute path"));
  }
  if (!IsAbsolute(request.working_directory)) {
    return absl::InvalidArgumentError(
        absl::StrCat("working_directory ", request.working_directory, " is no absolute path"));
  }
  auto config = ParseConfiguration(request.config);
  if (!config.ok()) return config.status();
  spec.argv = request.argv;
  spec.environment = request.environment;
  spec.working_directory = request.working_directory;
  spec.run_directory = absl::StrCat(directory, directory.back() == '/' ? "" : "/", spec.name);
  spec.config = *std::move(config);
  spec.max_restarts = request.max_restarts;
  spec.seed = request.seed;
  spec.stop_grace_ms = request.stop_grace_ms == 0 ? kDefaultGraceMs : request.stop_grace_ms;
  if (request.options != nullptr) {
    auto status = CheckLabelsAndProvenance(*request.options);
    if (!status.ok()) return status;
    spec.options = *request.options;
    spec.options.attached_pid = 0;
    spec.options.annotated = !spec.options.note.empty() || !spec.options.display_name.empty();
  }
  if (auto status = CheckCheckpointOptions(spec.options); !status.ok()) return status;
  if (auto status = CheckTasks(spec.options); !status.ok()) return status;
  if (auto status = CheckResources(spec.options); !status.ok()) return status;
  if (auto status = CheckOutput(spec.options); !status.ok()) return status;
  if (auto status = CheckAlerts(spec.options); !status.ok()) return status;
  if (auto status = CheckAfter(spec.options); !status.ok()) return status;
  if (auto criteria = StopCriteria::From(spec.options); !criteria.ok()) return criteria.status();
  return spec;
}

absl::Status CheckDirectoryIsFree(const std::string& directory) {
  if (auto status = runtime::CheckOwnDirectory(directory); !status.ok()) return status;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name == "result.json" || name == "progress.csv" || name == "params.json" ||
        name.find("tfevents") != name.npos || name.substr(0, 11) == "checkpoint_") {
      return absl::AlreadyExistsError(absl::StrCat(directory, " holds results already (", name,
                                                   "): choose another name or remove it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace trainer
