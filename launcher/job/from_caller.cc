#include "launcher/job/from_caller.h"

#include <memory>
#include <utility>

namespace launcher {

FromCaller TakeFromCaller(msg::JobSpecT* spec) {
  FromCaller from{.environment = std::exchange(spec->environment, {})};
  const std::unique_ptr<msg::CallersProcessT> caller = std::move(spec->caller);
  if (caller == nullptr) return from;
  from.process = {.is_known = true,
                  .umask = caller->umask,
                  .nice = caller->nice,
                  .cpus = std::move(caller->cpus)};
  for (const auto& limit : caller->limits) {
    if (limit == nullptr) continue;
    from.process.limits.push_back({.name = limit->name, .soft = limit->soft, .hard = limit->hard});
  }
  return from;
}

}  // namespace launcher
