// The command line: finds the verb, gives it a context and returns its exit code; or forwards it to
// a yard on another machine (at/at.h), or serves such a request (at/served.h).

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/locations.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "tools/yard/at/at.h"
#include "tools/yard/at/place.h"
#include "tools/yard/at/remote_command.h"
#include "tools/yard/at/remote_run.h"
#include "tools/yard/at/served.h"
#include "tools/yard/cli/interrupt.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/command_line.h"
#include "tools/yard/complete.h"
#include "tools/yard/pool/kept_host.h"
#include "tools/yard/pool/pool_jobs.h"
#include "tools/yard/remote/remotes.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/slurm/kept_slurm.h"
#include "tools/yard/slurm/slurm_jobs.h"
#include "tools/yard/state/service_presence.h"

extern char** environ;

namespace yard {
namespace {

// Returns the trace id of this command's calls in the logs: $YARD_TRACE, with which scripts can
// find their own commands, else a new one.
std::string TraceOfCommand() {
  const char* const trace = getenv("YARD_TRACE");
  return trace == nullptr || *trace == '\0' ? runtime::RandomHex128() : trace;
}

// The bus connection, created when a verb first asks for it.
class Connection {
 public:
  explicit Connection(const Context* context) : context_(context) {}
  absl::StatusOr<bus::Node*> Node() {
    if (node_ == nullptr) {
      auto node = bus::Node::Create(
          {.name = "yard", .locations = context_->locations, .trace = TraceOfCommand()});
      if (!node.ok()) return node.status();
      node_ = *std::move(node);
    }
    return node_.get();
  }
  absl::StatusOr<bus::Client*> Client() {
    if (client_ == nullptr) {
      auto node = Node();
      if (!node.ok()) return node.status();
      client_ = std::make_unique<bus::Client>(*node);
    }
    return client_.get();
  }

 private:
  const Context* const context_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
};

void LookAtTerminal(Context& context, const std::string& color) {
  context.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  context.err_is_terminal = isatty(STDERR_FILENO) == 1;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    context.width = size.ws_col;
    context.height = size.ws_row;
  }
  const char* const no_color = getenv("NO_COLOR");
  const char* const terminal = getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  context.color = color == "always" || (color == "auto" && context.out_is_terminal && !dumb &&
                                        (no_color == nullptr || *no_color == '\0'));
}

// Starts a thread that receives SIGINT and SIGTERM for the whole process.
void StartSignalThread(Interrupt* interrupt) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_DFL);  // `yard logs | head` ends quietly.
  std::thread([interrupt, set] {
    for (;;) {
      int caught = 0;
      if (sigwait(&set, &caught) == 0) interrupt->Raise();
    }
  }).detach();
}

std::vector<std::string> Environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

// Where a command line comes from.
struct Origin {
  Interrupt* interrupt = nullptr;
  std::vector<std::string> environment;  // "NAME=value"
  Caller* caller = nullptr;              // The caller on another machine; null for a local one.
  std::string remote = {};               // Name of the yard behind a gate that --at selected.
};

// Runs `body` with the process's own streams, terminal and directories.
int WithContext(const CommandLine& line, const char* verb, const Origin& origin,
                const std::function<int(Context&)>& body) {
  Context context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.json = line.json;
  context.utc = line.utc;
  context.rest = line.rest;
  context.interrupt = origin.interrupt;
  context.environment = origin.environment;
  std::error_code no_directory;
  context.working_directory = std::filesystem::current_path(no_directory).string();
  LookAtTerminal(context, line.color);
  auto locations = runtime::Locations::FromEnvironment();
  if (!locations.ok()) return Fail(context, verb, locations.status());
  context.locations = *std::move(locations);
  Connection connection(&context);
  context.node = [&] { return connection.Node(); };
  context.client = [&] { return connection.Client(); };
  return body(context);
}

// Returns true for verbs that use local processes and files besides the bus.
bool IsOfThisMachine(std::string_view verb) {
  constexpr std::string_view kVerbs[] = {"up",   "down", "config", "doctor",      "backup",
                                         "gate", "ui",   "import", "tensorboard", "pool"};
  return std::find(std::begin(kVerbs), std::end(kVerbs), verb) != std::end(kVerbs);
}

int RunVerb(const CommandLine& line, const Origin& origin) {
  return WithContext(line, line.entry->name, origin, [&](Context& context) {
    if (line.entry->goes_on) {
      signal(SIGPIPE, SIG_IGN);
      if (origin.caller != nullptr) origin.caller->LetGoOn();
    }
    if (!origin.remote.empty() && IsOfThisMachine(line.entry->name)) {
      return Fail(context, line.entry->name,
                  absl::FailedPreconditionError(absl::StrCat(
                      origin.remote, " is reached by its gate, and `yard ", line.entry->name,
                      "` is of the machine where it is typed; next: type it there (with ssh: yard "
                      "--at ssh://",
                      origin.remote, " ", line.entry->name, ")")));
    }
    if (IsElsewhere(context.locations) && IsOfThisMachine(line.entry->name)) {
      return Fail(context, line.entry->name,
                  absl::FailedPreconditionError(absl::StrCat(
                      "YARD_REGISTRY leads to a yard behind a gate, and `yard ", line.entry->name,
                      "` is of this machine's; next: unset YARD_REGISTRY")));
    }
    if (line.entry->needs_yard) {
      const absl::Status ensured = EnsureYard(context);
      if (!ensured.ok()) return Fail(context, line.entry->name, ensured);
    }
    return line.verb->Run(context);
  });
}

