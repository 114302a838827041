#include "tools/yard/provenance.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/subprocess.h"
#include "runtime/unique_fd.h"
#include "tools/yard/version.h"

namespace yard {
namespace {

constexpr std::size_t kShort = 64 << 10;
constexpr std::size_t kUntrackedShown = 100;

// A person's settings may name programs that git runs.
std::vector<std::string> Git(std::vector<std::string> words) {
  std::vector<std::string> argv = {
      "git", "--no-pager",          "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
      "-c",  "core.quotePath=false"};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

std::vector<std::string> GitEnvironment(const std::vector<std::string>& environment) {
  std::vector<std::string> result;
  for (const std::string& entry : environment) {
    if (!absl::StartsWith(entry, "GIT_")) result.push_back(entry);
  }
  for (const char* entry : {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}) {
    result.emplace_back(entry);
  }
  return result;
}

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string UserName() {
  passwd entry = {};
  passwd* found = nullptr;
  char buffer[4096];
  const bool known =
      getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return known ? found->pw_name : absl::StrCat(getuid());
}

// As a shell reads it.
std::string ShellWord(const std::string& word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain.data()) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

ProgramOutput ReadProgram(const std::vector<std::string>& argv, const std::string& directory,
                          const std::vector<std::string>& environment, std::size_t limit,
                          absl::Duration deadline) {
  ProgramOutput output;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return output;
  const runtime::UniqueFd reader(fds[0]);
  runtime::UniqueFd writer(fds[1]);
  auto child = runtime::Subprocess::Start({.argv = argv,
                                           .environment = environment,
                                           .working_directory = directory,
                                           .fds = {{writer.get(), 1}},
                                           .new_session = true});
  if (!child.ok()) return output;
  writer.reset();
  const absl::Time until = absl::Now() + deadline;
  bool ended = false;
  while (!ended && !output.is_cut) {
    const auto left = absl::ToInt64Milliseconds(until - absl::Now());
    pollfd ready = {.fd = reader.get(), .events = POLLIN, .revents = 0};
    const int answer = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
    if (answer < 0 && errno == EINTR) continue;
    if (answer <= 0) break;
    char buffer[16 << 10];
    const ssize_t count = read(reader.get(), buffer, sizeof buffer);
    if (count < 0 && errno != EINTR) break;
    ended = count == 0;
    if (count > 0) output.text.append(buffer, static_cast<std::size_t>(count));
    output.is_cut = output.text.size() > limit;
  }
  if (!ended) (void)child->SignalGroup(SIGKILL);
  const auto status = child->Wait(ended ? until - absl::Now() : absl::Seconds(1));
  if (!status.ok()) {
    (void)child->SignalGroup(SIGKILL);
    (void)child->Wait(absl::Seconds(1));
  }
  output.ok = output.is_cut || (ended && status.ok() && status->ok());
  if (!output.ok) output.text.clear();
  if (output.is_cut) output.text.resize(limit);
  return output;
}

GitState ReadGit(const std::string& directory, const std::vector<std::string>& environment,
                 absl::Duration deadline) {
  GitState git;
  const auto inherited = GitEnvironment(environment);
  const auto ask = [&](std::vector<std::string> words, const std::string& where,
                       std::size_t limit) {
    return ReadProgram(Git(std::move(words)), where, inherited, limit, deadline);
  };
  const ProgramOutput root = ask({"rev-parse", "--show-toplevel"}, directory, kShort);
  if (!root.ok) return git;
  git.found = true;
  git.root = std::string(absl::StripSuffix(root.text, "\n"));
  const ProgramOutput head = ask({"rev-parse", "HEAD", "--abbrev-ref", "HEAD"}, git.root, kShort);
  const std::vector<std::string> lines = absl::StrSplit(head.text, '\n');
  if (head.ok && lines.size() >= 2) {
    git.commit = lines[0];
    git.branch = lines[1];
  }
  // NUL ends each, so that a name may hold anything.
  const ProgramOutput status = ask({"status", "--porcelain", "-z"}, git.root, kShort);
  if (status.ok) git.dirty = !status.text.empty();
  for (const auto entry : absl::StrSplit(status.text, '\0')) {
    if (git.untracked.size() == kUntrackedShown) break;
    if (absl::StartsWith(entry, "?? ")) git.untracked.emplace_back(entry.substr(3));
  }
  if (git.commit.empty() || git.dirty == false) return git;
  ProgramOutput diff = ask({"diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--"},
                           git.root, kMaxDiff);
  git.diff = std::move(diff.text);
  git.diff_is_cut = diff.is_cut || !diff.ok;
  if (!git.diff.empty()) git.dirty = true;
  return git;
}

// "python3.11", but no program of the caller's that is called like it.
bool IsPython(std::string_view name) {
  constexpr std::string_view kPython = "python";
  return name.substr(0, kPython.size()) == kPython &&
         name.find_first_not_of("0123456789.", kPython.size()) == name.npos;
}

Provenance ReadProvenance(const std::string& program, const std::string& working_directory,
                          const std::vector<std::string>& environment) {
  Provenance provenance;
  provenance.git = ReadGit(working_directory, environment);
  provenance.working_directory = working_directory;
  provenance.hostname = HostName();
  provenance.user = UserName();
  provenance.yard = kVersion;
  if (IsPython(BaseName(program))) {
    const ProgramOutput version = ReadProgram({program, "--version"}, working_directory,
                                              environment, kShort, absl::Seconds(2));
    provenance.python = std::string(absl::StripSuffix(version.text, "\n"));
  }
  return provenance;
}

nlohmann::ordered_json ToJson(const Provenance& provenance, const std::vector<std::string>& argv,
                              std::uint64_t seed) {
  std::string command;
  for (const std::string& word : argv) {
    absl::StrAppend(&command, command.empty() ? "" : " ", ShellWord(word));
  }
  nlohmann::ordered_json json = {{"command", command},
                                 {"argv", argv},
                                 {"working_directory", provenance.working_directory},
                                 {"hostname", provenance.hostname},
                                 {"user", provenance.user},
                                 {"seed", seed},
                                 {"yard", provenance.yard}};
  if (!provenance.python.empty()) json["python"] = provenance.python;
  const GitState& git = provenance.git;
  if (!git.found) return json;
  json["git"] = {{"root", git.root},
                 {"commit", git.commit},
                 {"branch", git.branch},
                 {"dirty", git.dirty ? nlohmann::ordered_json(*git.dirty) : nullptr},
                 {"untracked", git.untracked},
                 {"diff_bytes", git.diff.size()},
                 {"diff_is_cut", git.diff_is_cut}};
  return json;
}

}  // namespace yard
