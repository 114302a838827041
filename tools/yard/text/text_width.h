#ifndef TOOLS_YARD_TEXT_TEXT_WIDTH_H_
#define TOOLS_YARD_TEXT_TEXT_WIDTH_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// Text is UTF-8 without control characters (runtime/text/printable.h).

// A character with the marks that combine with it, and the columns that a terminal gives it: 2 for
// East Asian ones and most pictures, else 1.
struct Glyph {
  std::string_view bytes;  // Part of the text.
  int width = 1;
};
std::vector<Glyph> Glyphs(std::string_view text);

// The columns of all of it.
int TextWidth(std::string_view text);

// At most `width` columns of it; what was cut ends with "…".
std::string FitText(std::string_view text, int width);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_TEXT_WIDTH_H_
