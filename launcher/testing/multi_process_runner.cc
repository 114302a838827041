#include "launcher/testing/multi_process_runner.h"

#include <stdlib.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/child.h"
#include "launcher/testing/init.h"
#include "launcher/testing/parent/children.h"
#include "launcher/testing/parent/kept_runs.h"

namespace launcher::testing {
namespace {

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
    : cluster_spec_(std::move(cluster_spec)),
      options_(std::move(options)),
      children_(Children::Create(options_, TaskNames(cluster_spec_))),
      function_(std::move(function)) {}

MultiProcessRunner::~MultiProcessRunner() { ReleaseRun(children_); }

absl::Status MultiProcessRunner::SetArgs(const Arguments& arguments) {
  runtime::MutexLock lock(mutex_);
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
  if (call.bytes->size() > kMaxContent) {
    return absl::InvalidArgumentError(absl::StrCat(call.function, " with ", call.bytes->size(),
                                                   " bytes of arguments, more than ", kMaxContent));
  }
  if (options_.max_run_time < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("max_run_time is negative (zero: no limit)");
  }
  if (joined_) return absl::FailedPreconditionError("the runner has been joined already");
  return CheckClusterSpec(cluster_spec_);
}

absl::StatusOr<Call> MultiProcessRunner::BeginStart() {
  if (absl::Status status = CheckReady(function_); !status.ok()) return status;
  if (started_) return absl::FailedPreconditionError("the runner has been started already");
  started_ = true;
  return function_;
}

absl::Status MultiProcessRunner::StartAllBut(const std::string& name, const Call& call) {
  LetGoOfPorts(cluster_spec_);
  std::vector<Children::Task> tasks;
  for (const auto& [type, addresses] : cluster_spec_) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      Children::Task task{type, static_cast<int>(i), call, cluster_spec_};
      if (task.name() != name) tasks.push_back(std::move(task));
    }
  }
  KeepRun(children_);
  return children_->Start(tasks);
}

absl::Status MultiProcessRunner::Start() {
  runtime::MutexLock lock(mutex_);
  const auto call = BeginStart();
  if (!call.ok()) return call.status();
  return StartAllBut("", *call);
}

absl::Status MultiProcessRunner::StartInProcessAs(const std::string& type, int index) {
  absl::StatusOr<Call> call;
  {
    runtime::MutexLock lock(mutex_);
    call = BeginStart();
    if (!call.ok()) return call.status();
    const std::string name = TaskName(type, index);
    if (name == "chief-0") children_->IgnoreChief();
    // (Set before the thread starts that reads the environment when it restarts a task.)
    setenv("TF_CONFIG", TfConfigOf(cluster_spec_, options_.rpc_layer, type, index).c_str(), 1);
    if (absl::Status status = StartAllBut(name, *call); !status.ok()) return status;
  }
  return CallHere(call->function, *call->bytes).status;
}

absl::Status MultiProcessRunner::StartSingleProcess(const std::string& type, int index,
                                                    const Overrides& overrides) {
  if (overrides.arguments && !overrides.function) {
    return absl::InvalidArgumentError("arguments without a function");
  }
  const ClusterSpec& spec = overrides.cluster_spec ? *overrides.cluster_spec : cluster_spec_;
  if (absl::Status status = CheckClusterSpec(spec); !status.ok()) return status;
  if (absl::Status status = CheckTask(spec, type, index); !status.ok()) return status;
  runtime::MutexLock lock(mutex_);
  Call call = overrides.function.value_or(function_);
  if (overrides.arguments) {
    if (absl::Status status = Give(*overrides.arguments, &call); !status.ok()) return status;
  }
  if (absl::Status status = CheckReady(call); !status.ok()) return status;
  started_ = true;
  LetGoOfPorts(spec);
  KeepRun(children_);
  return children_->Start({{type, index, std::move(call), spec}});
}

std::optional<pid_t> MultiProcessRunner::GetProcessId(const std::string& type, int index) const {
  return children_->Pid(TaskName(type, index));
}

absl::StatusOr<std::optional<int>> MultiProcessRunner::GetProcessExitCode(const std::string& type,
                                                                          int index) const {
  const auto ended = children_->LookAt(TaskName(type, index));
  if (!ended.ok()) return ended.status();
  return ended->exit_code;
}

absl::StatusOr<bool> MultiProcessRunner::ProcessExists(const std::string& type, int index) const {
  const auto ended = children_->LookAt(TaskName(type, index));
  if (!ended.ok()) return ended.status();
  return !ended->exit_code.has_value();
}

absl::Status MultiProcessRunner::Terminate(const std::string& type, int index) {
  return children_->Terminate(TaskName(type, index));
}

absl::Status MultiProcessRunner::AwaitExit(const std::string& type, int index,
                                           absl::Duration timeout) const {
  return children_->AwaitExit(TaskName(type, index), timeout);
}

void MultiProcessRunner::TerminateAll(int signal) { children_->TerminateAll(signal); }

Outcome MultiProcessRunner::Join(absl::Duration timeout) {
  if (timeout < absl::ZeroDuration()) {
    return Failed(RunError::kWrongCall,
                  absl::InvalidArgumentError("joining with a negative time-out"));
  }
  {
    runtime::MutexLock lock(mutex_);
    if (joined_ || !started_) {
      return WrongStart(absl::FailedPreconditionError(joined_ ? "the runner has been joined already"
                                                              : "the runner has not been started"));
    }
    joined_ = true;
  }
  if (!children_->AwaitEnd(timeout)) {
    children_->Stop(options_.force_kill_wait);
    children_->AwaitEnd(options_.force_kill_wait + Children::kKillTime);
  }
  Outcome outcome = children_->Collect();
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
