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
  // Of a file that was there already: the path of something that only a database in use leaves, or
  // nothing. One that is empty is refused then, and not taken for a new one. Unset: never.
  std::function<std::string()> trace_of_use = {};

  int version() const { return static_cast<int>(migrations.size()) + 1; }
};

// Prepares a database that was just opened to be written to: with a write-ahead log that is synced
// when it is copied, and of the newest version. An empty one gets its tables, one of an older
// version is migrated, all in one transaction: whoever is killed meanwhile has left the file as it
// was. Nothing is changed if it fails: FailedPrecondition for a file of a newer version, naming
// both, and for one that has lost what was in it (trace_of_use); what SQLite fails in is its
// exception. Any thread; blocks.
absl::Status PrepareDatabase(SQLite::Database& database, const DatabaseSchema& schema);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_SCHEMA_H_
