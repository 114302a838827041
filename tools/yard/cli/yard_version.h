#ifndef TOOLS_YARD_CLI_YARD_VERSION_H_
#define TOOLS_YARD_CLI_YARD_VERSION_H_

namespace yard {

inline constexpr char kVersion[] = "yard 0.1";

}  // namespace yard

#endif  // TOOLS_YARD_CLI_YARD_VERSION_H_
