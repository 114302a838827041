#include "runtime/sqlite/database_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "runtime/file/sync_directory.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

constexpr int kBusyMs = 5000;  // How long a statement waits for another connection's transaction.

}  // namespace

absl::StatusOr<bool> MakeDatabaseFile(const std::string& path) {
  // (Others may move the file away, so that each call either creates or finds it.) The descriptor
  // is closed at once, because closing it later would release SQLite's locks on the file.
  bool is_new = false;
  bool is_there = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC)).valid();
  if (!is_there && errno == ENOENT) {
    constexpr int kNew = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    is_there = is_new = UniqueFd(open(path.c_str(), kNew, 0600)).valid();
  }
  if (!is_there) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  }
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (const absl::Status synced = SyncDirectory(parent); !synced.ok()) {
    return absl::InternalError(absl::StrCat("cannot sync ", parent, ": ", synced.message()));
  }
  return is_new;
}

absl::StatusOr<std::unique_ptr<SQLite::Database>> ConnectToDatabase(const std::string& path,
                                                                    int cache_kib) {
  try {
    auto database = std::make_unique<SQLite::Database>(
        path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kBusyMs);
    database->exec("PRAGMA synchronous=NORMAL");
    database->exec(absl::StrCat("PRAGMA cache_size=-", cache_kib));
    return database;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

bool IsNoRoom(SQLite::Database& database, const SQLite::Exception& error) {
  if (error.getErrorCode() == SQLITE_FULL) return true;
  const int cause = sqlite3_system_errno(database.getHandle());
  return error.getErrorCode() == SQLITE_IOERR && (cause == ENOSPC || cause == EDQUOT);
}

absl::Status DatabaseError(SQLite::Database& database, const std::string& what,
                           const SQLite::Exception& error) {
  const std::string text =
      absl::StrCat("cannot ", what, " in ", database.getFilename(), ": ", error.what());
  if (error.getErrorCode() == SQLITE_CONSTRAINT) return absl::AlreadyExistsError(text);
  if (IsNoRoom(database, error)) {
    (void)database.tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
    return absl::ResourceExhaustedError(text);
  }
  return absl::InternalError(text);
}

}  // namespace runtime
