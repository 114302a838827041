#include "runtime/file/file_limit.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

// Grows the descriptor table by opening a high descriptor once.
void MakeRoom(rlim_t limit) {
  const UniqueFd any(open("/", O_PATH | O_CLOEXEC));
  const auto last = static_cast<int>(std::min<rlim_t>(limit, kFileTable)) - 1;
  if (any.valid()) UniqueFd(fcntl(any.get(), F_DUPFD_CLOEXEC, last)).reset();
}

}  // namespace

FileLimit RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const FileLimit before{limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  // On failure the limit stays as it is.
  const bool raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  MakeRoom(raised ? limit.rlim_cur : before.soft);
  return before;
}

}  // namespace runtime
