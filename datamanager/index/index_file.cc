#include "datamanager/index/index_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "eventlog/crc32c.h"
#include "runtime/file/unique_fd.h"

// The file consists of a header of 28 bytes (magic, version, CRC of the head, length of the head,
// CRC of the header), the head (the run, its files, and its tags with the position and CRC of their
// data), and the data of the tags one after the other.
//
// Always true:
// - No byte is used before its CRC was verified: those of header and head before parsing, that of a
//   tag's data when it is read.
// - A length or count in the file is compared with the remaining bytes before memory is allocated
//   for it, so a malicious file costs no more memory than its size.
// - The same calls write the same bytes, and a reader of another version refuses the file, so that
//   it is rebuilt from the event files.

namespace datamanager {
namespace {

constexpr std::string_view kMagic = "YARDINDX";
constexpr std::size_t kHeaderBytes = 28;

template <typename T>
void PutFixed(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <typename T>
T GetFixed(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

void Put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void PutSigned(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  Put(out, (bits << 1) ^ (0 - (bits >> 63)));
}

void PutText(std::string& out, std::string_view text) {
  Put(out, text.size());
  out.append(text);
}

// Reads what the Put functions wrote. A missing or malformed value is 0 or empty, and `good()` is
// false from then on.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool AtEnd() const { return good_ && rest_.empty(); }
  void Refuse() { good_ = false; }

  std::string_view Take(std::uint64_t length) {
    if (!good_ || length > rest_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  template <typename T>
  T Fixed() {
    const std::string_view bytes = Take(sizeof(T));
    return good_ ? GetFixed<T>(bytes.data()) : T{};
  }
  std::uint64_t Number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = Fixed<std::uint8_t>();
      if (!good_ || (shift == 63 && byte > 1)) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte >= 0x80) continue;
      if (value <= most) return value;
      break;
    }
    good_ = false;
    return 0;
  }
  template <typename T>
  T Small() {
    return static_cast<T>(Number(std::numeric_limits<T>::max()));
  }
  std::int64_t Signed() {
    const std::uint64_t bits = Number();
    return static_cast<std::int64_t>((bits >> 1) ^ (0 - (bits & 1)));
  }
  std::string Text() { return std::string(Take(Number())); }
  // Reads a count and calls `read` that many times; stops early on an error.
  template <typename Read>
  void Each(Read read) {
    const std::uint64_t count = Number();
    for (std::uint64_t i = 0; i < count && good_; ++i) read();
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void PutPosition(std::string& out, const eventlog::FilePosition& position) {
  Put(out, position.record.offset);
  Put(out, static_cast<std::uint8_t>(position.record.state));
  Put(out, position.record.began);
  Put(out, position.device);
  Put(out, position.inode);
  PutSigned(out, position.change_ns);
  Put(out, position.size);
  Put(out, position.head_bytes);
  PutFixed(out, position.head_crc);
  Put(out, position.tail_bytes);
  PutFixed(out, position.tail_crc);
}

eventlog::FilePosition GetPosition(Bytes& bytes) {
  using State = eventlog::RecordPosition::State;
  eventlog::FilePosition position;
  position.record.offset = bytes.Number();
  position.record.state =
      static_cast<State>(bytes.Number(static_cast<std::uint8_t>(State::kSeeking)));
  position.record.began = bytes.Number();
  position.device = bytes.Number();
  position.inode = bytes.Number();
  position.change_ns = bytes.Signed();
  position.size = bytes.Number();
  position.head_bytes = bytes.Small<std::uint32_t>();
  position.head_crc = bytes.Fixed<std::uint32_t>();
  position.tail_bytes = bytes.Small<std::uint32_t>();
  position.tail_crc = bytes.Fixed<std::uint32_t>();
  if (!eventlog::IsSound(position)) bytes.Refuse();
  return position;
}

void PutFaults(std::string& out, std::span<const eventlog::Fault> faults) {
  Put(out, faults.size());
  for (const eventlog::Fault& fault : faults) {
    Put(out, static_cast<std::uint8_t>(fault.kind));
    Put(out, fault.count);
    Put(out, fault.bytes);
    Put(out, fault.first_offset);
    Put(out, fault.last_offset);
  }
}

std::vector<eventlog::Fault> GetFaults(Bytes& bytes) {
  std::vector<eventlog::Fault> faults;
  bytes.Each([&] {
    eventlog::Fault fault;
    fault.kind = static_cast<eventlog::FaultKind>(bytes.Number(eventlog::kFaultKinds - 1));
    fault.count = bytes.Number();
    fault.bytes = bytes.Number();
    fault.first_offset = bytes.Number();
    fault.last_offset = bytes.Number();
    if (!faults.empty() && faults.back().kind >= fault.kind) bytes.Refuse();
    faults.push_back(fault);
  });
  return faults;
}

void PutFile(std::string& out, const IndexedFile& file) {
  PutText(out, file.name);
  Put(out, file.format);
  PutSigned(out, file.modified_ns);
  PutPosition(out, file.position);
  Put(out, file.records);
  Put(out, file.points);
  PutText(out, file.version);
  PutText(out, file.writer);
  PutText(out, file.bad_tag);
  PutFaults(out, file.faults);
}

IndexedFile GetFile(Bytes& bytes) {
  IndexedFile file;
  file.name = bytes.Text();
  file.format = bytes.Small<std::uint8_t>();
  file.modified_ns = bytes.Signed();
  file.position = GetPosition(bytes);
  file.records = bytes.Number();
  file.points = bytes.Number();
  file.version = bytes.Text();
  file.writer = bytes.Text();
  file.bad_tag = bytes.Text();
  file.faults = GetFaults(bytes);
  return file;
}

// True if the ranges cover each file exactly as far as it was read.
bool Cover(const IndexedRun& run) {
  std::vector<std::uint64_t> read(run.files.size(), 0);
  for (const IndexedRange& range : run.ranges) {
    if (range.file >= read.size() || range.end <= read[range.file]) return false;
    read[range.file] = range.end;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] != run.files[i].position.record.offset) return false;
  }
  return true;
}

void PutRestarts(std::string& out, const std::vector<PurgeLog::State::Restart>& restarts) {
  Put(out, restarts.size());
  for (const PurgeLog::State::Restart& restart : restarts) {
    Put(out, restart.number);
    PutSigned(out, restart.step);
  }
}

std::vector<PurgeLog::State::Restart> GetRestarts(Bytes& bytes, std::uint32_t count) {
  std::vector<PurgeLog::State::Restart> restarts;
  bytes.Each([&] {
    PurgeLog::State::Restart restart;
    restart.number = bytes.Small<std::uint32_t>();
    restart.step = bytes.Signed();
    const bool follows = restarts.empty() || (restarts.back().number < restart.number &&
                                              restarts.back().step < restart.step);
    if (!follows || restart.number >= count) bytes.Refuse();
    restarts.push_back(restart);
  });
  return restarts;
}

void PutRun(std::string& out, const IndexedRun& run) {
  PutText(out, run.directory);
  Put(out, run.generation);
  PutFixed(out, run.start_time);
  Put(out, run.files.size());
  for (const IndexedFile& file : run.files) PutFile(out, file);
  Put(out, run.ranges.size());
  for (const IndexedRange& range : run.ranges) {
    Put(out, range.file);
    Put(out, range.end);
  }
  PutFixed(out, run.purges.file_version);
  PutSigned(out, run.purges.recent_step);
  Put(out, run.purges.started ? 1 : 0);
  Put(out, run.purges.started_by_version ? 1 : 0);
  Put(out, run.purges.restarts);
  PutRestarts(out, run.purges.all);
  PutRestarts(out, run.purges.by_version);
}

IndexedRun GetRun(Bytes& bytes) {
  IndexedRun run;
  run.directory = bytes.Text();
  run.generation = bytes.Number();
  run.start_time = bytes.Fixed<double>();
  bytes.Each([&] { run.files.push_back(GetFile(bytes)); });
  bytes.Each([&] {
    IndexedRange range;
    range.file = bytes.Small<std::uint32_t>();
    range.end = bytes.Number();
    run.ranges.push_back(range);
  });
  if (!Cover(run)) bytes.Refuse();
  run.purges.file_version = bytes.Fixed<double>();
  run.purges.recent_step = bytes.Signed();
  run.purges.started = bytes.Number(1) != 0;
  run.purges.started_by_version = bytes.Number(1) != 0;
  run.purges.restarts = bytes.Small<std::uint32_t>();
  run.purges.all = GetRestarts(bytes, run.purges.restarts);
  run.purges.by_version = GetRestarts(bytes, run.purges.restarts);
  return run;
}

void PutSummary(std::string& out, const ScalarSummary& summary) {
  Put(out, summary.points);
  if (summary.points == 0) return;
  PutSigned(out, summary.first_step);
  PutSigned(out, summary.last_step);
  PutFixed(out, summary.first_time);
  PutFixed(out, summary.last_time);
  PutFixed(out, summary.last);
  PutFixed(out, summary.last_at);
  PutFixed(out, summary.min);
  PutFixed(out, summary.max);
  Put(out, summary.not_finite);
}

ScalarSummary GetSummary(Bytes& bytes) {
  ScalarSummary summary;
  summary.points = bytes.Number();
  if (summary.points == 0) return summary;
  summary.first_step = bytes.Signed();
  summary.last_step = bytes.Signed();
  summary.first_time = bytes.Fixed<double>();
  summary.last_time = bytes.Fixed<double>();
  summary.last = bytes.Fixed<double>();
  summary.last_at = bytes.Fixed<double>();
  summary.min = bytes.Fixed<double>();
  summary.max = bytes.Fixed<double>();
  summary.not_finite = bytes.Number();
  return summary;
}

void PutMarks(std::string& out, const SeriesMarks& marks) {
  Put(out, marks.age);
  Put(out, marks.restarts_seen);
  Put(out, marks.purges().size());
  for (const Purge& purge : marks.purges()) {
    Put(out, purge.before);
    PutSigned(out, purge.from_step);
    Put(out, (purge.restart ? 1u : 0u) | (purge.by_version ? 2u : 0u));
  }
  Put(out, marks.parts().size());
  for (const FileSpan& part : marks.parts()) {
    Put(out, part.first);
    Put(out, part.age);
  }
}

SeriesMarks GetMarks(Bytes& bytes) {
  SeriesMarks marks;
  marks.age = bytes.Small<std::uint32_t>();
  marks.restarts_seen = bytes.Small<std::uint32_t>();
  SeriesMarks::Rare rare;
  bytes.Each([&] {
    Purge purge;
    purge.before = bytes.Number();
    purge.from_step = bytes.Signed();
    const std::uint64_t bits = bytes.Number(3);
    purge.restart = (bits & 1) != 0;
    purge.by_version = (bits & 2) != 0;
    if (!rare.purges.empty() && rare.purges.back().before > purge.before) bytes.Refuse();
    rare.purges.push_back(purge);
  });
  bytes.Each([&] {
    FileSpan part;
    part.first = bytes.Number();
    part.age = bytes.Small<std::uint32_t>();
    const bool follows =
        rare.parts.empty() ? part.first == 0 : rare.parts.back().first < part.first;
    if (!follows) bytes.Refuse();
    rare.parts.push_back(part);
  });
  if (!rare.purges.empty() || !rare.parts.empty()) {
    marks.rare = std::make_unique<SeriesMarks::Rare>(std::move(rare));
  }
  return marks;
}

void PutTag(std::string& out, const IndexedTag& tag, bool has_points) {
  PutText(out, tag.name);
  PutText(out, tag.plugin);
  PutSigned(out, tag.data_class);
  PutText(out, tag.display_name);
  PutText(out, tag.description);
  PutText(out, tag.content);
  Put(out, (tag.settled ? 1u : 0u) | (tag.implied ? 2u : 0u));
  PutSummary(out, tag.summary);
  PutMarks(out, tag.marks);
  PutSummary(out, tag.value_summary);
  if (tag.value_summary.points > 0) {
    PutMarks(out, tag.value_marks);
    Put(out, tag.most_blobs);
  }
  Put(out, has_points ? 1 : 0);
}

IndexedTag GetTag(Bytes& bytes) {
  IndexedTag tag;
  tag.name = bytes.Text();
  tag.plugin = bytes.Text();
  const std::int64_t data_class = bytes.Signed();
  tag.data_class = static_cast<std::int32_t>(data_class);
  if (tag.data_class != data_class) bytes.Refuse();
  tag.display_name = bytes.Text();
  tag.description = bytes.Text();
  tag.content = bytes.Text();
  const std::uint64_t bits = bytes.Number(3);
  tag.settled = (bits & 1) != 0;
  tag.implied = (bits & 2) != 0;
  tag.summary = GetSummary(bytes);
  tag.marks = GetMarks(bytes);
  tag.value_summary = GetSummary(bytes);
  if (tag.value_summary.points > 0) {
    tag.value_marks = GetMarks(bytes);
    tag.most_blobs = bytes.Small<std::uint32_t>();
  }
  tag.has_points = bytes.Number(1) != 0;
  return tag;
}

std::string RenderHeader(std::string_view head) {
  std::string header(kMagic);
  PutFixed(header, kIndexVersion);
  PutFixed(header, eventlog::Crc32c(head));
  PutFixed(header, static_cast<std::uint64_t>(head.size()));
  PutFixed(header, eventlog::Crc32c(header));
  return header;
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("reading an index: ", what));
}

// Returns the length of the head, from the header.
absl::StatusOr<std::uint64_t> HeadLength(std::string_view index) {
  if (index.size() < kHeaderBytes || index.substr(0, kMagic.size()) != kMagic) {
    return Damaged("it is none");
  }
  if (eventlog::Crc32c(index.substr(0, 24)) != GetFixed<std::uint32_t>(index.data() + 24)) {
    return Damaged("its header is damaged");
  }
  const auto version = GetFixed<std::uint32_t>(index.data() + 8);
  if (version != kIndexVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("reading an index: its format is version ", version, ", not ", kIndexVersion));
  }
  return GetFixed<std::uint64_t>(index.data() + 16);
}

