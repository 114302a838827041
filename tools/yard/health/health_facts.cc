#include "tools/yard/health/health_facts.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bus/wire/version.h"
#include "flatbuffers/base.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/process_identity.h"
#include "runtime/text/string_view.h"
#include "tools/yard/state/processes.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_output.h"
#include "tools/yard/state/service_presence.h"

namespace yard {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::size_t kMaxSockets = 10'000;
constexpr std::string_view kIpc = "ipc://";

std::string SocketPath(const runtime::Locations& locations, std::string_view service) {
  return locations.ServiceAddress(service).substr(kIpc.size());
}

bool IsSocket(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

bool Exists(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0;
}

// Returns the sorted sockets; empty if the directory does not exist. Sets `more` if there are more
// than kMaxSockets.
std::vector<std::string> SocketsIn(const std::string& directory, bool* more) {
  std::vector<std::string> sockets;
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    if (!IsSocket(entries->path().string())) continue;
    if (sockets.size() >= kMaxSockets) {
      *more = true;
      break;
    }
    sockets.push_back(entries->path().string());
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

// Probes only control sockets and infers the task sockets, to which only tasks should connect.
void LookAtTaskSockets(const std::string& directory, LeftoverFacts* facts) {
  constexpr std::string_view kControl = ".ctl";
  for (const std::string& path : SocketsIn(directory, &facts->more_sockets)) {
    if (!path.ends_with(kControl)) continue;
    const std::string task = path.substr(0, path.size() - kControl.size());
    pid_t shim = 0;
    const Listening listening = Probe(path, SOCK_SEQPACKET, &shim);
    if (shim > 0) facts->shims.push_back({task.substr(task.rfind('/') + 1), shim});
    if (listening != Listening::kNo) continue;
    facts->task_sockets.push_back(path);
    if (IsSocket(task)) facts->task_sockets.push_back(task);
  }
}

// Returns the attempt's folder if this process is a shim of this state directory:
// "STATE/jobs/j-abcde/worker-0.1"; otherwise empty. Its command line is "yard-shim FOLDER".
std::string FolderOfShim(const std::string& process, const std::string& jobs) {
  const auto words = runtime::ReadFile(process + "/cmdline", kSmallFile);
  constexpr std::string_view kShim("yard-shim\0", 10);
  if (!words.ok() || !words->starts_with(kShim)) return "";
  const std::string folder = words->c_str() + kShim.size();
  return folder.starts_with(jobs) ? folder : "";
}

void LookForUnreachableShims(const runtime::Locations& locations, LeftoverFacts* facts) {
  const std::string jobs = locations.state_directory + "/jobs/";
  std::error_code error;
  std::filesystem::directory_iterator process("/proc", error), end;
  for (; !error && process != end; process.increment(error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(process->path().filename().string(), &pid)) continue;
    const std::string folder = FolderOfShim(process->path().string(), jobs);
    if (folder.empty()) continue;
    const std::string task = absl::StrReplaceAll(folder.substr(jobs.size()), {{"/", "."}});
    const std::string socket = absl::StrCat(locations.runtime_directory, "/tasks/", task, ".ctl");
    if (!Exists(socket)) facts->unreachable_shims.push_back({task, pid});
  }
}

// Returns the process id in a lock file, whether or not it is locked; 0 if the file contains none.
pid_t PidIn(const std::string& path) {
  struct stat status = {};
  // Opening a FIFO would block.
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  const auto text = runtime::ReadFile(path, kSmallFile);
  pid_t pid = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &pid)) return 0;
  return std::max(pid, 0);
}

// Returns true if the file exists and its first bytes are not those of an SQLite database.
bool IsNoDatabase(const std::string& path) {
  constexpr std::string_view kBegins("SQLite format 3\0", 16);
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char begins[kBegins.size()];
  std::ifstream file(path, std::ios::binary);
  file.read(begins, sizeof begins);
  const auto count = static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0));
  return count > 0 && std::string_view(begins, count) != kBegins;
}

std::string NearestDirectory(const std::string& path) {
  std::filesystem::path place(path);
  std::error_code error;
  while (place.has_relative_path() && !std::filesystem::is_directory(place, error)) {
    place = place.parent_path();
  }
  return place.string();
}

}  // namespace

DirectoryFacts LookAtDirectory(std::string check, std::string path, std::string variable) {
  DirectoryFacts facts;
  facts.check = std::move(check);
  facts.path = std::move(path);
  facts.variable = std::move(variable);
  facts.user = geteuid();
  struct stat status = {};
  if (lstat(facts.path.c_str(), &status) != 0) {
    facts.error = errno;
    return facts;
  }
  facts.mode = status.st_mode;
  facts.owner = status.st_uid;
  return facts;
}

