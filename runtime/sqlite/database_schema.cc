#include "runtime/sqlite/database_schema.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace runtime {
namespace {

int VersionOf(SQLite::Database& database) {
  return database.execAndGet("PRAGMA user_version").getInt();
}

absl::Status Check(SQLite::Database& database, int found, int known) {
  if (found >= 0 && found <= known) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      database.getFilename(), " was written by a newer version (", found, ", this one knows ",
      known, "): install that version again, or restore a back-up of before"));
}

absl::Status CheckNotEmptied(SQLite::Database& database, const DatabaseSchema& schema) {
  const bool is_empty = VersionOf(database) == 0 &&
                        database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
  const std::string trace = is_empty && schema.trace_of_use ? schema.trace_of_use() : "";
  if (trace.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      database.getFilename(), " is empty, but it was in use: ", trace,
      " is there. Restore a back-up of it, or remove it to begin without what it knew"));
}

}  // namespace

absl::Status PrepareDatabase(SQLite::Database& database, const DatabaseSchema& schema) {
  // Checks before any write, and again later, as another process may have migrated it meanwhile.
  const int known = schema.version();
  if (auto status = Check(database, VersionOf(database), known); !status.ok()) return status;
  if (auto status = CheckNotEmptied(database, schema); !status.ok()) return status;
  database.exec("PRAGMA journal_mode=WAL");
  database.exec("PRAGMA synchronous=NORMAL");
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int found = VersionOf(database);
  if (auto status = Check(database, found, known); !status.ok()) return status;
  if (found == known) return absl::OkStatus();
  if (found == 0) {
    database.exec(schema.newest);
  } else {
    for (int old = found; old < known; ++old) {
      database.exec(schema.migrations[static_cast<std::size_t>(old) - 1]);
    }
  }
  database.exec(absl::StrCat("PRAGMA user_version=", known));
  transaction.commit();
  return absl::OkStatus();
}

}  // namespace runtime
