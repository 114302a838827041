#include "tools/yard/services/yard_state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bus/access/access_file.h"
#include "bus/access/key_folder.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/metrics_port.h"
#include "runtime/text/string_view.h"
#include "tools/yard/services/health.h"
#include "tools/yard/services/service_output.h"

namespace yard {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";
// Time for a lost or restarting service to return; services check every second.
constexpr absl::Duration kMoment = absl::Milliseconds(1600);
// A service that has reported kLoops causes while it was awaited for kLoopsFor is in a crash loop.
constexpr absl::Duration kLoopsFor = absl::Seconds(1);
constexpr std::size_t kLoops = 3;

bool HasGateKey(const runtime::Locations& locations) {
  return access(bus::KeyFolder(locations.state_directory).ServerKeyPath().c_str(), F_OK) == 0;
}

std::string WantedPath(const runtime::Locations& locations) {
  return locations.state_directory + "/wanted";
}
std::string LastPath(const runtime::Locations& locations, bool kept) {
  return WantedPath(locations) + (kept ? ".kept" : ".last");
}

// Content of the file that a service writes once it is ready.
struct ReadyFile {
  pid_t pid = 0;
  bool external = false;
  std::string endpoint;  // Address on which it serves.
};
ReadyFile ReadReadyFile(const runtime::Locations& locations, std::string_view service) {
  ReadyFile ready{.endpoint = locations.ServiceAddress(service)};
  const auto text = runtime::ReadFile(
      absl::StrCat(locations.runtime_directory, "/", runtime::Absl(service), ".ready"), kSmallFile);
  if (!text.ok()) return ready;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    int pid = 0;
    if (absl::ConsumePrefix(&line, "listen=")) {
      ready.endpoint = std::string(line);
    } else if (line == "supervisor=external") {
      ready.external = true;
    } else if (ready.pid == 0 && absl::SimpleAtoi(line, &pid)) {
      ready.pid = pid;
    }
  }
  return ready;
}

bool IsServed(const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  return !endpoint.starts_with(kIpc) ||
         Probe(endpoint.substr(kIpc.size()), SOCK_STREAM) != Listening::kNo;
}

// Returns true if the service has written its ready file and listens.
bool IsReady(const runtime::Locations& locations, const std::string& service) {
  const pid_t holder = HolderOf(locations, service);
  if (holder == 0 || IsSuspended(holder)) return false;
  const ReadyFile ready = ReadReadyFile(locations, service);
  return ready.pid == holder && IsServed(ready.endpoint);
}

// Returns true if the service accepts calls, with or without a ready file.
bool TakesCalls(const runtime::Locations& locations, const std::string& service) {
  const pid_t holder = HolderOf(locations, service);
  return holder != 0 && !IsEnding(holder) && IsServed(ReadReadyFile(locations, service).endpoint);
}

// Returns the process that holds the service's lock of the state directory; 0 if none.
pid_t HolderOfState(const runtime::Locations& locations, std::string_view service) {
  return runtime::LockHolder(
             absl::StrCat(locations.state_directory, "/", runtime::Absl(service), ".lock"))
      .value_or(0);
}

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

bool IsElsewhere(const runtime::Locations& locations) {
  return bus::PathOfAccessFile(locations.registry_address).has_value();
}

std::vector<std::string> ServicesOf(const runtime::Locations& locations) {
  std::vector<std::string> services(std::begin(kServices), std::end(kServices));
  if (HasGateKey(locations) || HolderOf(locations, "gate") != 0) services.emplace_back("gate");
  return services;
}

