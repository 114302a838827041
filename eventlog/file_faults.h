#ifndef EVENTLOG_FILE_FAULTS_H_
#define EVENTLOG_FILE_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace eventlog {

// Faults of an event file. Nothing is lost without one of these being counted.
enum class FaultKind : std::uint8_t {
  kBadPayload,      // A record's payload has another CRC; the record is skipped.
  kBadLength,       // A record's length has; what is between it and the next header is skipped.
  kTooLong,         // A length is right and over the limit; skipped likewise.
  kNotAnEvent,      // A payload is no event; the record is skipped.
  kEmptyPayload,    // A record of nothing, which is an event without content.
  kUnknownField,    // An event has fields of a later version; they are skipped.
  kBadWallTime,     // A wall time is NaN or infinite; the event is kept.
  kBadValue,        // A value cannot be decoded.
  kTagTooLong,      // A tag's name is over the limit; its values are left out.
  kUnfinishedTail,  // The last record is not all there yet.
  kShrunk,          // The file became shorter than what had been read; it is read anew.
  kReplaced,        // Another file has its name now, with another content; likewise.
  kRewritten,       // Bytes that had been read are not there any more; likewise.
  kVanished,        // The file is gone.
  kUnreadable,      // The file cannot be opened or read.
  kNoDescriptor,    // No file could be opened for want of descriptors; it is tried again.
};
inline constexpr std::size_t kFaultKinds = 16;

// "bad payload": as a person reads it.
std::string_view FaultName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kBadPayload;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // Bytes of the file that were skipped or are waited for.
  std::uint64_t first_offset = 0;
  std::uint64_t last_offset = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

// The faults of one file by kind; 24 bytes for a sound one. Not thread safe.
class FileFaults {
 public:
  FileFaults() = default;
  // Takes faults that all() of another object returned.
  explicit FileFaults(std::vector<Fault> faults) : faults_(std::move(faults)) {}

  void Count(FaultKind kind, std::uint64_t offset, std::uint64_t bytes = 0);
  // More bytes were skipped for the fault that was counted last.
  void AddBytes(FaultKind kind, std::uint64_t bytes);
  // For what is a state, not an event: there is one now, or (Clear) none any more.
  void Set(FaultKind kind, std::uint64_t offset, std::uint64_t bytes);
  void Clear(FaultKind kind);
  // For a file that is read anew: what was wrong with its bytes is forgotten and will be found
  // again, what happened to the file itself (kShrunk and behind) stays.
  void ForgetContent();
  // Adds those of a later part of the same file.
  void Add(const FileFaults& later);

  // The fault of that kind; all zero if it was not counted.
  Fault Of(FaultKind kind) const;
  // Those there are, in the order of FaultKind.
  std::span<const Fault> all() const { return faults_; }
  bool empty() const { return faults_.empty(); }

 private:
  Fault& At(FaultKind kind, std::uint64_t offset);

  std::vector<Fault> faults_;
};

}  // namespace eventlog

#endif  // EVENTLOG_FILE_FAULTS_H_
