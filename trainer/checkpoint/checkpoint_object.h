#ifndef TRAINER_CHECKPOINT_CHECKPOINT_OBJECT_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_OBJECT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace trainer {

// A checkpoint as one string of bytes, to move it between trials and hosts. Ray Tune pickles
// {checkpoint_name, data}; this format holds the same but runs no code when it is read. It is
// "YARDCKP1"; the path's place in the checkpoint; the number of files in 4 bytes; name and content
// of each file, except the marker of a temporary checkpoint; and the CRC-32C of all preceding
// bytes. A string is preceded by its size, in 4 bytes (8 for content). Integers are little-endian.
//
// Both functions block for the disk. Call them on any thread, but one at a time for each run.

inline constexpr std::size_t kMaxCheckpointObject = std::size_t{1} << 30;  // Bytes.

// Packs the checkpoint that contains `path`. NotFound if no checkpoint contains it; DataLoss if the
// files do not match the manifest; ResourceExhausted if the object would be larger than `limit`.
absl::StatusOr<std::string> CheckpointToObject(const std::string& path,
                                               std::size_t limit = kMaxCheckpointObject);

// Unpacks an object into a new temporary checkpoint of the run, and returns the path in it that the
// object was made from. DataLoss if bytes are damaged or missing; InvalidArgument for a name that
// points out of the checkpoint. On error it leaves no files behind.
absl::StatusOr<std::string> CheckpointFromObject(std::string_view object,
                                                 const std::string& run_directory);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_OBJECT_H_
