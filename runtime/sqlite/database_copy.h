#ifndef RUNTIME_SQLITE_DATABASE_COPY_H_
#define RUNTIME_SQLITE_DATABASE_COPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace runtime {

// Copies a SQLite database that others may be writing to, as it is at one moment, all that was
// committed before included. `to` (0600) is replaced in one step, and synced: a copy is whole or
// not there. Writers go on meanwhile; their log is not emptied until the copy is done. Returns the
// copy's size in bytes. Any thread; blocks. NotFound without a database; InvalidArgument if `to` is
// that database itself; Unavailable for what fails, a full disk for one.
absl::StatusOr<std::uint64_t> CopyDatabase(const std::string& from, const std::string& to);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_COPY_H_
