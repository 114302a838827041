#ifndef LAUNCHER_RUN_TREE_MARK_H_
#define LAUNCHER_RUN_TREE_MARK_H_

#include <string>

#include "launcher/wire/shim_protocol.h"

namespace launcher {

// The mark that the shim of the attempt in this folder has written about its tree. Empty if the
// shim has written no mark, or wrote it before a reboot.
TreeMark ReadTreeMark(const std::string& folder);

}  // namespace launcher

#endif  // LAUNCHER_RUN_TREE_MARK_H_
