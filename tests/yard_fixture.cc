#include "tests/yard_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/process_identity.h"

namespace tests {
namespace {

constexpr std::size_t kOutputLimit = 64 << 20;
constexpr char kYard[] = "tools/yard/yard";

std::string ReadAll(const std::string& path) {
  return runtime::ReadFile(path, kOutputLimit).value_or("");
}

runtime::UniqueFd OpenForOutput(const std::string& path) {
  return runtime::UniqueFd(open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
}

void ShowFiles(const std::string& directory, absl::string_view suffix) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string path = entry.path();
    if (!entry.is_regular_file() || entry.is_symlink() || !absl::EndsWith(path, suffix)) continue;
    std::fprintf(stderr, "--- %s\n%s", path.c_str(), ReadAll(path).c_str());
  }
}

}  // namespace

Command::Command(runtime::Subprocess process, std::string out_path, std::string err_path)
    : process_(std::move(process)),
      out_path_(std::move(out_path)),
      err_path_(std::move(err_path)) {}

Command::~Command() {
  if (process_.pidfd() < 0) return;  // Moved from.
  if (process_.Signal(SIGKILL).ok()) (void)process_.Wait(absl::Seconds(10));
}

CommandResult Command::Wait(absl::Duration timeout) {
  auto status = process_.Wait(timeout);
  CommandResult result;
  result.took = absl::Now() - started_;
  if (!status.ok()) {
    ADD_FAILURE() << "still running after " << timeout << "\nstdout: " << Out()
                  << "\nstderr: " << Err();
    (void)process_.Signal(SIGKILL);
    (void)process_.Wait(absl::Seconds(10));
  } else {
    result.exit_code = status->signal != 0 ? 128 + status->signal : status->code;
  }
  result.out = Out();
  result.err = Err();
  return result;
}

std::string Command::Out() const { return ReadAll(out_path_); }
std::string Command::Err() const { return ReadAll(err_path_); }

Yard::Yard() {
  char name[] = "/tmp/yard-XXXXXX";
  directory_ = mkdtemp(name);
  for (const char* part : {"/state", "/run", "/out"}) {
    mkdir((directory_ + part).c_str(), 0700);
  }
}

Yard::~Yard() {
  if (testing::Test::HasFailure()) {
    ShowFiles(state() + "/log", "");
    ShowFiles(directory_ + "/out", ".err");  // A sanitizer speaks there.
  }
  (void)Run({"down"}, absl::Seconds(30));
  for (const pid_t pid : ProcessesWithEnvironment("YARD_STATE=" + state())) kill(pid, SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string Yard::Binary(const std::string& label_path) {
  auto path = runtime::FindBinary(label_path);
  if (!path.ok()) {
    ADD_FAILURE() << path.status();
    return "";
  }
  return *path;
}

std::string Yard::DigitsData() {
  auto path = runtime::FindDataFile("examples/digits/digits.csv");
  if (!path.ok()) ADD_FAILURE() << path.status();
  return "--data=" + path.value_or("");
}

std::vector<std::string> Yard::Environment() const {
  // The binaries find each other in the test's own runfiles; theirs exist only where they were
  // built by themselves.
  const std::string yard = Binary(kYard);
  const std::string suffix = absl::StrCat("/yard/", kYard);
  const std::string runfiles =
      absl::EndsWith(yard, suffix) ? yard.substr(0, yard.size() - suffix.size()) : "";
  std::map<std::string, std::string> all = {{"RUNFILES_DIR", runfiles},
                                            {"HOME", directory_},
                                            {"PATH", "/usr/bin:/bin"},
                                            {"LANG", "C.UTF-8"},
                                            {"TMPDIR", directory_},
                                            {"YARD_STATE", state()},
                                            {"XDG_RUNTIME_DIR", directory_ + "/run"}};
  // (Under the thread sanitizer a program would sleep for a second when it ends.)
  if (const char* options = getenv("TSAN_OPTIONS"); options != nullptr) {
    all["TSAN_OPTIONS"] = options;
  }
  for (const auto& [name, value] : environment_) all[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) environment.push_back(name + "=" + value);
  return environment;
}

Command Yard::StartProgram(const std::string& program, std::vector<std::string> args) {
  const std::string base = absl::StrCat(directory_, "/out/", ++commands_);
  const auto out = OpenForOutput(base + ".out");
  const auto err = OpenForOutput(base + ".err");
  args.insert(args.begin(), program);
  auto process = runtime::Subprocess::Start({.argv = std::move(args),
                                             .program = program,
                                             .environment = Environment(),
                                             .working_directory = directory_,
                                             .fds = {{out.get(), 1}, {err.get(), 2}}});
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    abort();
  }
  return Command(std::move(*process), base + ".out", base + ".err");
}

Command Yard::Start(std::vector<std::string> args) {
  return StartProgram(Binary(kYard), std::move(args));
}

Command Yard::StartBinary(const std::string& label_path, std::vector<std::string> args) {
  return StartProgram(Binary(label_path), std::move(args));
}

CommandResult Yard::Run(std::vector<std::string> args, absl::Duration timeout) {
  return Start(std::move(args)).Wait(timeout);
}

std::map<std::string, nlohmann::json> Yard::Status() {
  std::map<std::string, nlohmann::json> services;
  const CommandResult result = Run({"status", "--json"});
  for (const absl::string_view line : absl::StrSplit(result.out, '\n', absl::SkipEmpty())) {
    auto object = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (object.is_object() && object.contains("service")) {
      services[object["service"].get<std::string>()] = object;
    }
  }
  return services;
}

pid_t Yard::PidOf(const std::string& service) {
  return runtime::LockHolder(runtime_directory() + "/" + service + ".lock").value_or(0);
}

bool Yard::Kill(const std::string& service) {
  const auto identity = runtime::IdentityOf(PidOf(service));
  if (!identity.ok() || kill(identity->pid, SIGKILL) != 0) return false;
  // Its main thread may be gone before the last of its threads lets go of the lock.
  return Eventually(
      [&] { return !runtime::IsAlive(*identity) && PidOf(service) != identity->pid; });
}

bool Yard::Eventually(const std::function<bool()>& condition, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    // Conditions ask other processes: give them the core.
    poll(nullptr, 0, 5);
  }
  return true;
}

std::vector<pid_t> ProcessesWithEnvironment(const std::string& text) {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    std::stringstream environment;
    environment << file.rdbuf();
    if (environment.str().find(text) != std::string::npos) pids.push_back(pid);
  }
  return pids;
}

}  // namespace tests
