#ifndef WEB_API_VALUE_ANSWERS_H_
#define WEB_API_VALUE_ANSWERS_H_

// Non-scalar values of runs, graphs and lineage: GET /runs/RUN/values, /blob, /graph and /lineage.
// Each function calls the data manager over the bus and blocks. Errors are those of the data
// manager; InvalidArgument if a parameter of the address has an invalid value.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"
#include "web/http/message.h"
#include "web/http/target.h"

namespace web {

// An answer stops at about this size, with `more` set.
inline constexpr std::size_t kMostValueBytes = std::size_t{8} << 20;
// A longer blob is refused.
inline constexpr std::size_t kMostBlobBytes = std::size_t{64} << 20;

// Returns values of `tag=` in the order of steps: with `last=N` the newest N, with `first=` and
// `limit=` a range. `max_values=` limits the numbers of one tensor, `slice=` cuts tensors, and
// `references=1` returns the location of each value instead. With `whole=1`, waits for a run that
// is still being read.
absl::StatusOr<nlohmann::json> ValuesAnswer(bus::Client& client, const std::string& run,
                                            const Target& target);
// Returns the bytes of an image, a sound or any other value, located by `file=`, `offset=`,
// `length=` and `crc=` as ValuesAnswer() returned them. The content type is detected from the first
// bytes, never taken from the file.
absl::StatusOr<Response> BlobAnswer(bus::Client& client, const std::string& run,
                                    const Target& target);
// Returns the nodes and scopes directly in `scope=`, or nodes whose names contain `search=`;
// `after=` starts the next page.
absl::StatusOr<nlohmann::json> GraphAnswer(bus::Client& client, const std::string& run,
                                           const Target& target);
// Returns the contents of a run's MindSpore lineage files.
absl::StatusOr<nlohmann::json> LineageAnswer(bus::Client& client, const std::string& run);

// Returns "image/png" for the bytes of a PNG; "application/octet-stream" for types that browsers
// cannot show safely.
std::string_view TypeOfBytes(std::string_view bytes);

}  // namespace web

#endif  // WEB_API_VALUE_ANSWERS_H_
