#ifndef BENCH_LIMIT_READER_H_
#define BENCH_LIMIT_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bench {

// Counts of what the limit reader found in a file.
struct LimitReading {
  std::uint64_t records = 0;
  std::uint64_t bad_records = 0;  // Records with a wrong payload; `records` counts them, too.
  std::uint64_t points = 0;       // Kept, in columns.
  std::size_t tags = 0;
};

// How fast an event file can be read at all, to compare with: the file mapped into memory, the CRC
// of every length and payload checked by the processor's instruction, the protobuf walked as far as
// a scalar needs, and every point kept as step, wall time and value in plain columns. It believes
// what it reads: no bound but the CRC keeps it inside of the file, a wrong length ends it, nothing
// but simple values and float tensors is known to it. For files of bench/event_files.h only.
//
// NotFound and the like with the path; Unimplemented without the instruction.
absl::StatusOr<LimitReading> ReadAtLimit(const std::string& path);

}  // namespace bench

#endif  // BENCH_LIMIT_READER_H_
