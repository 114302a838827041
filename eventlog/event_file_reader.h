#ifndef EVENTLOG_EVENT_FILE_READER_H_
#define EVENTLOG_EVENT_FILE_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eventlog/event.h"
#include "runtime/unique_fd.h"

namespace eventlog {

// Reads one event file as it grows, each time from where the last read ended. Not thread safe.
//
// A short record at the end means "not yet". A record with a wrong payload, or that is no event,
// costs itself and is counted. Behind a damaged length nothing can be found: the file is read no
// further.
class EventFileReader {
 public:
  // NotFound, PermissionDenied, ... name the path.
  static absl::StatusOr<std::unique_ptr<EventFileReader>> Open(const std::string& path);

  // Calls `on_event` for each whole event that is new; it is valid during the call.
  // FailedPrecondition: the file was cut short or replaced, or is gone; open it anew. DataLoss:
  // its framing is damaged, said once (later calls find nothing and are OK).
  absl::Status ReadNew(const std::function<void(const Event&)>& on_event);

  // Behind the last whole record that was read.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t records() const { return records_; }
  // Records that were skipped, and one for a damaged length.
  std::uint64_t bad_records() const { return bad_records_; }

 private:
  EventFileReader(std::string path, runtime::UniqueFd fd, dev_t device, ino_t inode)
      : path_(std::move(path)), fd_(std::move(fd)), device_(device), inode_(inode) {}
  absl::Status CheckSameFile() const;
  // Takes whole records from the front of the buffer.
  absl::Status Consume(const std::function<void(const Event&)>& on_event);

  const std::string path_;
  const runtime::UniqueFd fd_;
  const dev_t device_;
  const ino_t inode_;
  std::string buffer_;  // Bytes of the file from offset_ on.
  std::size_t needed_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bad_records_ = 0;
  bool dead_ = false;
  Event event_;
};

}  // namespace eventlog

#endif  // EVENTLOG_EVENT_FILE_READER_H_
