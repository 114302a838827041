#ifndef WEB_API_VALUE_ANSWERS_H_
#define WEB_API_VALUE_ANSWERS_H_

// Values of runs that are no scalars, graphs, and lineage: GET /runs/RUN/values, /blob, /graph and
// /lineage. Each function asks the data manager over the bus and blocks. Errors are those of the
// data manager; InvalidArgument: the address says something that is none of the choices.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"
#include "web/http/message.h"
#include "web/http/target.h"

namespace web {

// An answer ends, and says `more`, once it has about so many bytes.
inline constexpr std::size_t kMostValueBytes = std::size_t{8} << 20;
// A longer blob is refused.
inline constexpr std::size_t kMostBlobBytes = std::size_t{64} << 20;

// Values of `tag=` in the order of steps: with `last=N` the newest N, with `first=` and `limit=` a
// stretch. `max_values=` limits the numbers of one tensor, `slice=` cuts tensors, `references=1`
// gives the place of each value instead. With `whole=1` a run that is being read is waited for.
absl::StatusOr<nlohmann::json> ValuesAnswer(bus::Client& client, const std::string& run,
                                            const Target& target);
// The bytes of an image, a sound or any other value, by `file=`, `offset=`, `length=` and `crc=` as
// ValuesAnswer() gives them. Their type is what they begin with, never what the file says.
absl::StatusOr<Response> BlobAnswer(bus::Client& client, const std::string& run,
                                    const Target& target);
// Nodes and scopes directly in `scope=`, or nodes whose names contain `search=`; `after=` begins
// the next page.
absl::StatusOr<nlohmann::json> GraphAnswer(bus::Client& client, const std::string& run,
                                           const Target& target);
// Reads MindSpore's lineage files of a run.
absl::StatusOr<nlohmann::json> LineageAnswer(bus::Client& client, const std::string& run);

// "image/png" for the bytes of a PNG; "application/octet-stream" for what no browser shows safely.
std::string_view TypeOfBytes(std::string_view bytes);

}  // namespace web

#endif  // WEB_API_VALUE_ANSWERS_H_
