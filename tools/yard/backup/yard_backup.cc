#include "tools/yard/backup/yard_backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/wire/version.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/sqlite/database_copy.h"
#include "runtime/sqlite/restored_state.h"
#include "runtime/text/random_id.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/wanted.h"

// A backup is written to DIRECTORY.part, which contains the file `unfinished` until it is complete,
// and is then moved into place in one step. A restore first copies to STATE/.restoring, and starts
// over if it was killed.

namespace yard {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr char kAbout[] = "backup.json";
constexpr char kUnfinished[] = "unfinished";
constexpr char kRuns[] = "runs";
constexpr std::string_view kDatabases[] = {"trainer.db", "launcher.db"};
constexpr std::size_t kSmallFile = 1 << 20;

absl::Status Failed(const std::error_code& error, const std::string& what) {
  return absl::ErrnoToStatus(error.value(), what);
}

bool IsIn(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

// Returns true for files that are worthless or recreated: locks, logs, indexes, sessions, ports;
// and for the gate's keys, because access from elsewhere is not part of a yard's data.
bool IsOfNoUse(const std::string& name) {
  static const std::set<std::string> kNames = {"log",         "datamanager", "web.sessions",
                                               "web.port",    "restored",    ".restoring",
                                               "launcher.db", "trainer.db",  "gate"};
  return kNames.contains(name) || name.ends_with(".lock") || name.ends_with("-wal") ||
         name.ends_with("-shm") || name.ends_with("-journal") || name.starts_with("replaced-");
}

class Copier {
 public:
  // Files with the name `empty` are copied without their content.
  explicit Copier(std::string empty = "") : empty_(std::move(empty)) {}
  const CopiedFiles& copied() const { return copied_; }
  void Add(std::uint64_t bytes) {
    ++copied_.files;
    copied_.bytes += bytes;
  }

  // Copies a file, a link (as a link), or a directory with its contents except `left_out`. Skips
  // files that vanish meanwhile, sockets and pipes.
  absl::Status Copy(const fs::path& from, const fs::path& to,
                    const std::function<bool(const std::string& name)>& left_out = {}) {
    std::error_code error;
    const auto status = fs::symlink_status(from, error);
    if (status.type() == fs::file_type::not_found) return absl::OkStatus();
    if (error) return Failed(error, absl::StrCat("reading ", from.string()));
    if (fs::is_symlink(status)) {
      fs::copy_symlink(from, to, error);
    } else if (fs::is_regular_file(status)) {
      return CopyFile(from, to);
    } else if (fs::is_directory(status)) {
      return CopyDirectory(from, to, left_out);
    }
    if (error && fs::exists(fs::symlink_status(from))) {
      return Failed(error, absl::StrCat("copying ", from.string(), " to ", to.string()));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CopyFile(const fs::path& from, const fs::path& to) {
    std::error_code error;
    if (!empty_.empty() && from.filename() == empty_) {
      ++copied_.files;
      return runtime::WriteFileAtomically(to.string(), "", 0600);
    }
    fs::copy_file(from, to, error);
    if (error && !fs::exists(fs::symlink_status(from))) return absl::OkStatus();
    if (error) return Failed(error, absl::StrCat("copying ", from.string(), " to ", to.string()));
    const auto time = fs::last_write_time(from, error);
    if (!error) fs::last_write_time(to, time, error);
    const auto bytes = fs::file_size(to, error);
    Add(error ? 0 : bytes);
    return absl::OkStatus();
  }

  absl::Status CopyDirectory(const fs::path& from, const fs::path& to,
                             const std::function<bool(const std::string& name)>& left_out) {
    std::error_code error;
    struct stat about = {};
    if (stat(from.c_str(), &about) != 0) return absl::OkStatus();
    fs::create_directory(to, error);
    if (error) return Failed(error, absl::StrCat("making ", to.string()));
    fs::directory_iterator entry(from, error), end;
    if (error) return Failed(error, absl::StrCat("reading ", from.string()));
    for (; !error && entry != end; entry.increment(error)) {
      const fs::path name = entry->path().filename();
      if (left_out && left_out(name.string())) continue;
      if (absl::Status copied = Copy(entry->path(), to / name); !copied.ok()) return copied;
    }
    if (error) return Failed(error, absl::StrCat("reading ", from.string()));
    // The mode is set last, because it may forbid writing.
    if (chmod(to.c_str(), about.st_mode & 07777) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("changing the mode of ", to.string()));
    }
    return absl::OkStatus();
  }

  const std::string empty_;
  CopiedFiles copied_;
};

absl::Status SyncAll(const std::string& directory) {
  const runtime::UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("syncing ", directory));
  }
  return absl::OkStatus();
}

absl::Status RemoveAll(const std::string& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  return error ? Failed(error, absl::StrCat("removing ", directory)) : absl::OkStatus();
}

// ---- Backup

// Makes an empty directory next to the backup's final place.
absl::StatusOr<std::string> MakePart(const std::string& directory) {
  std::error_code error;
  const bool is_there = fs::exists(fs::symlink_status(directory, error));
  if (is_there && !fs::exists(directory + "/" + kAbout, error) &&
      !(fs::is_directory(directory, error) && fs::is_empty(directory, error))) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is there and is no back-up of a yard; name another directory"));
  }
  std::string part = directory + ".part";
  if (fs::exists(fs::symlink_status(part, error))) {
    if (!fs::exists(part + "/" + kUnfinished, error)) {
      return absl::FailedPreconditionError(
          absl::StrCat(part, " is in the way, where the back-up is made; move it away"));
    }
    if (absl::Status removed = RemoveAll(part); !removed.ok()) return removed;
  }
  if (absl::Status made = runtime::MakeDirectories(part, 0700); !made.ok()) return made;
  if (absl::Status begun = runtime::WriteFileAtomically(part + "/" + kUnfinished, "", 0600);
      !begun.ok()) {
    return begun;
  }
  return part;
}

