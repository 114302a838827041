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

// Received events in a file, written by `yard sub --dump` and read by `yard pub
// --replay`.
//
// Records have the format of an event file (eventlog/record.h), so each is checksummed, and a
// truncated file is valid up to its last complete record. The first record holds kDumpFormat, each
// other one an event: u64 time of receipt (microseconds since 1970, little endian), topic, newline,
// message.
inline constexpr std::string_view kDumpFormat = "trainyard events 1\n";

struct DumpedEvent {
  std::int64_t heard_us = 0;
  std::string topic;
  std::string message;  // A serialized Envelope, not verified.
};

// One thread. Each event is written to the kernel at once, so a killed process loses none.
class EventDumpWriter {
 public:
  // Creates the file with mode 0600 and a limit of `max_bytes`. AlreadyExists if the file exists.
  static absl::StatusOr<std::unique_ptr<EventDumpWriter>> Create(const std::string& path,
                                                                 std::uint64_t max_bytes);
  // ResourceExhausted if the file would exceed its limit; the file stays unchanged.
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
  // InvalidArgument if the file is no event dump.
  static absl::StatusOr<std::unique_ptr<EventDumpReader>> Open(const std::string& path);
  // Returns the next event; nothing at the end. DataLoss names the damage and its byte offset.
  absl::StatusOr<std::optional<DumpedEvent>> Next();
  // True if the last record is incomplete, because the writer was killed.
  bool torn() const { return torn_; }

 private:
  EventDumpReader(std::string path, runtime::UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}
  // Returns the next record's payload, valid until the next call; nothing at the end.
  absl::StatusOr<std::optional<std::string_view>> NextRecord();
  // Returns false at the end of the file.
  absl::StatusOr<bool> Read();
  absl::Status Damaged(std::string_view what) const;

  const std::string path_;
  const runtime::UniqueFd file_;
  std::string buffer_;
  std::size_t begin_ = 0;     // Bytes before it were already returned.
  std::uint64_t offset_ = 0;  // File offset of `begin_`.
  bool torn_ = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_DUMP_H_
