#include "tools/yard/services/service_start.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"
#include "runtime/text/string_view.h"
#include "tools/yard/state/processes.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_output.h"
#include "tools/yard/state/service_presence.h"

namespace yard {
namespace {

// Time for a lost or restarting service to return; services check every second.
constexpr absl::Duration kMoment = absl::Milliseconds(1600);
// A service that has reported kLoops causes while it was awaited for kLoopsFor is in a crash loop.
constexpr absl::Duration kLoopsFor = absl::Seconds(1);
constexpr std::size_t kLoops = 3;

std::string Suspended(const std::string& service, pid_t pid) {
  return absl::StrCat("the ", service, " (pid ", pid, ") is stopped by a signal; next: kill -CONT ",
                      pid);
}

// Watches the runtime directory, where locks and ready files appear and vanish. Without inotify,
// Wait() degrades to polling.
class DirectoryChange {
 public:
  explicit DirectoryChange(const std::string& directory)
      : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (fd_.valid()) {
      inotify_add_watch(fd_.get(), directory.c_str(),
                        IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE);
    }
  }
  // Waits for a change, at most 50 ms, because releasing a lock causes no event.
  void Wait(absl::Duration at_most) {
    pollfd ready = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const auto limit = std::min(at_most, absl::Milliseconds(50));
    (void)poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(limit)) + 1);
    char buffer[4096];
    while (read(fd_.get(), buffer, sizeof buffer) > 0) {
    }
  }

 private:
  runtime::UniqueFd fd_;
};

// Returns the caller's environment, with the GPUs that the yard was given.
std::vector<std::string> EnvironmentOf(const Context& context, const Wanted& wanted) {
  const std::string entry = std::string(kVisibleGpus) + "=";
  std::vector<std::string> environment = context.environment;
  std::erase_if(environment, [&](const std::string& one) { return one.starts_with(entry); });
  if (wanted.visible_gpus.has_value()) environment.push_back(entry + *wanted.visible_gpus);
  return environment;
}

bool AwaitChange(const Context& context, absl::Duration timeout,
                 const std::function<bool()>& condition) {
  DirectoryChange change(context.locations.runtime_directory);
  const absl::Duration deadline = context.clock->Monotonic() + timeout;
  for (;;) {
    if (condition()) return true;
    const absl::Duration left = deadline - context.clock->Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    change.Wait(left);
  }
}

}  // namespace

