#include "datamanager/index/index_check.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eventlog/file_scan.h"

namespace datamanager {
namespace {

using eventlog::FilePosition;

// Returns an empty string if the file can be the indexed one, otherwise the reason.
absl::string_view WhatIsWrong(const IndexedFile& file, const ListedRun& run) {
  const auto listed = std::lower_bound(
      run.files.begin(), run.files.end(), file.name,
      [](const ListedFile& other, const std::string& name) { return other.name < name; });
  const bool read = file.position.record.offset > 0;
  if (listed == run.files.end() || listed->name != file.name) {
    return read ? "is gone" : "";
  }
  if (static_cast<std::uint8_t>(listed->kind) != file.format)
    return "is of another kind than when it was indexed";
  if (!read) return "";
  const FileStat& now = listed->state;
  if (now.bytes < std::max(file.position.record.offset, file.position.size))
    return "is shorter than when it was indexed";
  const FilePosition& then = file.position;
  // The modification time can be set back, but the inode's change time cannot. Another inode is a
  // copy.
  if (now.identity.inode == then.inode && then.change_ns != 0 && now.bytes == then.size &&
      now.changed_ns != then.change_ns) {
    return "was changed since it was indexed and has not grown";
  }
  if (file.modified_ns == 0) return "";
  if (now.modified_ns < file.modified_ns) return "is older than when it was indexed";
  if (now.bytes == file.position.size && now.modified_ns != file.modified_ns) {
    return "was written since it was indexed and has not grown";
  }
  return "";
}

}  // namespace

absl::Status CheckIndex(const IndexedRun& index, const ListedRun& run) {
  for (const IndexedFile& file : index.files) {
    const absl::string_view wrong = WhatIsWrong(file, run);
    if (wrong.empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat(run.directory, "/", file.name, " ", wrong));
  }
  return absl::OkStatus();
}

}  // namespace datamanager
