#ifndef RUNTIME_SQLITE_DATABASE_CHECK_H_
#define RUNTIME_SQLITE_DATABASE_CHECK_H_

#include <string>

namespace runtime {

// Whether the process that wrote the SQLite database last has ended without closing it: killed, or
// the power was lost. Before it is opened.
bool WasLeftOpen(const std::string& path);

// The path of something in a directory, hidden names aside; empty: there is nothing, or no
// directory. For DatabaseSchema::trace_of_use.
std::string FirstEntryIn(const std::string& directory);

// The damage that SQLite finds in the pages of the database at `path` (PRAGMA quick_check), a few
// lines joined by "; "; empty if it finds nothing. Reads the whole file, by a connection of its
// own, while others may write. Any thread; blocks.
std::string DamageOf(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_CHECK_H_