absl::Status MayStartServices(const Context& context) {
  for (const std::string& entry : context.environment) {
    for (const std::string_view mark : {"YARD_SOCKET=", "YARD_TRIAL_ID="}) {
      if (!entry.starts_with(mark)) continue;
      const std::string_view name = mark.substr(0, mark.size() - 1);
      return absl::FailedPreconditionError(
          absl::StrCat("this is inside a task (", runtime::Absl(name),
                       " is set): services started here would be killed with it; run `yard up` "
                       "from a shell outside"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<runtime::Subprocess> StartService(const Context& context, const std::string& service,
                                                 const Wanted& wanted) {
  if (absl::Status may = MayStartServices(context); !may.ok()) return may;
  const runtime::Locations& locations = context.locations;
  for (const std::string& directory :
       {locations.runtime_directory, locations.state_directory, locations.LogDirectory()}) {
    if (absl::Status made = runtime::MakePrivateDirectory(directory); !made.ok()) return made;
  }
  const auto program = runtime::FindBinary(service + "/" + service);
  if (!program.ok()) return program.status();
  const std::string output = OutputPath(locations, service);
  const runtime::UniqueFd out(
      open(output.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", output));
  std::vector<std::string> argv = FlagsOf(service, wanted);
  argv.insert(argv.begin(), *program);
  return runtime::Subprocess::Start({.argv = std::move(argv),
                                     .program = *program,
                                     .environment = EnvironmentOf(context, wanted),
                                     .working_directory = locations.state_directory,
                                     .fds = {{out.get(), 1}, {out.get(), 2}},
                                     .new_session = true});
}

namespace {

// Waits for one service of Awaited.
class Await {
 public:
  Await(const Context& context, std::string service, runtime::Subprocess* started,
        std::uint64_t output_begin)
      : context_(&context),
        service_(std::move(service)),
        started_(started),
        output_begin_(output_begin) {}

  const std::string& service() const { return service_; }

  // Returns an error if further waiting is pointless.
  absl::Status Look(absl::Duration waited) {
    const pid_t holder = HolderOf(context_->locations, service_);
    if (holder != 0 && IsSuspended(holder)) {
      return absl::UnavailableError(Suspended(service_, holder));
    }
    if (started_ != nullptr) {
      const auto ended = started_->Wait(absl::ZeroDuration());
      // A second copy refuses to run and leaves the work to the first, which is fine.
      const bool refused = ended.ok() && ended->code == runtime::kExitRefused && holder != 0;
      return ended.ok() && !refused ? CannotStart(ended->ToString()) : absl::OkStatus();
    }
    if (waited < kLoopsFor || Words().times < kLoops) return absl::OkStatus();
    return CannotStart("");
  }

  absl::Status TooLate(absl::Duration timeout) const {
    if (const std::string silent = WhyItIsSilent(*context_, service_); !silent.empty()) {
      return absl::DeadlineExceededError(silent);
    }
    const std::string said = Words().text();
    return absl::DeadlineExceededError(
        WithNextStep(absl::StrCat(service_, " not ready after ", absl::FormatDuration(timeout),
                                  ": ", said.empty() ? "it has said nothing" : said, " (",
                                  OutputPath(context_->locations, service_), ")"),
                     context_->locations, service_));
  }

 private:
  LastWords Words() const { return LastWordsOf(context_->locations, service_, output_begin_); }

  absl::Status CannotStart(const std::string& how) const {
    const LastWords words = Words();
    const std::string& why =
        words.cause.empty() && !how.empty()
            ? absl::StrCat(how, words.last_line.empty() ? "" : ": ", words.last_line)
            : words.text();
    return absl::UnavailableError(WithNextStep(
        absl::StrCat("the ", service_, " cannot start: ", why), context_->locations, service_));
  }

  const Context* context_;
  std::string service_;
  runtime::Subprocess* started_;
  std::uint64_t output_begin_;
};

using IsThere = bool (*)(const runtime::Locations&, const std::string& service);

absl::Status WaitUntil(IsThere is_there, const Context& context, Awaited& awaited,
                       absl::Duration timeout,
                       const std::function<void(const std::string&)>& ready) {
  std::vector<Await> left;
  for (const std::string& service : awaited.services) {
    const auto started = awaited.started.find(service);
    const auto begin = awaited.output_begins.find(service);
    left.emplace_back(context, service,
                      started == awaited.started.end() ? nullptr : &started->second,
                      begin == awaited.output_begins.end() ? OutputEnd(context.locations, service)
                                                           : begin->second);
  }
  const absl::Duration begun = context.clock->Monotonic();
  absl::Status hopeless;
  (void)AwaitChange(context, timeout, [&] {
    std::erase_if(left, [&](const Await& one) {
      if (!is_there(context.locations, one.service())) return false;
      ready(one.service());
      return true;
    });
    for (Await& one : left) {
      hopeless.Update(one.Look(context.clock->Monotonic() - begun));
    }
    return left.empty() || !hopeless.ok();
  });
  if (!hopeless.ok() || left.empty()) return hopeless;
  return left.front().TooLate(timeout);
}

}  // namespace

absl::Status WaitUntilReady(const Context& context, Awaited& awaited, absl::Duration timeout,
                            const std::function<void(const std::string&)>& ready) {
  return WaitUntil(IsReady, context, awaited, timeout, ready);
}

absl::Status AwaitAnswers(const Context& context, std::vector<std::string> services) {
  if (IsElsewhere(context.locations)) return absl::OkStatus();
  // A suspended service would otherwise count as ready.
  for (const std::string& service : services) {
    const pid_t holder = HolderOf(context.locations, service);
    if (holder != 0 && IsSuspended(holder)) {
      return absl::UnavailableError(Suspended(service, holder));
    }
  }
  Awaited awaited{.services = std::move(services)};
  for (const std::string& service : awaited.services) awaited.output_begins[service] = 0;
  const absl::Status answer =
      WaitUntil(TakesCalls, context, awaited, kMoment, [](const std::string&) {});
  // A service that is merely slow may still answer the call.
  return absl::IsDeadlineExceeded(answer) ? absl::OkStatus() : answer;
}

std::string WhyItIsNotThere(const Context& context, const std::string& service) {
  if (IsElsewhere(context.locations)) return "";
  const std::string silent = WhyItIsSilent(context, service);
  if (!silent.empty() || IsReady(context.locations, service)) return silent;
  const std::string cause = LastWordsOf(context.locations, service).cause;
  if (cause.empty()) return "";
  return WithNextStep(absl::StrCat("the ", service, " cannot start: ", cause), context.locations,
                      service);
}

std::string WhyItIsSilent(const Context& context, const std::string& service) {
  if (IsElsewhere(context.locations)) return "";
  const pid_t holder = HolderOf(context.locations, service);
  if (holder == 0) return "";
  if (IsSuspended(holder)) return Suspended(service, holder);
  if (!HasLostItsSocket(context.locations, service)) return "";
  return absl::StrCat("the ", service, " (pid ", holder,
                      ") has lost its socket and does not make it anew; next: kill -9 ", holder,
                      " && yard up");
}

bool WaitUntilHeld(const Context& context, const std::string& service, runtime::Subprocess& started,
                   absl::Duration timeout) {
  bool held = false;
  (void)AwaitChange(context, timeout, [&] {
    held = HolderOf(context.locations, service) != 0;
    return held || started.Wait(absl::ZeroDuration()).ok();
  });
  return held;
}

bool WaitUntilGone(const Context& context, const std::string& service, absl::Duration timeout) {
  return AwaitChange(context, timeout, [&] { return HolderOf(context.locations, service) == 0; });
}

bool WaitUntilLeft(const Context& context, const std::string& service, pid_t holder,
                   absl::Duration timeout) {
  return AwaitChange(context, timeout,
                     [&] { return HolderOf(context.locations, service) != holder; });
}

pid_t LiveHolderOf(const Context& context, const std::string& service) {
  const pid_t holder = HolderOf(context.locations, service);
  if (holder == 0 || !IsEnding(holder)) return holder;
  (void)WaitUntilLeft(context, service, holder, absl::Seconds(2));
  return HolderOf(context.locations, service);
}

absl::Status EnsureYard(const Context& context,
                        const std::function<void(const std::string& line)>& say,
                        absl::Duration timeout) {
  if (IsElsewhere(context.locations)) return absl::OkStatus();
  if (LiveHolderOf(context, "launcher") != 0) return absl::OkStatus();
  if (absl::Status here = CheckNotElsewhere(context); !here.ok()) return here;
  const auto wanted = ReadWanted(context.locations);
  if (!wanted.ok()) return wanted.status();
  if (!wanted->has_value()) {
    // Services started by hand may run without a launcher.
    if (HolderOf(context.locations, "registry") != 0) return absl::OkStatus();
    return absl::UnavailableError("the yard is not up; start it with: yard up");
  }
  if (absl::Status may = MayStartServices(context); !may.ok()) return may;
  Awaited awaited{.services = {"registry", "launcher"}};
  for (const std::string_view service : kAllServices) {
    awaited.output_begins[std::string(service)] = OutputEnd(context.locations, service);
  }
  Awaited others{.services = {"datamanager", "trainer"}, .output_begins = awaited.output_begins};
  auto started = StartService(context, "launcher", **wanted);
  if (!started.ok()) return started.status();
  awaited.started.emplace("launcher", *std::move(started));
  const absl::Status ready =
      WaitUntilReady(context, awaited, timeout, [&](const std::string& service) {
        if (service != "launcher") return;
        const std::string line = "yard: the launcher was not running; started it again";
        say ? say(line) : (void)(*context.err << line << "\n");
      });
  if (!ready.ok()) return ready;
  // Ignored: a verb that needs a missing service reports the error itself.
  (void)WaitUntilReady(context, others, timeout, [](const std::string&) {});
  return absl::OkStatus();
}

}  // namespace yard
