#ifndef REGISTRY_INFO_CACHE_KEY_H_
#define REGISTRY_INFO_CACHE_KEY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace registry {

// The key by which TensorBoard's manager finds an instance to use again, byte for byte: base64
// of what was started where. Tools with the same key may be used for each other; a different
// order or spelling of the arguments is another key.
//
// `working_directory` is the caller's, with symbolic links resolved; `arguments` are those after
// the program's name. Both are bytes as the system has them. `configure_kwargs_json` is what an
// in-process caller gives beside the arguments, a JSON object (json.dumps of Python: NaN,
// Infinity and integers of any size are kept); "{}" from the command line and for start or reuse.
// InvalidArgument if it is not that, or larger than 1 MiB.
absl::StatusOr<std::string> CacheKey(std::string_view working_directory,
                                     const std::vector<std::string>& arguments,
                                     std::string_view configure_kwargs_json = "{}");

// The same of {"arguments": [...], "working_directory": "...", "configure_kwargs": {...}}, the
// last being optional. InvalidArgument for any other shape or member; a single string for the
// arguments is refused with the hint to split it.
absl::StatusOr<std::string> CacheKeyOfJson(std::string_view json);

}  // namespace registry

#endif  // REGISTRY_INFO_CACHE_KEY_H_