std::vector<SpaceFacts> LookAtSpace(
    const std::vector<std::pair<std::string, std::string>>& places) {
  std::vector<SpaceFacts> all;
  std::map<dev_t, std::size_t> known;
  for (const auto& [use, path] : places) {
    const std::string directory = NearestDirectory(path);
    struct stat status = {};
    struct statvfs space = {};
    if (stat(directory.c_str(), &status) != 0 || statvfs(directory.c_str(), &space) != 0) continue;
    const auto [found, is_new] = known.try_emplace(status.st_dev, all.size());
    if (!is_new) {
      all[found->second].used_by.push_back(use);
      continue;
    }
    all.push_back({.used_by = {use},
                   .path = directory,
                   .free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize,
                   .total_bytes = std::uint64_t{space.f_blocks} * space.f_frsize,
                   .free_inodes = space.f_favail,
                   .total_inodes = space.f_files});
  }
  return all;
}

LeftoverFacts LookForLeftovers(const runtime::Locations& locations) {
  LeftoverFacts facts;
  for (const std::string_view service : kAllServices) {
    if (HolderOf(locations, service) != 0) continue;
    const std::string lock = locations.LockPath(service);
    if (const pid_t pid = PidIn(lock);
        pid != 0 && absl::IsNotFound(runtime::IdentityOf(pid).status()))
      facts.locks.push_back(lock);
    const std::string ready =
        absl::StrCat(locations.runtime_directory, "/", std::string(service), ".ready");
    // If a process still listens, the service has only lost its lock.
    if (Exists(ready) && Probe(SocketPath(locations, service), SOCK_STREAM) != Listening::kYes)
      facts.ready_files.push_back(ready);
  }
  for (const std::string& path : SocketsIn(locations.runtime_directory, &facts.more_sockets)) {
    if (Probe(path, SOCK_STREAM) == Listening::kNo) facts.sockets.push_back(path);
  }
  LookAtTaskSockets(locations.runtime_directory + "/tasks", &facts);
  LookForUnreachableShims(locations, &facts);
  return facts;
}

ServiceFacts LookAtService(const runtime::Locations& locations, const std::string& service) {
  ServiceFacts facts;
  facts.name = service;
  facts.lock_path = locations.LockPath(service);
  facts.output_path = OutputPath(locations, service);
  facts.holder = HolderOf(locations, service);
  if (facts.holder != 0) {
    facts.suspended = IsSuspended(facts.holder);
    facts.lost_socket = HasLostItsSocket(locations, service);
    // A running service may be in a crash loop, so its last error is reported too.
    const LastWords words = LastWordsOf(locations, service);
    facts.cause = words.cause;
    facts.next_step = NextStepFor(words.cause, locations, service);
    return facts;
  }
  (void)Probe(SocketPath(locations, service), SOCK_STREAM, &facts.listener);
  const LastWords words = LastWordsOf(locations, service);
  facts.last_line = words.last_line;
  facts.cause = words.cause;
  const std::string database = DatabaseOf(locations, service);
  if (IsNoDatabase(database)) {
    facts.damage = absl::StrCat(database, ": file is not a database");
  }
  facts.next_step =
      NextStepFor(facts.damage.empty() ? words.cause : facts.damage, locations, service);
  return facts;
}

std::uint64_t HardFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) {
    return ~std::uint64_t{0};
  }
  return limit.rlim_max;
}

std::vector<std::string> MissingPrograms() {
  std::vector<std::string> missing;
  for (const char* program : {"registry/registry", "launcher/launcher", "launcher/yard-shim",
                              "datamanager/datamanager", "trainer/trainer"}) {
    if (runtime::FindBinary(program).ok()) continue;
    missing.push_back(std::filesystem::path(program).filename().string());
  }
  return missing;
}

std::vector<LibraryFacts> LoadedLibraries() {
  const bus::LibraryVersion zero_mq = bus::ZeroMqVersion();
  return {{.name = zero_mq.name, .compiled = zero_mq.compiled, .running = zero_mq.running},
          {.name = "FlatBuffers",
           .compiled = absl::StrCat(FLATBUFFERS_VERSION_MAJOR, ".", FLATBUFFERS_VERSION_MINOR, ".",
                                    FLATBUFFERS_VERSION_REVISION),
           .running = flatbuffers::FLATBUFFERS_VERSION()}};
}

}  // namespace yard
