#ifndef TOOLS_YARD_STATE_SERVICE_NAMES_H_
#define TOOLS_YARD_STATE_SERVICE_NAMES_H_

#include <string_view>

namespace yard {

// The services, in the order in which they become ready.
inline constexpr std::string_view kServices[] = {"registry", "launcher", "datamanager", "trainer",
                                                 "web"};
// The same and the gate, which a yard has once a key was made for it (yard gate key).
inline constexpr std::string_view kAllServices[] = {"registry", "launcher", "datamanager",
                                                    "trainer",  "web",      "gate"};

}  // namespace yard

#endif  // TOOLS_YARD_STATE_SERVICE_NAMES_H_
