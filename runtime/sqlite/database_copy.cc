#include "runtime/sqlite/database_copy.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/random_id.h"

namespace runtime {
namespace {

constexpr int kBusyMs = 10'000;

absl::Status Failed(const std::string& what, const std::string& why) {
  return absl::UnavailableError(absl::StrCat("cannot ", what, ": ", why));
}

absl::Status Sync(const std::string& path, int flags) {
  const UniqueFd file(open(path.c_str(), flags | O_CLOEXEC));
  if (file.valid() && fsync(file.get()) == 0) return absl::OkStatus();
  return Failed("sync " + path, strerror(errno));
}

// Copies all pages in one step, so that the copy is of one moment. `to` exists and is empty.
absl::Status CopyPages(const std::string& from, const std::string& to) {
  try {
    SQLite::Database source(from, SQLite::OPEN_READONLY, kBusyMs);
    SQLite::Database copy(to, SQLite::OPEN_READWRITE, kBusyMs);
    {
      SQLite::Backup backup(copy, source);
      backup.executeStep(-1);
      if (backup.getRemainingPageCount() != 0) return Failed("copy " + from, "it is locked");
    }
    // Makes the copy one file without a log; a connection that opens it for writing creates its own
    // log.
    copy.exec("PRAGMA journal_mode=DELETE");
  } catch (const SQLite::Exception& error) {
    return Failed(absl::StrCat("copy ", from, " to ", to), error.what());
  }
  return Sync(to, O_RDONLY);
}

}  // namespace

absl::StatusOr<std::uint64_t> CopyDatabase(const std::string& from, const std::string& to) {
  struct stat source {
  }, target{};
  if (stat(from.c_str(), &source) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no database ", from));
  }
  if (stat(to.c_str(), &target) == 0 && source.st_dev == target.st_dev &&
      source.st_ino == target.st_ino) {
    return absl::InvalidArgumentError(absl::StrCat(to, " is the database itself"));
  }
  const std::string partial = absl::StrCat(to, ".", RandomId(), ".partial");
  if (!UniqueFd(open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)).valid()) {
    return Failed("make " + partial, strerror(errno));
  }
  absl::Status copied = CopyPages(from, partial);
  // An earlier copy that a program has opened may have left a log; SQLite must not apply it to this
  // copy.
  if (copied.ok()) {
    for (const char* more : {"-wal", "-shm"}) unlink((to + more).c_str());
  }
  if (copied.ok() && rename(partial.c_str(), to.c_str()) != 0) {
    copied = Failed(absl::StrCat("rename ", partial), strerror(errno));
  }
  if (!copied.ok()) {
    for (const char* more : {"", "-wal", "-shm", "-journal"}) unlink((partial + more).c_str());
    return copied;
  }
  const std::string directory = std::filesystem::path(to).parent_path().string();
  if (absl::Status synced = Sync(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY);
      !synced.ok()) {
    return synced;
  }
  if (stat(to.c_str(), &target) != 0) return Failed("look at " + to, strerror(errno));
  return static_cast<std::uint64_t>(target.st_size);
}

}  // namespace runtime
