#ifndef REGISTRY_INFO_CACHE_KEY_H_
#define REGISTRY_INFO_CACHE_KEY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace registry {

// Returns the key by which TensorBoard's manager finds a reusable instance, byte for byte: base64
// of the arguments and the working directory. Tools with the same key are interchangeable; another
// order or spelling of the arguments gives another key.
//
// `working_directory` is the caller's, with symbolic links resolved; `arguments` are those after
// the program's name. Both are raw bytes. `configure_kwargs_json` holds what an in-process caller
// passes beside the arguments, as a JSON object (Python's json.dumps: NaN, Infinity and integers of
// any size are preserved); it is "{}" for the command line and for start-or-reuse. InvalidArgument
// if it is not a JSON object, or larger than 1 MiB.
absl::StatusOr<std::string> CacheKey(std::string_view working_directory,
                                     const std::vector<std::string>& arguments,
                                     std::string_view configure_kwargs_json = "{}");

// Returns the same for {"arguments": [...], "working_directory": "...", "configure_kwargs": {...}},
// where the last member is optional. InvalidArgument for any other shape or member; if the
// arguments are a single string, the error advises to split it.
absl::StatusOr<std::string> CacheKeyOfJson(std::string_view json);

}  // namespace registry

#endif  // REGISTRY_INFO_CACHE_KEY_H_
