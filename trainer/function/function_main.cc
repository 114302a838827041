#include "trainer/function/function_main.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/process/exit_code.h"
#include "runtime/text/string_view.h"
#include "runtime/thread.h"
#include "trainer/function/function_process.h"
#include "trainer/function/functions.h"
#include "trainer/function/program_channel.h"

namespace trainer {
namespace {

constexpr int kToldToEnd = 128 + SIGTERM;

// An eventfd that the signal handler writes to. (Signals are not blocked, because programs that the
// function starts would inherit the mask.)
int signalled = -1;
volatile sig_atomic_t told_to_end = 0;

void OnSignal(int) {
  told_to_end = 1;
  const std::uint64_t one = 1;
  (void)!write(signalled, &one, sizeof one);
}

absl::Status CatchSignals() {
  signalled = eventfd(0, EFD_CLOEXEC);
  if (signalled < 0) return absl::ErrnoToStatus(errno, "making an eventfd");
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT}) {
    if (sigaction(signal, &action, nullptr) != 0) {
      return absl::ErrnoToStatus(errno, "catching signals");
    }
  }
  return absl::OkStatus();
}

// Also true if the attempt is unknown.
bool IsFirstAttempt() {
  const char* const attempt = std::getenv("YARD_ATTEMPT");
  return attempt == nullptr || std::string_view(attempt) == "1";
}

int Exit(const std::string& function, const absl::Status& status) {
  return runtime::ReportAndExitCode(absl::StrCat("function ", function), status);
}

}  // namespace

std::vector<std::string> FunctionCommand(const std::string& executable, const std::string& function,
                                         absl::Duration heartbeat) {
  std::vector<std::string> command = {executable, absl::StrCat("--run_function=", function)};
  if (heartbeat > absl::ZeroDuration()) {
    command.push_back(absl::StrCat("--heartbeat=", absl::FormatDuration(heartbeat / 4)));
  }
  return command;
}

int FunctionMain(const std::string& name, absl::Duration heartbeat) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging("function");
  auto channel = ProgramChannel::FromEnvironment();
  if (!channel.ok()) return Exit(name, channel.status());
  auto function = FindFunction(name);
  if (!function.ok()) {
    channel->SendFailure(runtime::Std(function.status().message()));
    return Exit(name, function.status());
  }
  const char* const directory = std::getenv("YARD_LOGDIR");
  // Shared with the signal thread, which never ends.
  const auto process = std::make_shared<FunctionProcess>(
      *std::move(function), *std::move(channel),
      FunctionProcess::Options{.run_directory = directory == nullptr ? "." : directory,
                               .heartbeat = heartbeat,
                               .is_first_attempt = IsFirstAttempt()});
  if (auto caught = CatchSignals(); !caught.ok()) return Exit(name, caught);
  const runtime::Thread signals("signals", [process] {
    for (std::uint64_t count = 0; read(signalled, &count, sizeof count) > 0;) {
      process->RequestStop();
    }
  });
  const absl::Status ended = process->Run();
  int code = runtime::kExitOk;
  if (told_to_end != 0) {
    code = kToldToEnd;
  } else if (!ended.ok()) {
    code = runtime::kExitFailed;
    std::fprintf(stderr, "%s\n", std::string(ended.message()).c_str());
  }
  if (!process->still_runs()) return code;
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace trainer
