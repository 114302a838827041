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

// A small file beside the event files of a run.
struct RunFile {
  std::string key;                                    // Key of the content; "KEY file" is taken
                                                      // too.
  std::string name;                                   // In the directory of the run.
  std::size_t limit = 0;                              // Bytes.
  DirectorySource* source = DirectorySource::Real();  // Not owned.
};

// Gives `take` the bytes of the file if it is another file than the last time, or has changed; the
// updater looks at that only if anything about the run has changed. An error stands until then.
// Without the file the content goes, which is no failure. Errors: what `take` returns;
// FailedPrecondition if it is no regular file; ResourceExhausted over the limit; those of the
// system, after which it is tried again.
BriefCache::Updater UpdaterFromText(
    RunFile file, std::function<absl::Status(BriefItem& item, std::string_view text)> take);

// Keeps what `parse` makes of the file.
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
