#include "tools/yard/text/text_width.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstddef>

#include "runtime/text/utf8.h"

namespace yard {
namespace {

// Switches this thread to a UTF-8 locale, which the C library needs for wcwidth(), and restores the
// former one.
class Utf8Locale {
 public:
  Utf8Locale() : before_(uselocale(Utf8())) {}
  ~Utf8Locale() { uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  // glibc has this locale built in.
  static locale_t Utf8() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  const locale_t before_;
};

// Returns the columns of one character; an unprintable one counts as its one-column replacement.
int WidthOf(std::string_view character) {
  mbstate_t state = {};
  wchar_t wide = 0;
  if (mbrtowc(&wide, character.data(), character.size(), &state) != character.size()) return 1;
  const int width = wcwidth(wide);
  return width < 0 ? 1 : width;
}

}  // namespace

std::vector<Glyph> Glyphs(std::string_view text) {
  const Utf8Locale locale;
  std::vector<Glyph> glyphs;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = std::max<std::size_t>(runtime::Utf8Bytes(text.substr(at)), 1);
    const std::string_view character = text.substr(at, bytes);
    const int width = WidthOf(character);
    if (width > 0) {
      glyphs.push_back({character, width});
    } else if (!glyphs.empty()) {
      Glyph& last = glyphs.back();
      last.bytes = std::string_view(last.bytes.data(), last.bytes.size() + bytes);
    }
    at += bytes;
  }
  return glyphs;
}

int TextWidth(std::string_view text) {
  int width = 0;
  for (const Glyph& glyph : Glyphs(text)) width += glyph.width;
  return width;
}

std::string FitText(std::string_view text, int width) {
  if (TextWidth(text) <= width) return std::string(text);
  std::string fitting;
  int left = width - 1;
  for (const Glyph& glyph : Glyphs(text)) {
    if (glyph.width > left) break;
    left -= glyph.width;
    fitting += glyph.bytes;
  }
  return width < 1 ? std::string() : fitting + "…";
}

}  // namespace yard
