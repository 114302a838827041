#ifndef TOOLS_YARD_TEXT_TEXT_WIDTH_H_
#define TOOLS_YARD_TEXT_TEXT_WIDTH_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// The text must be UTF-8 without control characters (runtime/text/printable.h).

// A character with its combining marks, and its width in terminal columns: 2 for East Asian
// characters and most pictographs, else 1.
struct Glyph {
  std::string_view bytes;  // View into the text.
  int width = 1;
};
std::vector<Glyph> Glyphs(std::string_view text);

// Returns the width of the text in terminal columns.
int TextWidth(std::string_view text);

// Returns at most `width` columns of the text; a shortened text ends with "…".
std::string FitText(std::string_view text, int width);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_TEXT_WIDTH_H_
