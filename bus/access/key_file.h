#ifndef BUS_ACCESS_KEY_FILE_H_
#define BUS_ACCESS_KEY_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/curve.h"

namespace bus {

// Functions for a file (mode 0600) that holds the key pair of one end of a connection. Any thread;
// both functions block for the disk.

// Errors: NotFound if the file is missing, DataLoss if it contains no keys.
absl::StatusOr<CurvePair> ReadKeyFile(const std::string& path);
// Creates the file with a new pair unless it exists, and returns the pair in the file; concurrent
// callers get the same pair. The directory must exist.
absl::StatusOr<CurvePair> MakeKeyFile(const std::string& path);

}  // namespace bus

#endif  // BUS_ACCESS_KEY_FILE_H_
