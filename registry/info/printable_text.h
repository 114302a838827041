#ifndef REGISTRY_INFO_PRINTABLE_TEXT_H_
#define REGISTRY_INFO_PRINTABLE_TEXT_H_

#include <string_view>

namespace registry {

// May `text` be shown to anybody as it is? False for what is not UTF-8, and for characters that
// drive a terminal or turn the direction of the text around: C0 (tab and newline too), DEL, C1,
// line and paragraph separators, bidirectional marks. Empty text is fine.
bool IsPrintableText(std::string_view text);

}  // namespace registry

#endif  // REGISTRY_INFO_PRINTABLE_TEXT_H_
