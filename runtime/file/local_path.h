#ifndef RUNTIME_FILE_LOCAL_PATH_H_
#define RUNTIME_FILE_LOCAL_PATH_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// InvalidArgument, which says what to do: what `option` was given is the address of a remote store
// (s3://bucket/runs), a list of named directories (a:x,b:y, as TensorBoard takes it), or a path of
// another system (E:\runs), though a directory may be called so: with ./ in front it is meant.
absl::Status CheckLocalPath(std::string_view option, std::string_view path);

}  // namespace runtime

#endif  // RUNTIME_FILE_LOCAL_PATH_H_
