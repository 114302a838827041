#ifndef RUNTIME_FILE_LOCAL_PATH_H_
#define RUNTIME_FILE_LOCAL_PATH_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Returns InvalidArgument, with advice, if `path`, the value of `option`, is the address of a
// remote store (s3://bucket/runs), a list of named directories (a:x,b:y, as TensorBoard accepts),
// or a path of another system (E:\runs). A directory with such a name can still be given with ./ in
// front.
absl::Status CheckLocalPath(std::string_view option, std::string_view path);

}  // namespace runtime

#endif  // RUNTIME_FILE_LOCAL_PATH_H_
