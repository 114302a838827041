#ifndef TRAINER_CHECKPOINT_CHECKPOINT_OBJECT_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_OBJECT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace trainer {

// A checkpoint as one string of bytes, to be moved between trials and hosts. Ray Tune pickles
// {checkpoint_name, data}; this is the same in a format of its own, which runs nothing when it is
// read: "YARDCKP1", then strings (their size in 4 bytes, 8 for content; little-endian): where in
// the checkpoint the path was; name and content of each file but the marker of a temporary one,
// whose number stands before them in 4 bytes; at the end the CRC-32C of all before it.
//
// Both functions block for the disk; any thread, one at a time for one run.

inline constexpr std::size_t kMaxCheckpointObject = std::size_t{1} << 30;  // Bytes.

// The checkpoint that `path` lies in. NotFound if it lies in none; DataLoss if that does not agree
// with its manifest; ResourceExhausted if the object would be larger than `limit`.
absl::StatusOr<std::string> CheckpointToObject(const std::string& path,
                                               std::size_t limit = kMaxCheckpointObject);

// Unpacks it into a new temporary checkpoint of the run. Returns the path in it that the object was
// made of. DataLoss if bytes are damaged or missing, InvalidArgument for a name that points out of
// the checkpoint; then nothing is left behind.
absl::StatusOr<std::string> CheckpointFromObject(std::string_view object,
                                                 const std::string& run_directory);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_OBJECT_H_
