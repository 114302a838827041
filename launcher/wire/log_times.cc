#include "launcher/wire/log_times.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace launcher {
namespace {

// 56 bits suffice for any time and offset; the other eight bits of each word are the check value. A
// page of zeros, which a file may have after a loss of power, fails the check.
constexpr int kBits = 56;
constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
// Number of records that are moved at once. They are on the stack, to keep the shim's memory small.
constexpr std::size_t kBlock = 256;

struct TimedPlace {
  std::uint64_t time = 0, place = 0;
};
static_assert(sizeof(TimedPlace) == LogTimes::kRecordBytes);
static_assert(sizeof(TimedPlace) * LogTimes::kMaxRecords == 64 * 1024);

std::uint64_t CheckOf(std::uint64_t time, std::uint64_t place) {
  std::uint64_t mixed = (time * 0x9e3779b97f4a7c15u) ^ (place + 0x2545f4914f6cdd1du);
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9u;
  return mixed >> 48;
}

TimedPlace Pack(std::int64_t time_us, std::uint64_t offset) {
  TimedPlace record{static_cast<std::uint64_t>(time_us) & kMask, offset & kMask};
  const std::uint64_t check = CheckOf(record.time, record.place);
  record.time |= (check & 0xff) << kBits;
  record.place |= (check >> 8) << kBits;
  return record;
}

std::optional<LogTimes::Entry> Unpack(const TimedPlace& record) {
  const std::uint64_t time = record.time & kMask, place = record.place & kMask;
  if (CheckOf(time, place) != ((record.time >> kBits) | ((record.place >> kBits) << 8))) {
    return std::nullopt;
  }
  return LogTimes::Entry{static_cast<std::int64_t>(time), place};
}

off_t PlaceOf(std::size_t index) { return static_cast<off_t>(index * sizeof(TimedPlace)); }

// Reads records from `index` on; returns the number of whole records.
std::size_t ReadRecords(int file, std::size_t index, TimedPlace* records, std::size_t count) {
  const ssize_t got = pread(file, records, count * sizeof(TimedPlace), PlaceOf(index));
  return got > 0 ? static_cast<std::size_t>(got) / sizeof(TimedPlace) : 0;
}

bool WriteRecords(int file, std::size_t index, const TimedPlace* records, std::size_t count) {
  const std::size_t size = count * sizeof(TimedPlace);
  return pwrite(file, records, size, PlaceOf(index)) == static_cast<ssize_t>(size);
}

}  // namespace

bool LogTimes::Open() {
  if (file_.valid() || failed_) return file_.valid();
  file_ = runtime::UniqueFd(
      open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  struct stat about = {};
  failed_ = !file_.valid() || fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode);
  if (failed_) {
    file_.reset();
    return false;
  }
  // (A partial record at the end is overwritten.)
  count_ = std::min(static_cast<std::size_t>(about.st_size) / sizeof(TimedPlace), kMaxRecords);
  return true;
}

void LogTimes::Add(std::int64_t now_us, std::uint64_t offset) {
  if (now_us <= 0 || !Open()) return;
  if (count_ >= kMaxRecords) Thin();
  if (count_ >= kMaxRecords) return;
  const TimedPlace record = Pack(now_us, offset);
  if (!WriteRecords(file_.get(), count_, &record, 1)) return;
  ++count_;
  has_last_ = true;
  last_us_ = now_us;
}

// Drops every second record, in place. After a kill in between, some records occur twice and out of
// order, which does no harm.
void LogTimes::Thin() {
  TimedPlace records[kBlock];
  std::size_t kept = 0;
  for (std::size_t from = 0; from < count_; from += kBlock) {
    const std::size_t got = ReadRecords(file_.get(), from, records, kBlock);
    const std::size_t half = got / 2;
    for (std::size_t i = 0; i < half; ++i) records[i] = records[2 * i];
    if (half == 0 || !WriteRecords(file_.get(), kept, records, half)) return;
    kept += half;
  }
  if (ftruncate(file_.get(), PlaceOf(kept)) != 0) return;
  count_ = kept;
  interval_us_ *= 2;
}

namespace {

// Reads all records; nullopt if there is no index.
std::optional<std::vector<TimedPlace>> ReadAll(const std::string& path) {
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about = {};
  if (!file.valid() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return std::nullopt;
  }
  std::vector<TimedPlace> records(LogTimes::kMaxRecords);
  records.resize(ReadRecords(file.get(), 0, records.data(), records.size()));
  return records;
}

}  // namespace

std::optional<std::uint64_t> LogTimes::OffsetAt(const std::string& path, std::int64_t since_us) {
  const auto records = ReadAll(path);
  if (!records) return std::nullopt;
  std::uint64_t offset = 0;
  for (const TimedPlace& record : *records) {
    const auto entry = Unpack(record);
    if (!entry || entry->offset < offset) continue;
    // Output from here on may be of that time, even if the clock was set back later.
    if (entry->time_us > since_us) break;
    offset = entry->offset;
  }
  return offset;
}

std::vector<LogTimes::Entry> LogTimes::Read(const std::string& path) {
  std::vector<Entry> entries;
  for (const TimedPlace& record : ReadAll(path).value_or(std::vector<TimedPlace>())) {
    if (const auto entry = Unpack(record)) entries.push_back(*entry);
  }
  return entries;
}

}  // namespace launcher
