#include "runtime/file_limit.h"

#include <sys/resource.h>

namespace runtime {

FileLimit RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const FileLimit before{limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  // What fails here leaves the limit as it is.
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

}  // namespace runtime