// Handled before any verb is created, because a shell waits for it at each keypress.
bool IsCompletion(const std::vector<std::string>& words) {
  return words.size() > 3 && words[0] == "completion" && words[1] == "complete" && words[2] == "--";
}

// Completes the host in "--at HOST" and "--at=HOST"; returns false if something else is being
// typed.
bool CompleteHost(Context& context, const std::vector<std::string>& words) {
  constexpr std::string_view kFlag = "--at", kWithValue = "--at=";
  const bool is_glued = words.size() == 1 && words[0].starts_with(kWithValue);
  if (!is_glued && (words.size() != 2 || words[0] != kFlag)) return false;
  const std::string_view before = is_glued ? kWithValue : "";
  const char* const home = getenv("HOME");
  std::vector<std::string> hosts = HostsOfSsh(home == nullptr ? "" : home);
  const std::vector<std::string> remotes = Remotes::Of(context.environment).Names();
  hosts.insert(hosts.end(), remotes.begin(), remotes.end());
  for (const std::string& host : hosts) {
    const std::string word = std::string(before) + host;
    if (word.starts_with(words.back()) && runtime::IsPrintable(word)) *context.out << word << "\n";
  }
  return true;
}

int CompleteLine(Context& context, std::vector<std::string> words) {
  if (CompleteHost(context, words)) return kDone;
  const auto place = TakePlace(words, getenv("YARD_AT"));
  if (place.ok() && place->has_value() && !words.empty() && words[0] != "completion") {
    if (const std::optional<int> code = CompleteAt(context, **place, words)) return *code;
    // The local yard's names would be wrong for another machine.
    context.client = [] { return absl::UnavailableError("another machine is meant"); };
  }
  return Complete(context, words);
}

int RunHere(const std::vector<std::string>& words, const Origin& origin) {
  if (IsCompletion(words)) {
    return WithContext({}, "completion", origin, [&](Context& context) {
      return CompleteLine(context, {words.begin() + 3, words.end()});
    });
  }
  CommandLine line;
  const int parsed = ParseCommandLine(words, std::cout, std::cerr, &line);
  if (line.verb == nullptr) return parsed;
  const int code = RunVerb(line, origin);
  std::cout.flush();
  return code;
}

// Serves `yard --over_ssh ...`, which a yard on another machine starts through ssh.
int Serve(const std::string& program, const std::vector<std::string>& words, Interrupt* interrupt) {
  const std::string_view what = words.size() > 1 ? std::string_view(words[1]) : "";
  if (what == kGreet) {
    PrintGreeting(program, std::cout);
    return kDone;
  }
  if (what == kHold) {
    HoldUntilStdinEnds();
    return kDone;
  }
  // A request must not be forwarded to yet another machine.
  unsetenv("YARD_AT");
  auto request = TakeRequest(what == kRun && words.size() == 3 ? words[2] : "");
  if (!request.ok()) {
    std::cerr << "yard: " << kOverSsh << " is for yard --at: " << request.status().message()
              << "\n";
    return kUsage;
  }
  Origin origin = {.interrupt = interrupt, .environment = std::move(request->environment)};
  if (!request->in_terminal) {
    const auto caller = Caller::Attend(interrupt);
    if (!caller.ok()) {
      std::cerr << "yard: " << caller.status().message() << "\n";
      return kFailed;
    }
    origin.caller = *caller;
  }
  return RunHere(request->words, origin);
}

int Run(const std::string& program, std::vector<std::string> words, Interrupt* interrupt) {
  if (!words.empty() && words[0] == kOverSsh) return Serve(program, words, interrupt);
  if (!words.empty() && words[0] == kKeepHost) {
    return WithContext({}, "pool", {.interrupt = interrupt, .environment = Environment()},
                       [&](Context& context) { return KeepHost(context, words); });
  }
  if (words == std::vector<std::string>{kKeepSlurm}) {
    return WithContext({}, "pool", {.interrupt = interrupt, .environment = Environment()},
                       KeepSlurm);
  }
  const auto place = TakePlace(words, getenv("YARD_AT"));
  if (!place.ok()) {
    std::cerr << "yard: " << place.status().message() << "\n";
    return kUsage;
  }
  std::vector<std::string> environment = Environment();
  if (place->has_value() && !IsAnsweredHere(words)) {
    const auto remote = Remotes::Of(environment).Find((*place)->host);
    if (absl::IsNotFound(remote.status())) return RunAt(**place, words, environment, interrupt);
    if (!remote.ok()) {
      std::cerr << "yard: " << runtime::PrintableLines(std::string(remote.status().message()))
                << "\n";
      return kNoConnection;
    }
    setenv("YARD_REGISTRY", ("gate:" + remote->path).c_str(), 1);
    return RunHere(words,
                   {.interrupt = interrupt, .environment = Environment(), .remote = remote->name});
  }
  return RunHere(words, {.interrupt = interrupt, .environment = std::move(environment)});
}

}  // namespace
}  // namespace yard

int main(int argc, char** argv) {
  // glog's output is for developers of the bus; users get the verb's own messages.
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = getenv("YARD_VERBOSE") != nullptr ? google::GLOG_INFO : google::GLOG_FATAL;
  google::InitGoogleLogging(argv[0]);
  // Never destroyed, because the signal thread uses it until the process exits.
  auto* const interrupt = new yard::Interrupt([] { _exit(yard::kInterrupted); });
  yard::StartSignalThread(interrupt);
  const absl::Status entered = runtime::EnterCallersDirectory();
  if (!entered.ok()) {
    std::cerr << "yard: " << entered.message() << "\n";
    return yard::kFailed;
  }
  return yard::Run(argv[0], {argv + 1, argv + argc}, interrupt);
}
