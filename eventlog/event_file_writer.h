#ifndef EVENTLOG_EVENT_FILE_WRITER_H_
#define EVENTLOG_EVENT_FILE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace eventlog {

// Appends rendered records (event.h) to one event file. Every method blocks for the disk, every
// error names the path. Not thread safe, and the file has no other writer.
//
// Nothing is held back: after a kill -9 the file has what was appended, the last record perhaps in
// part. An owner that knows where its last whole record ends calls Truncate() there and appends the
// rest again; rendering is a pure function, so the bytes are the same.
class EventFileWriter {
 public:
  // Makes the file (mode 0644) or goes on at its end; its directory exists. FailedPrecondition for
  // a symbolic link.
  static absl::StatusOr<EventFileWriter> Open(const std::string& path);

  // In one write, unless the system takes less. After an error (a full disk) a part may be in the
  // file: Truncate() to the size before.
  absl::Status Append(std::string_view records);
  // Syncs the file: all that was appended survives a power loss.
  absl::Status Sync();
  // Cuts off what is behind `size`. OutOfRange if the file is shorter: it never grows by this.
  absl::Status Truncate(std::uint64_t size);
  absl::StatusOr<std::uint64_t> Size() const;

  const std::string& path() const { return path_; }

 private:
  EventFileWriter(std::string path, runtime::UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  runtime::UniqueFd fd_;
};

}  // namespace eventlog

#endif  // EVENTLOG_EVENT_FILE_WRITER_H_
