#ifndef DATAMANAGER_BRIEF_RUN_FILE_UPDATER_H_
#define DATAMANAGER_BRIEF_RUN_FILE_UPDATER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/directory_source.h"

namespace datamanager {

// Describes a small file beside the event files of a run.
struct RunFile {
  std::string key;                                    // Key of the content; "KEY file" is also
                                                      // used.
  std::string name;                                   // Name in the run's directory.
  std::size_t limit = 0;                              // Limit of its size, in bytes.
  DirectorySource* source = DirectorySource::Real();  // Not owned.
};

// Passes the file's bytes to `take` if the file was replaced or has changed since the last time;
// checks the file only if anything about the run has changed. An error persists until the next
// change. If the file is missing, removes the content, which is not a failure. Errors: those of
// `take`; FailedPrecondition if it is not a regular file; ResourceExhausted over the limit; errors
// of the system, after which the next scan retries.
BriefCache::Updater UpdaterFromText(
    RunFile file, std::function<absl::Status(BriefItem& item, std::string_view text)> take);

// Stores the result of `parse`.
template <typename T>
BriefCache::Updater UpdaterFromFile(RunFile file,
                                    absl::StatusOr<T> (*parse)(std::string_view text)) {
  const std::string key = file.key;
  return UpdaterFromText(std::move(file), [key, parse](BriefItem& item, std::string_view text) {
    absl::StatusOr<T> content = parse(text);
    if (!content.ok()) return content.status();
    return item.Set(key, std::make_shared<const T>(*std::move(content)));
  });
}

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_FILE_UPDATER_H_
