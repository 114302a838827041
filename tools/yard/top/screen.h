#ifndef TOOLS_YARD_TOP_SCREEN_H_
#define TOOLS_YARD_TOP_SCREEN_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace yard::top {

enum class Style : std::uint8_t { kPlain, kBold, kDim, kReverse, kGood, kWarning, kBad };

// A grid of cells for a terminal. Put() makes text printable, so that it cannot control the
// terminal.
class Screen {
 public:
  // The size is clamped to 1 x 1 up to 1000 x 1000.
  Screen(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  // Writes text into a row from `column` on, in at most `room` columns; cuts what does not fit.
  // Returns the column after it.
  int Put(int row, int column, std::string_view text, Style style = Style::kPlain,
          int room = std::numeric_limits<int>::max());
  // Sets the style of a whole row.
  void Paint(int row, Style style);

  // Returns a row without styles and trailing spaces.
  std::string Row(int row) const;
  // Returns all rows, each with a newline.
  std::string ToString() const;

  // Returns the bytes that change a terminal from `shown` to `wanted`; with null, they redraw
  // everything. Without color, only bold, dim and reverse are used. Leaves the cursor
  // anywhere.
  friend std::string Difference(const Screen* shown, const Screen& wanted, bool color);

 private:
  struct Cell {
    std::string glyph = " ";  // Empty in the second column of a wide character.
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