absl::Status ErrnoOf(const char* doing, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(doing, " ", path));
}

// Reads up to `length` bytes; returns fewer at the end of the file.
absl::StatusOr<std::string> ReadBeginning(int fd, std::uint64_t length, const std::string& path) {
  std::string bytes(length, '\0');
  std::size_t have = 0;
  while (have < length) {
    const ssize_t got = pread(fd, bytes.data() + have, length - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoOf("reading", path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

absl::StatusOr<IndexReader> ReadParts(const std::string& path, IndexPart part) {
  // O_NONBLOCK: opening a named pipe would otherwise block.
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file.valid() && errno == ELOOP) return absl::PermissionDeniedError("it is a link");
  if (!file.valid()) return ErrnoOf("opening", path);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return ErrnoOf("examining", path);
  if (about.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("it belongs to user ", about.st_uid));
  }
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (!S_ISREG(about.st_mode) || size > kMaxIndexBytes) {
    return Damaged("it is no file, or larger than any index");
  }
  std::uint64_t length = size;
  if (part == IndexPart::kHead) {
    const absl::StatusOr<std::string> header = ReadBeginning(file.get(), kHeaderBytes, path);
    if (!header.ok()) return header.status();
    const absl::StatusOr<std::uint64_t> head = HeadLength(*header);
    if (!head.ok()) return head.status();
    if (size < kHeaderBytes || *head > size - kHeaderBytes) {
      return Damaged("its head is cut off");
    }
    length = kHeaderBytes + *head;
  }
  absl::StatusOr<std::string> bytes = ReadBeginning(file.get(), length, path);
  if (!bytes.ok()) return bytes.status();
  if (part == IndexPart::kAll) return IndexReader::Parse(*std::move(bytes));
  absl::StatusOr<IndexReader> reader = IndexReader::ParseHead(*bytes);
  if (reader.ok() && reader->size() != size) return Damaged("it is longer or shorter than it says");
  return reader;
}

}  // namespace

IndexWriter::IndexWriter(const IndexedRun& run) { PutRun(run_, run); }

bool IndexWriter::HasRoom() const {
  // A number of tags takes at most 10 bytes.
  return kHeaderBytes + 10 + bytes() <= kMaxIndexBytes;
}

void IndexWriter::AddTag(const IndexedTag& tag, const ScalarColumns* points,
                         const ValueSeries& values) {
  // Stop growing; Finish() will report that the index is too large.
  if (!HasRoom()) return;
  const std::size_t begin = data_.size();
  if (points != nullptr) {
    points->ForEachBlock([this](std::string_view block) { PutText(data_, block); });
  }
  // No block is empty, so an empty one marks the end.
  PutText(data_, "");
  Put(data_, values.size());
  for (const ValuePlace& value : values.all()) {
    PutFixed(data_, value.step);
    PutFixed(data_, value.wall_time);
    PutFixed(data_, value.offset);
    PutFixed(data_, value.length);
    PutFixed(data_, value.crc);
    PutFixed(data_, value.file);
    PutFixed(data_, value.form);
  }
  const std::string_view data = std::string_view(data_).substr(begin);
  PutTag(tag_heads_, tag, points != nullptr);
  Put(tag_heads_, data.size());
  PutFixed(tag_heads_, eventlog::Crc32c(data));
  ++tags_;
}

absl::StatusOr<std::string> IndexWriter::Finish() && {
  if (!HasRoom()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the index would be larger than ", kMaxIndexBytes, " bytes"));
  }
  std::string head = std::move(run_);
  Put(head, tags_);
  head += tag_heads_;
  tag_heads_ = std::string();
  std::string index = RenderHeader(head);
  index.reserve(index.size() + head.size() + data_.size());
  index += head;
  index += data_;
  return index;
}

absl::StatusOr<IndexReader> IndexReader::Parse(std::string index) {
  const absl::StatusOr<std::uint64_t> head = HeadLength(index);
  if (!head.ok()) return head.status();
  if (*head > index.size() - kHeaderBytes) return Damaged("its head is cut off");
  IndexReader reader;
  const std::string_view all = index;
  if (absl::Status status = reader.ReadHead(all.substr(0, kHeaderBytes + *head)); !status.ok()) {
    return status;
  }
  if (reader.size() != index.size()) return Damaged("it is longer or shorter than it says");
  reader.index_ = std::move(index);
  return reader;
}

absl::StatusOr<IndexReader> IndexReader::ParseHead(std::string_view head) {
  IndexReader reader;
  if (absl::Status status = reader.ReadHead(head); !status.ok()) return status;
  return reader;
}

absl::Status IndexReader::ReadHead(std::string_view head) {
  const absl::StatusOr<std::uint64_t> length = HeadLength(head);
  if (!length.ok()) return length.status();
  const std::string_view content = head.substr(kHeaderBytes);
  if (content.size() != *length ||
      eventlog::Crc32c(content) != GetFixed<std::uint32_t>(head.data() + 12)) {
    return Damaged("its head is damaged");
  }
  data_begin_ = head.size();
  Bytes bytes(content);
  run_ = GetRun(bytes);
  bytes.Each([&] {
    tags_.push_back(GetTag(bytes));
    Place place{.begin = data_begin_ + data_length_};
    place.length = bytes.Number(kMaxIndexBytes - data_length_);
    place.crc = bytes.Fixed<std::uint32_t>();
    data_length_ += place.length;
    places_.push_back(place);
  });
  return bytes.AtEnd() ? absl::OkStatus() : Damaged("its head makes no sense");
}

absl::Status IndexReader::Read(std::size_t tag, ScalarColumns* points, ValueSeries* values) const {
  if (index_.empty()) {
    return absl::FailedPreconditionError("reading an index: only its head was read");
  }
  const Place& place = places_[tag];
  const std::string_view data = std::string_view(index_).substr(place.begin, place.length);
  if (eventlog::Crc32c(data) != place.crc) return Damaged("the points of a tag are damaged");
  Bytes bytes(data);
  ScalarColumns read;
  for (;;) {
    const std::string_view block = bytes.Take(bytes.Number());
    if (!bytes.good() || block.empty()) break;
    if (!read.AppendBlock(block)) bytes.Refuse();
  }
  ValueSeries places;
  bytes.Each([&] {
    ValuePlace value;
    value.step = bytes.Fixed<std::int64_t>();
    value.wall_time = bytes.Fixed<double>();
    value.offset = bytes.Fixed<std::uint64_t>();
    value.length = bytes.Fixed<std::uint32_t>();
    value.crc = bytes.Fixed<std::uint32_t>();
    value.file = bytes.Fixed<std::uint32_t>();
    value.form = bytes.Fixed<std::uint8_t>();
    if (value.file >= run_.files.size()) bytes.Refuse();
    if (bytes.good()) places.Append(value);
  });
  const IndexedTag& head = tags_[tag];
  const bool all = read.size() == (head.has_points ? head.summary.points : 0) &&
                   places.size() == (head.has_points ? head.value_summary.points : 0);
  if (!bytes.AtEnd() || !all) {
    return Damaged("the points of a tag make no sense");
  }
  *points = std::move(read);
  *values = std::move(places);
  return absl::OkStatus();
}

std::string IndexFileName(std::string_view run_directory) {
  // FNV-1a. The index's content tells apart two directories with the same hash.
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : run_directory) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return absl::StrFormat("%016x.idx", hash);
}

absl::StatusOr<IndexReader> ReadIndex(const std::string& path, std::string_view run_directory,
                                      IndexPart part) {
  absl::StatusOr<IndexReader> reader = ReadParts(path, part);
  if (!reader.ok()) {
    return absl::Status(reader.status().code(),
                        absl::StrCat(path, ": ", reader.status().message()));
  }
  if (reader->run().directory != run_directory) {
    return absl::NotFoundError(absl::StrCat(path, " is the index of ", reader->run().directory));
  }
  return reader;
}

}  // namespace datamanager