absl::Status PutInPlace(const std::string& part, const std::string& directory) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(directory, error))) {
    fs::rename(part, directory, error);
    return error ? Failed(error, absl::StrCat("renaming ", part)) : absl::OkStatus();
  }
  if (renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("putting ", part, " in the place of ", directory));
  }
  return RemoveAll(part);
}

absl::Status CopyState(const std::string& state, const std::string& part, Copier* copier) {
  for (const std::string_view name : kDatabases) {
    const std::string file(name);
    const auto bytes = runtime::CopyDatabase(state + "/" + file, part + "/" + file);
    if (absl::IsNotFound(bytes.status())) continue;
    if (!bytes.ok()) return bytes.status();
    copier->Add(*bytes);
  }
  // Keep attempts' files: they record that the attempt was started and must not start again.
  if (absl::Status copied = copier->Copy(state + "/jobs", part + "/jobs"); !copied.ok()) {
    return copied;
  }
  std::error_code error;
  fs::directory_iterator entry(state, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "jobs" || IsOfNoUse(name)) continue;
    if (absl::Status copied = copier->Copy(entry->path(), part + "/" + name); !copied.ok()) {
      return copied;
    }
  }
  return error ? Failed(error, absl::StrCat("reading ", state)) : absl::OkStatus();
}

// ---- Restore

struct About {
  std::string state, logdir;
  bool with_runs = false;
};

