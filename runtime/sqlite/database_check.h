#ifndef RUNTIME_SQLITE_DATABASE_CHECK_H_
#define RUNTIME_SQLITE_DATABASE_CHECK_H_

#include <string>

namespace runtime {

// True if the process that last wrote the SQLite database ended without closing it: it was killed,
// or the power failed. Call it before the database is opened.
bool WasLeftOpen(const std::string& path);

// Returns the path of an entry in a directory, hidden names excluded; empty if the directory is
// empty or missing. For DatabaseSchema::trace_of_use.
std::string FirstEntryIn(const std::string& directory);

// Returns the damage that SQLite finds in the pages of the database at `path` (PRAGMA quick_check),
// a few lines joined by "; "; empty if it finds none. Reads the whole file through its own
// connection, while others may write. Any thread; blocks.
std::string DamageOf(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_CHECK_H_
