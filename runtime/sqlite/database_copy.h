#ifndef RUNTIME_SQLITE_DATABASE_COPY_H_
#define RUNTIME_SQLITE_DATABASE_COPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace runtime {

// Copies a SQLite database, to which others may be writing, as of one moment, including everything
// committed before. Replaces `to` (mode 0600) atomically and syncs it, so that a partial copy never
// exists. Writers continue meanwhile, but their log is not emptied until the copy is done. Returns
// the copy's size in bytes. Any thread; blocks. NotFound if the database is missing;
// InvalidArgument if `to` is that database itself; Unavailable for other failures, such as a full
// disk.
absl::StatusOr<std::uint64_t> CopyDatabase(const std::string& from, const std::string& to);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_DATABASE_COPY_H_
