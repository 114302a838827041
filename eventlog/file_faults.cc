#include "eventlog/file_faults.h"

#include <algorithm>
#include <array>

namespace eventlog {
namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {
    "bad payload",   "bad length",    "too long",      "not an event",
    "empty payload", "unknown field", "bad wall time", "bad value",
    "tag too long",  "unfinished",    "shrunk",        "replaced",
    "rewritten",     "vanished",      "unreadable",    "no descriptor",
};

}  // namespace

std::string_view FaultName(FaultKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

Fault& FileFaults::At(FaultKind kind, std::uint64_t offset) {
  auto place = std::lower_bound(faults_.begin(), faults_.end(), kind,
                                [](const Fault& fault, FaultKind k) { return fault.kind < k; });
  if (place == faults_.end() || place->kind != kind) {
    place = faults_.insert(place, Fault{.kind = kind, .first_offset = offset});
  }
  return *place;
}

void FileFaults::Count(FaultKind kind, std::uint64_t offset, std::uint64_t bytes) {
  Fault& fault = At(kind, offset);
  ++fault.count;
  fault.bytes += bytes;
  fault.last_offset = offset;
}

void FileFaults::AddBytes(FaultKind kind, std::uint64_t bytes) { At(kind, 0).bytes += bytes; }

void FileFaults::Set(FaultKind kind, std::uint64_t offset, std::uint64_t bytes) {
  At(kind, offset) = {kind, 1, bytes, offset, offset};
}

void FileFaults::Clear(FaultKind kind) {
  std::erase_if(faults_, [kind](const Fault& fault) { return fault.kind == kind; });
}

void FileFaults::ForgetContent() {
  std::erase_if(faults_, [](const Fault& fault) { return fault.kind < FaultKind::kShrunk; });
}

void FileFaults::Add(const FileFaults& later) {
  for (const Fault& fault : later.faults_) {
    Fault& mine = At(fault.kind, fault.first_offset);
    mine.count += fault.count;
    mine.bytes += fault.bytes;
    mine.last_offset = fault.last_offset;
  }
}

Fault FileFaults::Of(FaultKind kind) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == kind) return fault;
  }
  return {.kind = kind};
}

}  // namespace eventlog
