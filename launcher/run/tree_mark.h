#ifndef LAUNCHER_RUN_TREE_MARK_H_
#define LAUNCHER_RUN_TREE_MARK_H_

#include <string>

#include "launcher/wire/shim_protocol.h"

namespace launcher {

// What the shim of the attempt with this folder has said of its tree. Empty if it came to no mark,
// or that was before a reboot.
TreeMark ReadTreeMark(const std::string& folder);

}  // namespace launcher

#endif  // LAUNCHER_RUN_TREE_MARK_H_