std::optional<std::string> VisibleGpus(const Context& context) {
  const std::string name = std::string(kVisibleGpus) + "=";
  for (const std::string& entry : context.environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return std::nullopt;
}

namespace {

absl::StatusOr<std::optional<Wanted>> ReadWantedFile(const std::string& path) {
  const auto text = runtime::ReadFile(path, kSmallFile);
  if (absl::IsNotFound(text.status())) return std::optional<Wanted>();
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("logdir") || !json["logdir"].is_string()) {
    return absl::DataLossError(absl::StrCat(path, " cannot be read; next: yard down && yard up"));
  }
  Wanted wanted{.logdir = json["logdir"].get<std::string>()};
  if (json.contains("trainer") && json["trainer"].is_string()) {
    wanted.trainer = json["trainer"].get<std::string>();
  }
  const auto read_list = [](const nlohmann::json& in, std::string_view key,
                            std::vector<std::string>* list) {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_array()) return;
    for (const auto& text : *found) {
      if (text.is_string()) list->push_back(text.get<std::string>());
    }
  };
  read_list(json, "resources", &wanted.resources);
  read_list(json, "datamanager", &wanted.datamanager);
  if (const auto flags = json.find("flags"); flags != json.end() && flags->is_object()) {
    for (const std::string_view service : kAllServices) {
      if (flags->contains(service)) read_list(*flags, service, &wanted.flags[std::string(service)]);
    }
    runtime::LeaveOneMetricsPort(&wanted.flags);
  }
  if (json.contains("slots") && json["slots"].is_number_unsigned()) {
    wanted.slots =
        static_cast<int>(std::min<std::uint64_t>(json["slots"].get<std::uint64_t>(), kMostSlots));
  }
  if (json.contains("visible_gpus") && json["visible_gpus"].is_string()) {
    wanted.visible_gpus = json["visible_gpus"].get<std::string>();
  }
  if (const auto given = json.find("logdir_was_given"); given != json.end()) {
    wanted.logdir_was_given = *given == true;
  }
  if (json.contains("file") && json["file"].is_string()) {
    wanted.file = json["file"].get<std::string>();
  }
  if (const auto origins = json.find("origins"); origins != json.end() && origins->is_object()) {
    for (const auto& [key, origin] : origins->items()) {
      if (origin.is_string()) wanted.origins[key] = origin.get<std::string>();
    }
  }
  return std::optional<Wanted>(std::move(wanted));
}

}  // namespace

absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations) {
  return ReadWantedFile(WantedPath(locations));
}

std::optional<LastWanted> ReadLastWanted(const runtime::Locations& locations) {
  for (const bool kept : {true, false}) {
    auto wanted = ReadWantedFile(LastPath(locations, kept));
    if (wanted.ok() && wanted->has_value()) return LastWanted{**std::move(wanted), kept};
  }
  return std::nullopt;
}

absl::Status WriteWanted(const runtime::Locations& locations, const Wanted& wanted) {
  if (absl::Status made = runtime::MakePrivateDirectory(locations.state_directory); !made.ok()) {
    return made;
  }
  nlohmann::json json = {{"logdir", wanted.logdir}};
  if (!wanted.trainer.empty()) json["trainer"] = wanted.trainer;
  if (!wanted.resources.empty()) json["resources"] = wanted.resources;
  if (!wanted.datamanager.empty()) json["datamanager"] = wanted.datamanager;
  if (!wanted.flags.empty()) json["flags"] = wanted.flags;
  if (wanted.slots > 0) json["slots"] = wanted.slots;
  if (wanted.visible_gpus.has_value()) json["visible_gpus"] = *wanted.visible_gpus;
  if (wanted.logdir_was_given) json["logdir_was_given"] = true;
  if (!wanted.file.empty()) json["file"] = wanted.file;
  if (!wanted.origins.empty()) json["origins"] = wanted.origins;
  const std::string text =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() > kSmallFile) {
    return absl::ResourceExhaustedError(absl::StrCat("the settings of the yard take ", text.size(),
                                                     " bytes, more than ", kSmallFile));
  }
  return runtime::WriteFileAtomically(WantedPath(locations), text, 0600, true);
}

