#ifndef BENCH_LIMIT_READER_H_
#define BENCH_LIMIT_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bench {

// Counts of the limit reader for one file.
struct LimitReading {
  std::uint64_t records = 0;
  std::uint64_t bad_records = 0;  // Records with a wrong payload; included in `records`.
  std::uint64_t points = 0;       // Stored in columns.
  std::size_t tags = 0;
};

// A lower bound for the time to read an event file: the file mapped into memory, the CRC of every
// length and payload checked with the processor's instruction, the protobuf decoded as far as a
// scalar needs, and every point stored as step, wall time and value in plain columns. It trusts its
// input: only the CRC keeps it inside the file, a wrong length ends it, and it knows only simple
// values and float tensors. Use it only for files of bench/event_files.h.
//
// Errors such as NotFound name the path; Unimplemented if the processor lacks the instruction.
absl::StatusOr<LimitReading> ReadAtLimit(const std::string& path);

}  // namespace bench

#endif  // BENCH_LIMIT_READER_H_
