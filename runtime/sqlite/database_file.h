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

// Makes an empty file for a database unless the file exists: readable by this user alone (SQLite
// gives its log the same mode), with a name that outlives a loss of power. True: it is new.
// Internal: it cannot be opened, or its directory cannot be synced. Any thread; blocks for the
// disk.
absl::StatusOr<bool> MakeDatabaseFile(const std::string& path);

// A connection of one thread, with a cache of so many KiB, to a database that exists, as every
// database of the yard is used: in WAL mode, committed without waiting for the disk. For who keeps
// a few tables in the database of somebody else, who has made it. Internal: it cannot be opened.
// Blocks for the disk.
absl::StatusOr<std::unique_ptr<SQLite::Database>> ConnectToDatabase(const std::string& path,
                                                                    int cache_kib);

// Is it a full disk or quota, also where SQLite calls it an input/output error (the index of its
// log cannot grow)?
bool IsNoRoom(SQLite::Database& database, const SQLite::Exception& error);

// "cannot WHAT in PATH: ..." for what SQLite threw: AlreadyExists for a constraint,
// ResourceExhausted for IsNoRoom(), else Internal. After a full disk the log is copied and cut to
// nothing: what stands in it twice takes the room of what is to come. On the database's thread.
absl::Status DatabaseError(SQLite::Database& database, const std::string& what,
                           const SQLite::Exception& error);

// Calls `body`, which returns an absl::Status; what it throws becomes the status.
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
