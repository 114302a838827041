#include "runtime/file_limit.h"

#include <sys/resource.h>

namespace runtime {

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  // What fails here leaves the limit as it is.
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace runtime
