#ifndef EVENTLOG_EVENT_FILE_READER_H_
#define EVENTLOG_EVENT_FILE_READER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "runtime/unique_fd.h"

namespace eventlog {

// Reads one event file as it grows, each time from where the last read ended. Not thread safe.
//
// A short record at the end means "not yet". A record with a wrong payload, or that is no event,
// costs itself and is counted. Behind a damaged length nothing can be found: the file is read no
// further.
class EventFileReader {
 public:
  struct Options {
    // Where to start: 0, or offset() of an earlier reader of the same file.
    std::uint64_t offset = 0;
    // A record with a longer payload is taken for damage. What is held of an unfinished record
    // never exceeds it, nor the file's own size.
    std::uint64_t max_payload_bytes = kMaxPayloadBytes;
  };
  // NotFound, PermissionDenied, ... name the path. InvalidArgument if it is no regular file.
  static absl::StatusOr<std::unique_ptr<EventFileReader>> Open(const std::string& path,
                                                               Options options);
  static absl::StatusOr<std::unique_ptr<EventFileReader>> Open(const std::string& path) {
    return Open(path, Options());
  }

  // Calls `on_event` for each whole event that is new; it is valid during the call. Reads as far
  // as the file reached at the start of the call, so a fast writer holds nobody here.
  // FailedPrecondition: the file was cut short or replaced, or is gone; open it anew. DataLoss:
  // its framing is damaged, said once (later calls find nothing and are OK).
  absl::Status ReadNew(const std::function<void(const Event&)>& on_event);

  // Behind the last record that was read; during on_event, the start of the event's record.
  std::uint64_t offset() const { return offset_; }
  // During on_event: where in the file a view of the event begins.
  std::uint64_t OffsetOf(std::string_view part) const {
    return offset_ + static_cast<std::uint64_t>(part.data() - record_);
  }
  std::uint64_t records() const { return records_; }
  // Records that were skipped, and one for a damaged length.
  std::uint64_t bad_records() const { return bad_records_; }

 private:
  EventFileReader(std::string path, Options options, runtime::UniqueFd fd, dev_t device,
                  ino_t inode)
      : path_(std::move(path)),
        max_payload_bytes_(options.max_payload_bytes),
        fd_(std::move(fd)),
        device_(device),
        inode_(inode),
        offset_(options.offset) {}
  // The file's size, if it is still the one that was opened and has all that was read.
  absl::StatusOr<std::uint64_t> Size() const;
  // Appends to the buffer, up to `size` of the file. False at its end.
  absl::StatusOr<bool> Fill(std::uint64_t size);
  // Takes whole records from the front of the buffer.
  absl::Status Consume(const std::function<void(const Event&)>& on_event);

  const std::string path_;
  const std::uint64_t max_payload_bytes_;
  const runtime::UniqueFd fd_;
  const dev_t device_;
  const ino_t inode_;
  std::string buffer_;            // Bytes of the file from offset_ on.
  std::size_t needed_ = 0;        // Of these, to finish the record at the front.
  const char* record_ = nullptr;  // The record of the event that is being handed out.
  std::uint64_t offset_;
  std::uint64_t records_ = 0;
  std::uint64_t bad_records_ = 0;
  bool dead_ = false;
  Event event_;
};

}  // namespace eventlog

#endif  // EVENTLOG_EVENT_FILE_READER_H_
