#include "tools/yard/event/event_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eventlog/record.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

// Limit of a record in bytes: a message with its topic and time.
constexpr std::uint64_t kMaxPayloadBytes = (16 << 20) + 4096;
constexpr std::size_t kReadBytes = 1 << 18;

static_assert(std::endian::native == std::endian::little);

absl::Status Failed(const char* what, const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventDumpWriter>> EventDumpWriter::Create(const std::string& path,
                                                                         std::uint64_t max_bytes) {
  runtime::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid() && errno == EEXIST) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already; name a new file"));
  }
  if (!file.valid()) return Failed("make", path);
  std::unique_ptr<EventDumpWriter> writer(new EventDumpWriter(path, std::move(file), max_bytes));
  if (absl::Status begun = writer->Append(kDumpFormat); !begun.ok()) return begun;
  return writer;
}

absl::Status EventDumpWriter::Add(std::int64_t heard_us, std::string_view topic,
                                  std::string_view message) {
  std::string payload(sizeof heard_us, '\0');
  std::memcpy(payload.data(), &heard_us, sizeof heard_us);
  payload.append(topic).append("\n").append(message);
  absl::Status added = Append(payload);
  if (added.ok()) ++events_;
  return added;
}

absl::Status EventDumpWriter::Append(std::string_view payload) {
  std::string record;
  eventlog::AppendRecord(payload, &record);
  if (bytes_ + record.size() > max_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(path_, " has ", bytes_,
                                                     " bytes, and the next event has no room in ",
                                                     max_bytes_, "; --max_bytes allows more"));
  }
  const absl::Status written = runtime::WriteAll(file_.get(), record);
  if (!written.ok()) {
    return absl::Status(written.code(), absl::StrCat(path_, ": ", written.message()));
  }
  bytes_ += record.size();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EventDumpReader>> EventDumpReader::Open(const std::string& path) {
  runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Failed("read", path);
  std::unique_ptr<EventDumpReader> reader(new EventDumpReader(path, std::move(file)));
  const auto first = reader->NextRecord();
  if (!first.ok() && !absl::IsDataLoss(first.status())) return first.status();
  if (!first.ok() || !first->has_value() || **first != kDumpFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no events: yard sub --dump writes files of them"));
  }
  return reader;
}

absl::StatusOr<std::optional<DumpedEvent>> EventDumpReader::Next() {
  const auto payload = NextRecord();
  if (!payload.ok()) return payload.status();
  if (!payload->has_value()) return std::nullopt;
  std::string_view rest = **payload;
  DumpedEvent event;
  if (rest.size() < sizeof event.heard_us) return Damaged("a record is too short");
  std::memcpy(&event.heard_us, rest.data(), sizeof event.heard_us);
  rest.remove_prefix(sizeof event.heard_us);
  const std::size_t end = rest.find('\n');
  if (end == rest.npos) return Damaged("a record has no topic");
  event.topic = rest.substr(0, end);
  event.message = rest.substr(end + 1);
  return event;
}

absl::StatusOr<std::optional<std::string_view>> EventDumpReader::NextRecord() {
  using State = eventlog::ParsedRecord::State;
  for (;;) {
    const auto left = std::string_view(buffer_).substr(begin_);
    const eventlog::ParsedRecord record = eventlog::ParseRecord(left, kMaxPayloadBytes);
    if (record.state == State::kRecord) {
      begin_ += record.size;
      offset_ += record.size;
      return record.payload;
    }
    if (record.state != State::kNeedMore) return Damaged("a checksum is wrong");
    const auto more = Read();
    if (!more.ok()) return more.status();
    if (*more) continue;
    torn_ = !left.empty();
    return std::nullopt;
  }
}

absl::StatusOr<bool> EventDumpReader::Read() {
  buffer_.erase(0, std::exchange(begin_, 0));
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kReadBytes);
  ssize_t got = 0;
  do {
    got = read(file_.get(), buffer_.data() + size, kReadBytes);
  } while (got < 0 && errno == EINTR);
  const absl::Status failed = got < 0 ? Failed("read", path_) : absl::OkStatus();
  buffer_.resize(size + static_cast<std::size_t>(got < 0 ? 0 : got));
  if (!failed.ok()) return failed;
  return got > 0;
}

absl::Status EventDumpReader::Damaged(std::string_view what) const {
  return absl::DataLossError(absl::StrCat(path_, ", byte ", offset_, ": ", runtime::Absl(what)));
}

}  // namespace yard
