#ifndef TOOLS_YARD_EVENT_EVENT_DUMP_H_
#define TOOLS_YARD_EVENT_EVENT_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace yard {

// Events as they were heard, in a file: what `yard sub --dump` writes and `yard pub --replay`
// reads.
//
// Records as of an event file (eventlog/record.h), so that each is checked and a file that was cut
// off in one is whole up to there. The first holds kDumpFormat, each other one an event: u64 when
// it was heard (microseconds since 1970, little endian), its topic, a newline, its message.
inline constexpr std::string_view kDumpFormat = "trainyard events 1\n";

struct DumpedEvent {
  std::int64_t heard_us = 0;
  std::string topic;
  std::string message;  // An Envelope, not verified.
};

// One thread. Each event is given to the kernel at once: a killed process loses none.
class EventDumpWriter {
 public:
  // Makes the file, of mode 0600, which will have at most `max_bytes`. AlreadyExists: it is there.
  static absl::StatusOr<std::unique_ptr<EventDumpWriter>> Create(const std::string& path,
                                                                 std::uint64_t max_bytes);
  // ResourceExhausted: it would be longer than it may be, and stays as it is.
  absl::Status Add(std::int64_t heard_us, std::string_view topic, std::string_view message);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t events() const { return events_; }

 private:
  EventDumpWriter(std::string path, runtime::UniqueFd file, std::uint64_t max_bytes)
      : path_(std::move(path)), file_(std::move(file)), max_bytes_(max_bytes) {}
  absl::Status Append(std::string_view payload);

  const std::string path_;
  const runtime::UniqueFd file_;
  const std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t events_ = 0;
};

// One thread.
class EventDumpReader {
 public:
  // InvalidArgument: not such a file.
  static absl::StatusOr<std::unique_ptr<EventDumpReader>> Open(const std::string& path);
  // Nothing: that was the last one. DataLoss: what is wrong at which byte.
  absl::StatusOr<std::optional<DumpedEvent>> Next();
  // The last record is not whole: the writer was killed in it.
  bool torn() const { return torn_; }

 private:
  EventDumpReader(std::string path, runtime::UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}
  // The payload of the next record, valid until the next call; nothing at the end.
  absl::StatusOr<std::optional<std::string_view>> NextRecord();
  // False: the end of the file.
  absl::StatusOr<bool> Read();
  absl::Status Damaged(std::string_view what) const;

  const std::string path_;
  const runtime::UniqueFd file_;
  std::string buffer_;
  std::size_t begin_ = 0;     // Bytes before it were given out.
  std::uint64_t offset_ = 0;  // Place of `begin_` in the file.
  bool torn_ = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_DUMP_H_
