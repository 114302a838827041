#ifndef RUNTIME_SQLITE_DATABASE_SCHEMA_H_
#define RUNTIME_SQLITE_DATABASE_SCHEMA_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace runtime {

// The tables of a SQLite database in its versions, as SQL. The first version is 1; PRAGMA
// user_version contains a file's version.
struct DatabaseSchema {
  std::string newest;                        // Creates all tables of the newest version.
  std::vector<std::string> migrations = {};  // The first one migrates from version 1 to 2, and so
                                             // on.
  // Returns the path of something that only a used database leaves behind, or an empty string. Set
  // it for a file that existed before: if the file is empty and this returns a path, the file has
  // lost its content and is refused instead of being treated as new. Unset: an empty file is never
  // refused.
  std::function<std::string()> trace_of_use = {};

  int version() const { return static_cast<int>(migrations.size()) + 1; }
};

// Prepares a just opened database for writing: enables a write-ahead log that is synced at each
// checkpoint, and brings the file to the newest version. Creates the tables of an empty file and
// migrates an older one, all in one transaction, so that a killed process leaves the file as it
// was. Changes nothing if it fails: FailedPrecondition for a file of a newer version, naming both
// versions, and for a file that has lost its content (trace_of_use); SQLite's failures are its
// exceptions. Any thread; blocks.
absl::Status PrepareDatabase(SQLite::Database& database, const DatabaseSchema& schema);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_SCHEMA_H_
