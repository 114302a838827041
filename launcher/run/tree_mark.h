#ifndef LAUNCHER_RUN_TREE_MARK_H_
#define LAUNCHER_RUN_TREE_MARK_H_

#include <string>

#include "launcher/wire/shim_protocol.h"

namespace launcher {

// Reads the mark with which the shim of the attempt in this folder identifies its process tree.
// Empty if the shim has written no mark, or wrote it before a reboot.
TreeMark ReadTreeMark(const std::string& folder);

}  // namespace launcher

#endif  // LAUNCHER_RUN_TREE_MARK_H_
