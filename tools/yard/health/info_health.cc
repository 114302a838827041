#include "tools/yard/health/info_health.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/file/unique_fd.h"

namespace yard {
namespace {

constexpr char kCheck[] = "info files";
constexpr std::size_t kMostEntries = 10'000;
constexpr std::size_t kLargestFile = 64 << 10;  // The same limit as the registry's.

// Chooses the directory like Python's tempfile, but without a test write.
std::string TemporaryDirectory(const std::vector<std::string>& environment) {
  for (const std::string_view variable : {"TMPDIR=", "TEMP=", "TMP="}) {
    for (const std::string& entry : environment) {
      if (!entry.starts_with(variable)) continue;
      const std::string path = entry.substr(variable.size());
      if (!path.empty() && access(path.c_str(), W_OK | X_OK) == 0) return path;
    }
  }
  return "/tmp";
}

// Returns why the file is unusable as an info file; empty if it is usable, with `tool` set.
std::string ReadTool(int fd, const struct stat& about, ToolFacts* tool) {
  if (!S_ISREG(about.st_mode)) return "is no regular file";
  if (about.st_size > static_cast<off_t>(kLargestFile)) return "is too large";
  std::array<char, kLargestFile> buffer;
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t got = read(fd, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return strerror(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  const auto json = nlohmann::json::parse(buffer.data(), buffer.data() + size, nullptr, false);
  if (json.is_discarded()) return "is not JSON";
  const auto found = json.is_object() ? json.find("pid") : json.end();
  if (found == json.end() || !found->is_number_integer()) return "names no process";
  const auto number = found->get<std::int64_t>();
  if (number < 1 || number > std::numeric_limits<pid_t>::max()) return "names no process";
  tool->pid = static_cast<pid_t>(number);
  if (const auto port = json.find("port"); port != json.end() && port->is_number_unsigned()) {
    const auto value = port->get<std::uint64_t>();
    if (value <= std::numeric_limits<std::uint16_t>::max()) {
      tool->port = static_cast<std::uint16_t>(value);
    }
  }
  if (const auto prefix = json.find("path_prefix"); prefix != json.end() && prefix->is_string()) {
    tool->path_prefix = prefix->get<std::string>();
  }
  return "";
}

void LookAtEntry(int directory, const char* name, const ProcessRuns& runs, InfoFacts* facts) {
  struct stat about = {};
  if (fstatat(directory, name, &about, AT_SYMLINK_NOFOLLOW) != 0) return;  // Removed meanwhile.
  if (about.st_uid != geteuid()) {
    ++facts->others;
    return;
  }
  const std::string path = absl::StrCat(facts->path, "/", name);
  const auto unusable = [&](const std::string& reason) {
    if (facts->unusable.empty()) facts->reason = reason;
    facts->unusable.push_back(path);
  };
  if (S_ISLNK(about.st_mode)) return unusable("is a symbolic link");
  // O_NONBLOCK, because the file may be a FIFO.
  const runtime::UniqueFd fd(
      openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno != ENOENT) unusable(strerror(errno));
    return;
  }
  ToolFacts tool;
  if (fstat(fd.get(), &about) != 0) return unusable(strerror(errno));
  if (const std::string reason = ReadTool(fd.get(), about, &tool); !reason.empty()) {
    return unusable(reason);
  }
  if (runs(tool.pid)) {
    ++facts->live;
    facts->tools.push_back(std::move(tool));
  } else {
    facts->dead.push_back(path);
  }
}

Finding Warn(std::string found, std::string fix) {
  return {Level::kWarn, kCheck, std::move(found), std::move(fix)};
}

std::string Files(std::size_t count) {
  return absl::StrCat(count, count == 1 ? " file" : " files");
}

}  // namespace

Findings CheckInfos(const InfoFacts& facts) {
  if (facts.error == ENOENT) {
    return {{Level::kOk, kCheck, absl::StrCat("none: ", facts.path, " is not there"), ""}};
  }
  const std::string elsewhere = "use another temporary directory: export TMPDIR=...";
  if (facts.error != 0) {
    return {Warn(absl::StrCat("cannot look at ", facts.path, ": ", strerror(facts.error),
                              "; tools such as TensorBoard are not found"),
                 elsewhere)};
  }
  Findings findings;
  if (!facts.writable) {
    findings.push_back(
        Warn(absl::StrCat(facts.path, " belongs to user ", facts.owner,
                          " and lets us write nothing: TensorBoard does not tell that it runs"),
             elsewhere));
  }
  if (!facts.dead.empty()) {
    findings.push_back(
        Warn(absl::StrCat(Files(facts.dead.size()),
                          " left by a TensorBoard that was killed, such as ", facts.dead[0]),
             RemovalOf(facts.dead)));
  }
  if (!facts.unusable.empty()) {
    findings.push_back(
        Warn(absl::StrCat(Files(facts.unusable.size()), " of ours without use, such as ",
                          facts.unusable[0], ", which ", facts.reason),
             RemovalOf(facts.unusable)));
  }
  if (facts.cut) {
    findings.push_back(Warn(
        absl::StrCat(facts.path, " has more than ", kMostEntries, " entries; others not looked at"),
        "remove what is old there, then again: yard doctor"));
  }
  if (!findings.empty()) return findings;
  return {{Level::kOk, kCheck,
           absl::StrCat(facts.live, " of tools that run, ", facts.others,
                        " of other users: ", facts.path),
           ""}};
}

// EPERM means that another user's process has reused the id, so ours has ended.
bool OwnProcessRuns(pid_t pid) { return kill(pid, 0) == 0; }

InfoFacts LookAtInfos(const std::vector<std::string>& environment, const ProcessRuns& runs) {
  InfoFacts facts = {.path = absl::StrCat(TemporaryDirectory(environment), "/.tensorboard-info")};
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(facts.path.c_str()), closedir);
  if (entries == nullptr) {
    facts.error = errno;
    return facts;
  }
  struct stat about = {};
  if (fstat(dirfd(entries.get()), &about) == 0) facts.owner = about.st_uid;
  facts.writable = access(facts.path.c_str(), W_OK | X_OK) == 0;
  for (std::size_t seen = 0; const dirent* const entry = readdir(entries.get()); ++seen) {
    if (seen >= kMostEntries) {
      facts.cut = true;
      break;
    }
    const std::string_view name = entry->d_name;
    if (!name.starts_with("pid-") || !name.ends_with(".info")) continue;
    LookAtEntry(dirfd(entries.get()), entry->d_name, runs, &facts);
  }
  std::sort(facts.dead.begin(), facts.dead.end());
  return facts;
}

}  // namespace yard
