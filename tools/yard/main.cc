// The command line: finds the verb, gives it a context, returns its exit code.

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "runtime/file/locations.h"
#include "runtime/text/random_id.h"
#include "tools/yard/cli/interrupt.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/command_line.h"
#include "tools/yard/complete.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/yard_state.h"

extern char** environ;

namespace yard {
namespace {

// Follows all calls of this command to the logs: $YARD_TRACE, so that a script can find its own
// commands there, else a new one.
std::string TraceOfCommand() {
  const char* const trace = getenv("YARD_TRACE");
  return trace == nullptr || *trace == '\0' ? runtime::RandomHex128() : trace;
}

// The bus, made when the first verb asks for it.
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

// One thread takes SIGINT and SIGTERM for the whole process.
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

// Runs `body` with the process's own streams, variables, terminal and places.
int WithContext(const CommandLine& line, const char* verb, Interrupt* interrupt,
                const std::function<int(Context&)>& body) {
  Context context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.json = line.json;
  context.utc = line.utc;
  context.rest = line.rest;
  context.interrupt = interrupt;
  for (char** entry = environ; *entry != nullptr; ++entry) context.environment.push_back(*entry);
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

int RunVerb(const CommandLine& line, Interrupt* interrupt) {
  return WithContext(line, line.entry->name, interrupt, [&](Context& context) {
    if (line.entry->goes_on) signal(SIGPIPE, SIG_IGN);
    if (line.entry->needs_yard) {
      const absl::Status ensured = EnsureYard(context);
      if (!ensured.ok()) return Fail(context, line.entry->name, ensured);
    }
    return line.verb->Run(context);
  });
}

// `yard completion complete -- WORD...`: a shell waits at a key, so no other verb is even made.
bool IsCompletion(const std::vector<std::string>& words) {
  return words.size() > 3 && words[0] == "completion" && words[1] == "complete" && words[2] == "--";
}

}  // namespace
}  // namespace yard

int main(int argc, char** argv) {
  // The log of the bus is for its developers; a person gets the verb's own words.
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = getenv("YARD_VERBOSE") != nullptr ? google::GLOG_INFO : google::GLOG_FATAL;
  google::InitGoogleLogging(argv[0]);
  // Never destroyed: the signal thread uses it until the process ends.
  auto* const interrupt = new yard::Interrupt([] { _exit(yard::kInterrupted); });
  yard::StartSignalThread(interrupt);
  const absl::Status entered = runtime::EnterCallersDirectory();
  if (!entered.ok()) {
    std::cerr << "yard: " << entered.message() << "\n";
    return yard::kFailed;
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (yard::IsCompletion(words)) {
    return yard::WithContext({}, "completion", interrupt, [&](yard::Context& context) {
      return yard::Complete(context, {words.begin() + 3, words.end()});
    });
  }
  yard::CommandLine line;
  const int parsed = yard::ParseCommandLine(words, std::cout, std::cerr, &line);
  if (line.verb == nullptr) return parsed;
  const int code = yard::RunVerb(line, interrupt);
  std::cout.flush();
  return code;
}
