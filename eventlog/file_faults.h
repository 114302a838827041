#ifndef EVENTLOG_FILE_FAULTS_H_
#define EVENTLOG_FILE_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace eventlog {

// Faults of an event file. Whenever data is skipped or lost, one of these is counted.
enum class FaultKind : std::uint8_t {
  kBadPayload,      // The payload does not match its CRC; the record is skipped.
  kBadLength,       // The length does not match its CRC; bytes up to the next header are skipped.
  kTooLong,         // A valid length exceeds the limit; skipped likewise.
  kNotAnEvent,      // A payload is not an event; the record is skipped.
  kEmptyPayload,    // An empty record, which is an event without content.
  kUnknownField,    // An event has fields of a later version; they are skipped.
  kBadWallTime,     // A wall time is NaN or infinite; the event is kept.
  kBadValue,        // A value cannot be decoded.
  kTagTooLong,      // A tag's name exceeds the limit; its values are skipped.
  kUnfinishedTail,  // The last record is incomplete so far.
  kShrunk,          // The file became shorter than what was read; it is read again.
  kReplaced,        // Another file has its name and other contents; likewise.
  kRewritten,       // Bytes that were read have changed; likewise.
  kVanished,        // The file was removed.
  kUnreadable,      // The file cannot be opened or read.
  kNoDescriptor,    // Out of descriptors; opening it is retried.
};
inline constexpr std::size_t kFaultKinds = 16;

// Returns the fault's name for people: "bad payload".
std::string_view FaultName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kBadPayload;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // Bytes of the file that were skipped or are missing.
  std::uint64_t first_offset = 0;
  std::uint64_t last_offset = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

// The faults of one file by kind; 24 bytes for an intact file. Not thread safe.
class FileFaults {
 public:
  FileFaults() = default;
  // Restores faults from the all() of another object.
  explicit FileFaults(std::vector<Fault> faults) : faults_(std::move(faults)) {}

  void Count(FaultKind kind, std::uint64_t offset, std::uint64_t bytes = 0);
  // Adds more skipped bytes to the fault that was counted last.
  void AddBytes(FaultKind kind, std::uint64_t bytes);
  // For faults that are states rather than events: one exists now, or (Clear) no longer.
  void Set(FaultKind kind, std::uint64_t offset, std::uint64_t bytes);
  void Clear(FaultKind kind);
  // For a file that is read again: forgets faults of its contents, which will be found again; keeps
  // what happened to the file itself (kShrunk and later kinds).
  void ForgetContent();
  // Adds the faults of a later part of the same file.
  void Add(const FileFaults& later);

  // Returns the fault of that kind; all zero if it was not counted.
  Fault Of(FaultKind kind) const;
  // All counted faults, in the order of FaultKind.
  std::span<const Fault> all() const { return faults_; }
  bool empty() const { return faults_.empty(); }

 private:
  Fault& At(FaultKind kind, std::uint64_t offset);

  std::vector<Fault> faults_;
};

}  // namespace eventlog

#endif  // EVENTLOG_FILE_FAULTS_H_
