#ifndef RUNTIME_SQLITE_DATABASE_FILE_H_
#define RUNTIME_SQLITE_DATABASE_FILE_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <exception>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace runtime {

// Creates an empty database file unless it exists: readable by this user only (SQLite gives its log
// the same mode), and durable after a power failure. Returns true if it is new. Internal: it cannot
// be opened, or its directory cannot be synced. Any thread; blocks for the disk.
absl::StatusOr<bool> MakeDatabaseFile(const std::string& path);

// Opens a connection for one thread, with a cache of `cache_kib` KiB, to an existing database. Like
// every database of the yard, it is used in WAL mode, and commits do not wait for the disk. For a
// component that keeps a few tables in a database that another component has created. Internal: it
// cannot be opened. Blocks for the disk.
absl::StatusOr<std::unique_ptr<SQLite::Database>> ConnectToDatabase(const std::string& path,
                                                                    int cache_kib);

// True if the error means a full disk or quota, including the case that SQLite reports as an
// input/output error (the index of its log cannot grow).
bool IsNoRoom(SQLite::Database& database, const SQLite::Exception& error);

// Converts SQLite's exception to "cannot WHAT in PATH: ...": AlreadyExists for a constraint,
// ResourceExhausted for IsNoRoom(), otherwise Internal. After a full disk it checkpoints and
// truncates the log, whose pages would otherwise occupy the disk twice. On the database's thread.
absl::Status DatabaseError(SQLite::Database& database, const std::string& what,
                           const SQLite::Exception& error);

// Calls `body`, which returns an absl::Status; converts its exceptions to a status: SQLite's by
// DatabaseError(), all others to Internal.
template <typename Body>
absl::Status TryDatabase(SQLite::Database& database, const std::string& what, Body body) {
  try {
    return body();
  } catch (const SQLite::Exception& error) {
    return DatabaseError(database, what, error);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot ", what, ": ", error.what()));
  }
}

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_FILE_H_
