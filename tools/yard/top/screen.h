#ifndef TOOLS_YARD_TOP_SCREEN_H_
#define TOOLS_YARD_TOP_SCREEN_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace yard::top {

enum class Style : std::uint8_t { kPlain, kBold, kDim, kReverse, kGood, kWarning, kBad };

// The content for a terminal: a grid of cells. Text is made printable as it is put, so that nothing
// in it can drive the terminal.
class Screen {
 public:
  // At least 1 x 1, at most 1000 x 1000.
  Screen(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  // Puts text into a row, from `column` on, in at most `room` columns; what has no place is left
  // out. Returns the column behind it.
  int Put(int row, int column, std::string_view text, Style style = Style::kPlain,
          int room = std::numeric_limits<int>::max());
  // Gives a whole row this style.
  void Paint(int row, Style style);

  // Without styles and trailing spaces.
  std::string Row(int row) const;
  // All rows, each with its end.
  std::string ToString() const;

  // The bytes that turn what a terminal shows into `wanted`; `shown` null: all of it, whatever it
  // shows. Without color only bold, dim and reverse are left. After it the terminal's cursor is
  // anywhere.
  friend std::string Difference(const Screen* shown, const Screen& wanted, bool color);

 private:
  struct Cell {
    std::string glyph = " ";  // Empty: the second column of a wide one.
    int width = 1;
    Style style = Style::kPlain;
    bool operator==(const Cell&) const = default;
  };
  const Cell& At(int row, int column) const {
    return cells_[static_cast<std::size_t>(row) * width_ + column];
  }
  Cell& At(int row, int column) { return cells_[static_cast<std::size_t>(row) * width_ + column]; }

  int width_, height_;
  std::vector<Cell> cells_;
};

std::string Difference(const Screen* shown, const Screen& wanted, bool color);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_SCREEN_H_
