#ifndef RUNTIME_SQLITE_DATABASE_SCHEMA_H_
#define RUNTIME_SQLITE_DATABASE_SCHEMA_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace runtime {

// The tables of a SQLite database through its versions, as SQL. The first version is 1; a file says
// its own in PRAGMA user_version.
struct DatabaseSchema {
  std::string newest;                        // Makes all tables of the newest version.
  std::vector<std::string> migrations = {};  // The first from version 1 to 2, and so on.
  // Returns the path of something that only a database in use leaves, or nothing. Set it for a file
  // that was there already: if the file is empty and this returns a path, the file is refused, and
  // not taken for a new one. Unset: an empty file is never refused.
  std::function<std::string()> trace_of_use = {};

  int version() const { return static_cast<int>(migrations.size()) + 1; }
};

// Prepares a database that was just opened to be written to: with a write-ahead log that is synced
// when it is copied, and of the newest version. An empty one gets its tables, one of an older
// version is migrated, all in one transaction: a process that is killed meanwhile leaves the file
// as it was. Nothing is changed if it fails: FailedPrecondition for a file of a newer version,
// naming both, and for a file that has lost its content (trace_of_use); failures of SQLite are its
// exceptions. Any thread; blocks.
absl::Status PrepareDatabase(SQLite::Database& database, const DatabaseSchema& schema);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_SCHEMA_H_
