#ifndef BUS_ACCESS_KEY_FILE_H_
#define BUS_ACCESS_KEY_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/curve.h"

namespace bus {

// A file, 0600, with the pair of keys of one end of a connection. Any thread; both block for the
// disk.

// NotFound: there is no file; DataLoss: it holds no keys.
absl::StatusOr<CurvePair> ReadKeyFile(const std::string& path);
// Makes the file with a new pair unless there is one, and returns the pair that counts: two that
// make it at the same time get the same one. Its directory has to be there.
absl::StatusOr<CurvePair> MakeKeyFile(const std::string& path);

}  // namespace bus

#endif  // BUS_ACCESS_KEY_FILE_H_