absl::Status RemoveWanted(const runtime::Locations& locations) {
  const std::string path = WantedPath(locations);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

absl::Status RetireWanted(const runtime::Locations& locations, bool kept) {
  // Without `kept`, tasks that an earlier yard kept running are no longer kept.
  const std::string last = LastPath(locations, kept), other = LastPath(locations, !kept);
  const auto wanted = ReadWanted(locations);
  if (wanted.ok() && !wanted->has_value()) {
    if (!kept) (void)rename(other.c_str(), last.c_str());
    return absl::OkStatus();
  }
  // An unreadable file has no settings worth keeping.
  if (!wanted.ok() || rename(WantedPath(locations).c_str(), last.c_str()) != 0) {
    return RemoveWanted(locations);
  }
  (void)unlink(other.c_str());
  return absl::OkStatus();
}

std::string WordsOf(const Wanted& wanted) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    words.push_back(absl::StrCat(option, " ", ShellWord(value)));
  };
  if (wanted.logdir_was_given) add("--logdir", wanted.logdir);
  if (!wanted.trainer.empty()) add("--trainer", wanted.trainer);
  if (wanted.slots > 0) add("--slots", absl::StrCat(wanted.slots));
  for (const std::string& resource : wanted.resources) add("--resources", resource);
  for (const std::string& flag : wanted.datamanager) add("--datamanager", flag);
  const auto flags_of = [&](const std::string& service) {
    const auto found = wanted.flags.find(service);
    return found == wanted.flags.end() ? std::vector<std::string>() : found->second;
  };
  const auto have_all = [&](const std::string& flag) {
    return std::all_of(std::begin(kServices), std::end(kServices), [&](std::string_view service) {
      const auto flags = flags_of(std::string(service));
      return std::find(flags.begin(), flags.end(), flag) != flags.end();
    });
  };
  for (const std::string& flag : flags_of("registry")) {
    if (have_all(flag)) add("--service", flag);
  }
  constexpr std::string_view kKept = "keep_trials=", kPage = "page=", kPort = "metrics_port=";
  for (const std::string_view name : kAllServices) {
    const std::string service(name);
    for (const std::string& flag : flags_of(service)) {
      if (have_all(flag)) continue;
      if (service == "trainer" && flag.starts_with(kKept)) {
        add("--keep_trials", flag.substr(kKept.size()));
      } else if (service == "web" && flag.starts_with(kPage)) {
        add("--page", flag.substr(kPage.size()));
      } else if (service == "web" && flag.starts_with(kPort)) {
        add("--metrics_port", flag.substr(kPort.size()));
      } else if (service == "gate" && flag.starts_with("gate_")) {
        add(absl::StrCat("--", flag.substr(0, flag.find('='))).c_str(),
            flag.substr(flag.find('=') + 1));
      } else {
        add("--service", service + "." + flag);
      }
    }
  }
  return absl::StrJoin(words, " ");
}

std::vector<std::string> FlagsOf(const std::string& service, const Wanted& wanted) {
  std::vector<std::string> flags;
  if (service == "launcher" && !wanted.resources.empty()) {
    flags.push_back("--resources=" + absl::StrJoin(wanted.resources, ";"));
  }
  if (service == "trainer" && wanted.slots > 0) {
    flags.push_back(absl::StrCat("--slots=", wanted.slots));
  }
  if (service == "datamanager") {
    for (const std::string& flag : wanted.datamanager) flags.push_back("--" + flag);
  }
  if (const auto more = wanted.flags.find(service); more != wanted.flags.end()) {
    for (const std::string& flag : more->second) flags.push_back("--" + flag);
  }
  return flags;
}

pid_t HolderOf(const runtime::Locations& locations, std::string_view service) {
  if (const auto holder = runtime::LockHolder(locations.LockPath(service)); holder.ok()) {
    return *holder;
  }
  const pid_t holder = HolderOfState(locations, service);
  if (holder == 0) return 0;
  const auto place = PlaceOf(holder, service, locations.state_directory);
  return place.ok() && place->directory == locations.runtime_directory ? holder : 0;
}

std::optional<OwnProcess> HoldService(const runtime::Locations& locations,
                                      const std::string& service) {
  return OwnProcess::Hold(HolderOf(locations, service), [&](pid_t pid) {
    const auto place = PlaceOf(pid, service, locations.state_directory);
    return place.ok() && place->directory == locations.runtime_directory;
  });
}

bool IsExternal(const runtime::Locations& locations, std::string_view service) {
  return ReadReadyFile(locations, service).external;
}

std::string RuntimeDirectoryElsewhere(const runtime::Locations& locations) {
  for (const std::string_view service : kServices) {
    const pid_t holder = HolderOfState(locations, service);
    if (holder == 0 || HolderOf(locations, service) != 0) continue;
    const auto place = PlaceOf(holder, service, locations.state_directory);
    if (place.ok() && place->directory != locations.runtime_directory) return place->directory;
  }
  return "";
}

absl::Status CheckNotElsewhere(const Context& context) {
  const std::string elsewhere = RuntimeDirectoryElsewhere(context.locations);
  if (elsewhere.empty()) return absl::OkStatus();
  const bool named =
      std::any_of(context.environment.begin(), context.environment.end(),
                  [](const std::string& entry) { return entry.starts_with("YARD_REGISTRY="); });
  return absl::FailedPreconditionError(absl::StrCat(
      "the services of ", context.locations.state_directory, " have their sockets in ", elsewhere,
      ", not in ", context.locations.runtime_directory, ", which is this shell's; next: ",
      CommandToUse(elsewhere, named ? "YARD_REGISTRY" : "XDG_RUNTIME_DIR")));
}

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

bool HasLostItsSocket(const runtime::Locations& locations, std::string_view service) {
  const ReadyFile ready = ReadReadyFile(locations, service);
  return ready.pid != 0 && ready.pid == HolderOf(locations, service) && !IsServed(ready.endpoint);
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
