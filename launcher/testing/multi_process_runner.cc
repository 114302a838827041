#include "launcher/testing/multi_process_runner.h"

#include <stdlib.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launcher/testing/child.h"
#include "launcher/testing/children.h"
#include "launcher/testing/init.h"

namespace launcher::testing {
namespace {

// What is left of the kill, once the wait before it is over.
constexpr absl::Duration kKillTime = absl::Seconds(60);

absl::Status NotInitialized() {
  return absl::FailedPreconditionError(
      "this test has the wrong main(): link //launcher/testing:multi_process_main instead of "
      "gtest_main, or call launcher::testing::Init() first thing in main()");
}

Outcome Failed(RunError error, absl::Status status) {
  Outcome outcome;
  outcome.error = error;
  outcome.status = std::move(status);
  return outcome;
}

Outcome WrongStart(absl::Status status) {
  return Failed(IsInitialized() ? RunError::kWrongCall : RunError::kNotInitialized,
                std::move(status));
}

absl::Status Give(const Arguments& arguments, Call* call) {
  if (arguments.function.empty()) return absl::OkStatus();
  if (arguments.function != call->function) {
    return absl::InvalidArgumentError(
        absl::StrCat("arguments of ", arguments.function, " for ",
                     call->function.empty() ? "no function" : call->function));
  }
  call->bytes = arguments.bytes;
  call->given = arguments.given;
  return absl::OkStatus();
}

}  // namespace

MultiProcessRunner::MultiProcessRunner(Call function, ClusterSpec cluster_spec, Options options)
    : function_(std::move(function)),
      cluster_spec_(std::move(cluster_spec)),
      options_(std::move(options)),
      run_(Children::Create(options_, TaskNames(cluster_spec_))) {}

MultiProcessRunner::~MultiProcessRunner() { Children::Release(run_); }

absl::Status MultiProcessRunner::SetArgs(const Arguments& arguments) {
  return Give(arguments, &function_);
}

absl::Status MultiProcessRunner::CheckReady(const Call& call) const {
  if (!IsInitialized()) return NotInitialized();
  if (!IsFunction(call.function)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", call.function, "\" is no function"));
  }
  if (!call.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(call.function, " without its arguments"));
  }
  if (joined_) return absl::FailedPreconditionError("the runner has been joined already");
  if (absl::Status status = CheckClusterSpec(cluster_spec_); !status.ok()) return status;
  return absl::OkStatus();
}

absl::Status MultiProcessRunner::CheckStart() const {
  if (absl::Status status = CheckReady(function_); !status.ok()) return status;
  if (started_) return absl::FailedPreconditionError("the runner has been started already");
  return absl::OkStatus();
}

absl::Status MultiProcessRunner::Start() {
  if (absl::Status status = CheckStart(); !status.ok()) return status;
  started_ = true;
  LetGoOfPorts(cluster_spec_);
  std::vector<Children::Task> tasks;
  for (const auto& [type, addresses] : cluster_spec_) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      tasks.push_back({type, static_cast<int>(i), function_, cluster_spec_});
    }
  }
  Children::Keep(run_);
  return run_->Start(tasks);
}

absl::Status MultiProcessRunner::StartInProcessAs(const std::string& type, int index) {
  if (absl::Status status = CheckStart(); !status.ok()) return status;
  started_ = true;
  LetGoOfPorts(cluster_spec_);
  std::vector<Children::Task> tasks;
  for (const auto& [other, addresses] : cluster_spec_) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (other == type && static_cast<int>(i) == index) continue;
      tasks.push_back({other, static_cast<int>(i), function_, cluster_spec_});
    }
  }
  if (TaskName(type, index) == "chief-0") run_->IgnoreChief();
  Children::Keep(run_);
  if (absl::Status status = run_->Start(tasks); !status.ok()) return status;
  setenv("TF_CONFIG", TfConfigOf(cluster_spec_, options_.rpc_layer, type, index).c_str(), 1);
  return CallHere(function_.function, *function_.bytes).status;
}

absl::Status MultiProcessRunner::StartSingleProcess(const std::string& type, int index,
                                                    const Overrides& overrides) {
  Call call = overrides.function.value_or(function_);
  if (overrides.arguments && !overrides.function) {
    return absl::InvalidArgumentError("arguments without a function");
  }
  if (overrides.arguments) {
    if (absl::Status status = Give(*overrides.arguments, &call); !status.ok()) return status;
  }
  if (absl::Status status = CheckReady(call); !status.ok()) return status;
  if (type.empty() || index < 0) {
    return absl::InvalidArgumentError(absl::StrCat("no task: \"", TaskName(type, index), "\""));
  }
  const ClusterSpec& spec = overrides.cluster_spec ? *overrides.cluster_spec : cluster_spec_;
  if (absl::Status status = CheckClusterSpec(spec); !status.ok()) return status;
  LetGoOfPorts(spec);
  started_ = true;
  Children::Keep(run_);
  return run_->Start({{type, index, std::move(call), spec}});
}

std::optional<pid_t> MultiProcessRunner::GetProcessId(const std::string& type, int index) const {
  return run_->Pid(TaskName(type, index));
}

absl::StatusOr<std::optional<int>> MultiProcessRunner::GetProcessExitCode(const std::string& type,
                                                                          int index) const {
  const auto ended = run_->LookAt(TaskName(type, index));
  if (!ended.ok()) return ended.status();
  return ended->exit_code;
}

absl::StatusOr<bool> MultiProcessRunner::ProcessExists(const std::string& type, int index) const {
  const auto ended = run_->LookAt(TaskName(type, index));
  if (!ended.ok()) return ended.status();
  return !ended->exit_code.has_value();
}

absl::Status MultiProcessRunner::Terminate(const std::string& type, int index) {
  return run_->Terminate(TaskName(type, index));
}

void MultiProcessRunner::TerminateAll(int signal) { run_->TerminateAll(signal); }

Outcome MultiProcessRunner::Join(absl::Duration timeout) {
  if (timeout < absl::ZeroDuration()) {
    return Failed(RunError::kWrongCall,
                  absl::InvalidArgumentError("joining with a negative time-out"));
  }
  if (joined_ || !started_) {
    return WrongStart(absl::FailedPreconditionError(joined_ ? "the runner has been joined already"
                                                            : "the runner has not been started"));
  }
  joined_ = true;
  if (timeout == absl::ZeroDuration() || !run_->AwaitEnd(timeout)) {
    run_->Stop(options_.force_kill_wait);
    run_->AwaitEnd(options_.force_kill_wait + kKillTime);
  }
  Outcome outcome = run_->Collect();
  if (outcome.error == RunError::kTimeout) {
    outcome.status = absl::DeadlineExceededError(
        absl::StrCat("the tasks have not ended in ", absl::FormatDuration(timeout)));
  }
  return outcome;
}

Outcome MultiProcessRunner::Run(absl::Duration timeout) {
  if (absl::Status status = Start(); !status.ok()) return WrongStart(std::move(status));
  return Join(timeout);
}

Outcome RunProcesses(const Call& function, const ClusterSpec& cluster_spec,
                     const RunOptions& options, absl::Duration timeout) {
  return MultiProcessRunner(function, cluster_spec, options).Run(timeout);
}

absl::StatusOr<Barrier> GetBarrier() {
  if (!TaskOfThisProcess()) {
    return absl::FailedPreconditionError("a barrier in a process that no runner has started");
  }
  return Barrier();
}

}  // namespace launcher::testing