absl::StatusOr<About> ReadAbout(const std::string& directory) {
  const std::string path = directory + "/" + kAbout;
  const auto text = runtime::ReadFile(path, kSmallFile);
  if (!text.ok()) {
    return absl::NotFoundError(
        absl::StrCat(directory, " is no back-up of a yard: it has no ", kAbout));
  }
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto word = [&](const char* name) -> std::string {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  About about{.state = word("state"), .logdir = word("logdir")};
  if (!about.state.starts_with('/') || !json.contains("format") ||
      !json["format"].is_number_integer()) {
    return absl::DataLossError(absl::StrCat(path, " cannot be read"));
  }
  if (json["format"].get<int>() > kFormat) {
    return absl::FailedPreconditionError(absl::StrCat(directory, " was made by a newer version (",
                                                      word("version"), "); install that first"));
  }
  about.with_runs = json.contains(kRuns) && json[kRuns] == true;
  return about;
}

// While these locks are held, no service can start.
absl::StatusOr<std::vector<runtime::UniqueFd>> LockServices(const std::string& state) {
  std::vector<runtime::UniqueFd> locks;
  for (const std::string_view service : kAllServices) {
    const std::string name(service);
    auto lock = runtime::LockFile(absl::StrCat(state, "/", name, ".lock"));
    if (absl::IsAlreadyExists(lock.status())) {
      return absl::FailedPreconditionError(
          absl::StrCat("the yard runs (", lock.status().message(), "); next: yard down"));
    }
    if (!lock.ok()) return lock.status();
    locks.push_back(*std::move(lock));
  }
  return locks;
}

bool HasState(const std::string& state) {
  std::error_code error;
  return fs::exists(state + "/trainer.db", error) || fs::exists(state + "/launcher.db", error) ||
         fs::exists(state + "/jobs", error);
}

// Moves aside everything that a backup would contain, and the rest of the databases.
absl::StatusOr<std::string> MoveAside(const std::string& state, absl::Time now) {
  const std::string name_of_now = absl::StrCat(
      state, "/replaced-", absl::FormatTime("%Y%m%d-%H%M%S", now, absl::LocalTimeZone()));
  std::error_code error;
  // Another one may have been made in the same second.
  std::string aside = name_of_now;
  for (int i = 2; fs::exists(fs::symlink_status(aside, error)); ++i) {
    aside = absl::StrCat(name_of_now, ".", i);
  }
  if (absl::Status made = runtime::MakeDirectories(aside, 0700); !made.ok()) return made;
  std::vector<fs::path> there;
  for (fs::directory_iterator entry(state, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_database = absl::StrContains(name, ".db");
    if (is_database || !IsOfNoUse(name)) there.push_back(entry->path());
  }
  for (const fs::path& path : there) {
    fs::rename(path, fs::path(aside) / path.filename(), error);
    if (error) return Failed(error, absl::StrCat("moving ", path.string(), " to ", aside));
  }
  return aside;
}

// AlreadyExists for the first run of the backup whose name is taken in `logdir`.
absl::Status CheckRunsAreFree(const std::string& runs, const std::string& logdir) {
  std::error_code error;
  for (fs::directory_iterator entry(runs, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path taken = fs::path(logdir) / entry->path().filename();
    if (fs::exists(fs::symlink_status(taken))) {
      return absl::AlreadyExistsError(
          absl::StrCat(taken.string(), " is there already; name an empty directory with --logdir"));
    }
  }
  return absl::OkStatus();
}

// Restores the copied yard's settings as those of the last yard.
absl::Status RestoreWanted(const std::string& from, const runtime::Locations& to,
                           const std::string& logdir) {
  runtime::Locations there;
  there.state_directory = from;
  const auto wanted = ReadWanted(there);
  std::optional<Wanted> settings = wanted.ok() ? *wanted : std::nullopt;
  if (!settings) {
    if (auto last = ReadLastWanted(there)) settings = std::move(last->wanted);
  }
  if (!settings) return absl::OkStatus();
  settings->logdir = logdir;
  settings->logdir_was_given = true;
  if (absl::Status written = WriteWanted(to, *settings); !written.ok()) return written;
  return RetireWanted(to, /*kept=*/false);
}

runtime::RestoredState MovesOf(const About& about, const std::string& state,
                               const std::string& logdir) {
  runtime::RestoredState restored{.id = runtime::RandomHex128(), .moved = {}};
  if (about.state != state) restored.moved.emplace_back(about.state, state);
  if (!about.logdir.empty() && about.logdir != logdir) {
    restored.moved.emplace_back(about.logdir, logdir);
  }
  // Nested paths come before their parents.
  std::sort(restored.moved.begin(), restored.moved.end(),
            [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return restored;
}

bool IsSetting(const std::string& name) {
  return name == "wanted" || name == "wanted.last" || name == "wanted.kept";
}

}  // namespace

absl::StatusOr<CopiedFiles> BackUp(const runtime::Locations& locations,
                                   const BackUpOptions& options) {
  const std::string& state = locations.state_directory;
  if (!HasState(state)) {
    return absl::FailedPreconditionError(
        absl::StrCat(state, " has no yard's state: there is nothing to copy"));
  }
  for (const std::string* of : {&state, &options.logdir}) {
    if (!of->empty() && IsIn(options.directory, *of)) {
      return absl::FailedPreconditionError(absl::StrCat(
          options.directory, " lies in ", *of, ", which is copied; name a directory elsewhere"));
    }
  }
  const auto lock = runtime::LockFile(state + "/backup.lock");
  if (absl::IsAlreadyExists(lock.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat("another back-up is being made: ", lock.status().message()));
  }
  if (!lock.ok()) return lock.status();
  const auto part = MakePart(options.directory);
  if (!part.ok()) return part.status();
  Copier copier;
  if (absl::Status copied = CopyState(state, *part, &copier); !copied.ok()) return copied;
  if (options.with_runs) {
    const absl::Status copied =
        copier.Copy(options.logdir, *part + "/" + kRuns,
                    [](const std::string& name) { return name == ".trash"; });
    if (!copied.ok()) return copied;
  }
  const nlohmann::json about = {
      {"format", kFormat},
      {"version", std::string(bus::kVersion)},
      {"made", absl::FormatTime(absl::RFC3339_sec, options.now, absl::UTCTimeZone())},
      {"state", state},
      {"logdir", options.logdir},
      {kRuns, options.with_runs}};
  absl::Status written = runtime::WriteFileAtomically(
      *part + "/" + kAbout,
      about.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", 0600);
  if (!written.ok()) return written;
  unlink((*part + "/" + kUnfinished).c_str());
  if (absl::Status synced = SyncAll(*part); !synced.ok()) return synced;
  if (absl::Status placed = PutInPlace(*part, options.directory); !placed.ok()) return placed;
  return copier.copied();
}

absl::StatusOr<Restored> Restore(const runtime::Locations& locations,
                                 const RestoreOptions& options) {
  const std::string& state = locations.state_directory;
  const auto about = ReadAbout(options.directory);
  if (!about.ok()) return about.status();
  if (absl::Status made = runtime::MakePrivateDirectory(state); !made.ok()) return made;
  const auto locks = LockServices(state);
  if (!locks.ok()) return locks.status();
  Restored restored{.logdir = options.logdir.empty() ? about->logdir : options.logdir,
                    .with_runs = about->with_runs};
  const std::string runs = options.directory + "/" + kRuns;
  if (about->with_runs) {
    if (absl::Status free = CheckRunsAreFree(runs, restored.logdir); !free.ok()) return free;
  }
  if (HasState(state)) {
    if (!options.replace) {
      return absl::AlreadyExistsError(absl::StrCat(
          state, " has a yard's state already; --replace moves it aside, into that directory"));
    }
    auto aside = MoveAside(state, options.now);
    if (!aside.ok()) return aside.status();
    restored.aside = *std::move(aside);
  }
  const std::string work = state + "/.restoring";
  if (absl::Status removed = RemoveAll(work); !removed.ok()) return removed;
  if (absl::Status made = runtime::MakeDirectories(work, 0700); !made.ok()) return made;
  // "started" marks of attempts name processes of the original yard, so their content is dropped.
  Copier copier("started");
  if (about->with_runs) {
    if (absl::Status made = runtime::MakeDirectories(restored.logdir, 0755); !made.ok()) {
      return made;
    }
    std::error_code error;
    for (fs::directory_iterator entry(runs, error), end; !error && entry != end;
         entry.increment(error)) {
      Copier of_runs;
      const absl::Status copied =
          of_runs.Copy(entry->path(), fs::path(restored.logdir) / entry->path().filename());
      if (!copied.ok()) return copied;
      restored.copied.files += of_runs.copied().files;
      restored.copied.bytes += of_runs.copied().bytes;
    }
    if (absl::Status synced = SyncAll(restored.logdir); !synced.ok()) return synced;
  }
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(options.directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == kAbout || name == kRuns || IsSetting(name)) continue;
    if (absl::Status copied = copier.Copy(entry->path(), work + "/" + name); !copied.ok()) {
      return copied;
    }
    names.push_back(name);
  }
  if (error) return Failed(error, absl::StrCat("reading ", options.directory));
  if (absl::Status written = runtime::WriteFileAtomically(
          absl::StrCat(state, "/", std::string(runtime::RestoredState::kFile)),
          MovesOf(*about, state, restored.logdir).Encode(), 0600);
      !written.ok()) {
    return written;
  }
  // Databases are moved last: without them, nothing of the restore counts.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return !name.ends_with(".db"); });
  for (const std::string& name : names) {
    fs::rename(work + "/" + name, state + "/" + name, error);
    if (error) return Failed(error, absl::StrCat("putting ", name, " into ", state));
  }
  if (absl::Status wanted = RestoreWanted(options.directory, locations, restored.logdir);
      !wanted.ok()) {
    return wanted;
  }
  if (absl::Status removed = RemoveAll(work); !removed.ok()) return removed;
  if (absl::Status synced = SyncAll(state); !synced.ok()) return synced;
  restored.copied.files += copier.copied().files;
  restored.copied.bytes += copier.copied().bytes;
  return restored;
}

}  // namespace yard
