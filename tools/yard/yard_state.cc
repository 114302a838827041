#include "tools/yard/yard_state.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "runtime/file.h"
#include "runtime/printable.h"
#include "runtime/string_view.h"
#include "runtime/subprocess.h"
#include "runtime/unique_fd.h"

namespace yard {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::size_t kLogFile = 256 << 20;
constexpr int kLinesShown = 8;
constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";

std::string WantedPath(const runtime::Locations& locations) {
  return locations.state_directory + "/wanted";
}

std::string OutputPath(const runtime::Locations& locations, std::string_view service) {
  return absl::StrCat(locations.LogDirectory(), "/", runtime::Absl(service), ".out");
}

bool IsReady(const runtime::Locations& locations, const std::string& service) {
  const pid_t holder = HolderOf(locations, service);
  if (holder == 0) return false;
  const auto text = runtime::ReadFile(
      absl::StrCat(locations.runtime_directory, "/", service, ".ready"), kSmallFile);
  if (!text.ok()) return false;
  const std::vector<std::string> words =
      absl::StrSplit(*text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty());
  int pid = 0;
  return !words.empty() && absl::SimpleAtoi(words[0], &pid) && pid == holder;
}

std::string LastLines(const std::string& path) {
  const auto text = runtime::ReadFile(path, kLogFile);
  if (!text.ok() || text->empty()) return absl::StrCat("  (nothing in ", path, ")");
  std::vector<std::string> lines = absl::StrSplit(absl::StripTrailingAsciiWhitespace(*text), '\n');
  if (lines.size() > kLinesShown) lines.erase(lines.begin(), lines.end() - kLinesShown);
  for (std::string& line : lines) line = "  " + runtime::Printable(line);
  return absl::StrCat("the last lines of ", path, ":\n", absl::StrJoin(lines, "\n"));
}

// Something in the runtime directory changes: locks and ready files come and go. Where it cannot
// be watched the wait below looks again anyway.
class DirectoryChange {
 public:
  explicit DirectoryChange(const std::string& directory)
      : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (fd_.valid()) {
      inotify_add_watch(fd_.get(), directory.c_str(),
                        IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE);
    }
  }
  // Waits for a change, at most 50 ms: a lock that is let go of says nothing.
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

// The caller's, with the GPUs that the yard was given.
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

std::optional<std::string> VisibleGpus(const Context& context) {
  const std::string name = std::string(kVisibleGpus) + "=";
  for (const std::string& entry : context.environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations) {
  const std::string path = WantedPath(locations);
  const auto text = runtime::ReadFile(path, kSmallFile);
  if (absl::IsNotFound(text.status())) return std::optional<Wanted>();
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("logdir") || !json["logdir"].is_string()) {
    return absl::DataLossError(absl::StrCat(path, " cannot be read; remove it and run `yard up`"));
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
    for (const std::string_view service : kServices) {
      if (flags->contains(service)) read_list(*flags, service, &wanted.flags[std::string(service)]);
    }
  }
  if (json.contains("slots") && json["slots"].is_number_unsigned()) {
    wanted.slots =
        static_cast<int>(std::min<std::uint64_t>(json["slots"].get<std::uint64_t>(), kMostSlots));
  }
  if (json.contains("visible_gpus") && json["visible_gpus"].is_string()) {
    wanted.visible_gpus = json["visible_gpus"].get<std::string>();
  }
  return std::optional<Wanted>(std::move(wanted));
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
  return runtime::WriteFileAtomically(
      WantedPath(locations),
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", 0600, true);
}

absl::Status RemoveWanted(const runtime::Locations& locations) {
  const std::string path = WantedPath(locations);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

pid_t HolderOf(const runtime::Locations& locations, std::string_view service) {
  return runtime::LockHolder(locations.LockPath(service)).value_or(0);
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

absl::Status StartService(const Context& context, const std::string& service,
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
  std::vector<std::string> argv = {*program};
  if (service == "launcher" && !wanted.resources.empty()) {
    argv.push_back("--resources=" + absl::StrJoin(wanted.resources, ";"));
  }
  if (const auto flags = wanted.flags.find(service); flags != wanted.flags.end()) {
    for (const std::string& flag : flags->second) argv.push_back("--" + flag);
  }
  return runtime::Subprocess::Start({.argv = std::move(argv),
                                     .program = *program,
                                     .environment = EnvironmentOf(context, wanted),
                                     .working_directory = locations.state_directory,
                                     .fds = {{out.get(), 1}, {out.get(), 2}},
                                     .new_session = true})
      .status();
}

absl::Status WaitUntilReady(const Context& context, std::vector<std::string> services,
                            absl::Duration timeout,
                            const std::function<void(const std::string&)>& ready) {
  const bool all = AwaitChange(context, timeout, [&] {
    std::erase_if(services, [&](const std::string& service) {
      if (!IsReady(context.locations, service)) return false;
      ready(service);
      return true;
    });
    return services.empty();
  });
  if (all) return absl::OkStatus();
  std::vector<std::string> causes;
  for (const std::string& service : services) {
    causes.push_back(LastLines(OutputPath(context.locations, service)));
  }
  return absl::DeadlineExceededError(
      absl::StrCat(absl::StrJoin(services, ", "), " not ready after ",
                   absl::FormatDuration(timeout), "; ", absl::StrJoin(causes, "\n")));
}

bool WaitUntilHeld(const Context& context, const std::string& service, absl::Duration timeout) {
  return AwaitChange(context, timeout, [&] { return HolderOf(context.locations, service) != 0; });
}

bool WaitUntilGone(const Context& context, const std::string& service, absl::Duration timeout) {
  return AwaitChange(context, timeout, [&] { return HolderOf(context.locations, service) == 0; });
}

bool WaitUntilLeft(const Context& context, const std::string& service, pid_t holder,
                   absl::Duration timeout) {
  return AwaitChange(context, timeout,
                     [&] { return HolderOf(context.locations, service) != holder; });
}

absl::Status EnsureYard(const Context& context,
                        const std::function<void(const std::string& line)>& say) {
  if (HolderOf(context.locations, "launcher") != 0) return absl::OkStatus();
  const auto wanted = ReadWanted(context.locations);
  if (!wanted.ok()) return wanted.status();
  if (!wanted->has_value()) {
    // Services that were started by hand may be there without a launcher.
    if (HolderOf(context.locations, "registry") != 0) return absl::OkStatus();
    return absl::UnavailableError("the yard is not up; start it with: yard up");
  }
  if (absl::Status may = MayStartServices(context); !may.ok()) return may;
  const std::string line = "yard: the launcher was not running; starting it again";
  if (say) {
    say(line);
  } else {
    *context.err << line << "\n";
  }
  if (absl::Status started = StartService(context, "launcher", **wanted); !started.ok())
    return started;
  return WaitUntilReady(context, {"registry", "launcher", "datamanager", "trainer"},
                        absl::Seconds(10), [](const std::string&) {});
}

}  // namespace yard
