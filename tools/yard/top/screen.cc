#include "tools/yard/top/screen.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/text/text_width.h"

namespace yard::top {
namespace {

const char* Sequence(Style style, bool color) {
  switch (style) {
    case Style::kPlain:
      return "\x1b[0m";
    case Style::kBold:
      return "\x1b[0;1m";
    case Style::kDim:
      return "\x1b[0;2m";
    case Style::kReverse:
      return "\x1b[0;7m";
    case Style::kGood:
      return color ? "\x1b[0;32m" : "\x1b[0m";
    case Style::kWarning:
      return color ? "\x1b[0;33m" : "\x1b[0m";
    case Style::kBad:
      return color ? "\x1b[0;31m" : "\x1b[0;1m";
  }
  return "\x1b[0m";
}

bool IsAscii(const std::string& glyph) {
  return glyph.size() == 1 && static_cast<unsigned char>(glyph[0]) < 0x80;
}

}  // namespace

Screen::Screen(int width, int height)
    : width_(std::clamp(width, 1, 1000)),
      height_(std::clamp(height, 1, 1000)),
      cells_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_)) {}

int Screen::Put(int row, int column, std::string_view text, Style style, int room) {
  if (row < 0 || row >= height_ || column < 0) return column;
  // Limits the work: a row cannot show more characters than this.
  std::string printable = runtime::Printable(text.substr(0, 16 * static_cast<std::size_t>(width_)));
  std::replace(printable.begin(), printable.end(), '\t', ' ');
  const int end = room > width_ - column ? width_ : column + room;
  for (const Glyph& glyph : Glyphs(printable)) {
    if (column + glyph.width > end) break;
    At(row, column) = {std::string(glyph.bytes), glyph.width, style};
    for (int i = 1; i < glyph.width; ++i) At(row, column + i) = {"", 0, style};
    column += glyph.width;
  }
  return column;
}

void Screen::Paint(int row, Style style) {
  if (row < 0 || row >= height_) return;
  for (int column = 0; column < width_; ++column) At(row, column).style = style;
}

std::string Screen::Row(int row) const {
  std::string text;
  for (int column = 0; column < width_; ++column) text += At(row, column).glyph;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Screen::ToString() const {
  std::string text;
  for (int row = 0; row < height_; ++row) text += Row(row) + "\n";
  return text;
}

std::string Difference(const Screen* shown, const Screen& wanted, bool color) {
  std::string bytes;
  std::optional<Screen> blank;
  if (shown == nullptr || shown->width_ != wanted.width_ || shown->height_ != wanted.height_) {
    bytes = "\x1b[0m\x1b[2J";
    shown = &blank.emplace(wanted.width_, wanted.height_);
  }
  // Cursor position, if known: terminals disagree about the width of non-ASCII characters.
  std::pair<int, int> cursor = {-1, -1};
  std::optional<Style> style;
  for (int row = 0; row < wanted.height_; ++row) {
    for (int column = 0; column < wanted.width_; ++column) {
      const Screen::Cell& cell = wanted.At(row, column);
      if (cell == shown->At(row, column) || cell.glyph.empty()) continue;
      if (cursor != std::pair(row, column)) {
        absl::StrAppend(&bytes, "\x1b[", row + 1, ";", column + 1, "H");
      }
      if (style != cell.style) bytes += Sequence(cell.style, color);
      style = cell.style;
      bytes += cell.glyph;
      cursor = IsAscii(cell.glyph) ? std::pair(row, column + 1) : std::pair(-1, -1);
    }
  }
  if (style.has_value() && *style != Style::kPlain) bytes += "\x1b[0m";
  return bytes;
}

}  // namespace yard::top
