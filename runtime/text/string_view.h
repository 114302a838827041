#ifndef RUNTIME_TEXT_STRING_VIEW_H_
#define RUNTIME_TEXT_STRING_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace runtime {

// Debian builds Abseil with its own string_view, which differs from the standard type. Our headers
// use std::string_view; only these two functions convert.
inline absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view Std(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace runtime

#endif  // RUNTIME_TEXT_STRING_VIEW_H_
