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

// Appends rendered records (event.h) to one event file. Every method blocks for the disk; every
// error names the path. Not thread safe, and the file must have no other writer.
//
// Nothing is buffered: after a kill -9 the file contains everything that was appended, except that
// the last record may be partial. An owner that knows where its last complete record ends calls
// Truncate() there and appends the rest again; rendering is a pure function, so the bytes are the
// same.
class EventFileWriter {
 public:
  // Creates the file (mode 0644) or continues at its end; its directory must exist.
  // FailedPrecondition for a symbolic link.
  static absl::StatusOr<EventFileWriter> Open(const std::string& path);

  // Appends in one write, unless the system writes less. After an error (such as a full disk) the
  // file may contain a part: Truncate() it to its previous size.
  absl::Status Append(std::string_view records);
  // Syncs the file: everything that was appended survives a power failure.
  absl::Status Sync();
  // Removes everything after `size`. OutOfRange if the file is shorter: it never grows.
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
