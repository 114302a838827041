#include "tools/yard/braille_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/printable.h"
#include "tools/yard/table.h"

namespace yard {
namespace {

constexpr int kLabelWidth = 10;  // Of the values beside the vertical axis.
constexpr int kColors[] = {36, 33, 35, 32, 31, 34};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int CellsAcross(const PlotOptions& options) {
  return std::clamp(options.width, 30, 4000) - kLabelWidth - 2;
}
// Under the title and above the axis and its labels.
int CellsDown(const PlotOptions& options) { return std::clamp(options.height, 5, 1000) - 3; }

char Letter(std::size_t curve) { return static_cast<char>('a' + curve % 26); }

std::string Utf8(std::uint32_t code_point) {
  return {static_cast<char>(0xE0 | code_point >> 12),
          static_cast<char>(0x80 | (code_point >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // Where `value` is between 0 and `steps`. Halves keep the width of huge ranges finite.
  int Place(double value, int steps) const {
    const double width = high / 2 - low / 2;
    if (!(width > 0)) return steps / 2;
    const double share = std::clamp((value / 2 - low / 2) / width, 0.0, 1.0);
    return static_cast<int>(std::lround(share * steps));
  }
};

// Cells of 2 x 4 dots; dot (0, 0) is at the bottom left.
class Canvas {
 public:
  Canvas(int across, int down)
      : across_(across), down_(down), cells_(static_cast<std::size_t>(across) * down) {}

  int right() const { return across_ * 2 - 1; }
  int top() const { return down_ * 4 - 1; }

  void Dot(int x, int y, std::size_t curve) {
    static constexpr std::uint8_t kBits[4][2] = {{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {1, 8}};
    Cell& cell = At(x / 2, down_ - 1 - y / 4);
    cell.dots |= kBits[y % 4][x % 2];
    cell.curve = curve;
  }
  void Line(int x0, int y0, int x1, int y1, std::size_t curve) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      Dot(static_cast<int>(std::lround(x0 + share * (x1 - x0))),
          static_cast<int>(std::lround(y0 + share * (y1 - y0))), curve);
    }
  }
  // Replaces the cell of dot (x, y).
  void Mark(int x, int y, std::size_t curve) {
    Cell& cell = At(x / 2, down_ - 1 - y / 4);
    cell.letter = Letter(curve);
    cell.curve = curve;
  }
  std::string Row(int row, bool color) const {
    std::string text;
    int current = 0;
    for (int x = 0; x < across_; ++x) {
      const Cell& cell = cells_[static_cast<std::size_t>(row) * across_ + x];
      const bool empty = cell.dots == 0 && cell.letter == 0;
      const int wanted = color && !empty ? kColors[cell.curve % std::size(kColors)] : 0;
      if (wanted != current) absl::StrAppend(&text, "\x1b[", wanted, "m");
      current = wanted;
      if (cell.letter != 0) {
        text += cell.letter;
      } else {
        text += cell.dots == 0 ? " " : Utf8(0x2800 + cell.dots);
      }
    }
    if (current != 0) return text + "\x1b[0m";
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  struct Cell {
    std::uint8_t dots = 0;
    char letter = 0;
    std::size_t curve = 0;
  };
  Cell& At(int x, int y) { return cells_[static_cast<std::size_t>(y) * across_ + x]; }

  const int across_, down_;
  std::vector<Cell> cells_;
};

void DrawCurve(const PlotCurve& curve, std::size_t index, bool mark, const Range& x, const Range& y,
               Canvas* canvas) {
  double from_x = 0, from_y = kNan;
  const auto dot_x = [&](double value) { return x.Place(value, canvas->right()); };
  const auto dot_y = [&](double value) { return y.Place(value, canvas->top()); };
  for (const PlotColumn& column : curve.columns) {
    if (std::isfinite(from_y) && std::isfinite(column.first)) {
      canvas->Line(dot_x(from_x), dot_y(from_y), dot_x(column.first_x), dot_y(column.first), index);
    }
    if (std::isfinite(column.min) && std::isfinite(column.max)) {
      const int at = dot_x(column.first_x);
      canvas->Line(at, dot_y(column.min), at, dot_y(column.max), index);
    }
    from_x = column.last_x;
    from_y = column.last;
  }
  if (mark && std::isfinite(from_y)) canvas->Mark(dot_x(from_x), dot_y(from_y), index);
}

std::string AxisLabel(const Range& y, int row, int rows) {
  if (row == 0) return ShortNumber(y.high);
  if (row == rows - 1) return ShortNumber(y.low);
  if (row == rows / 2) {
    const double share = static_cast<double>(rows - 1 - row) / (rows - 1);
    return absl::StrFormat("%.4g", y.low * (1 - share) + y.high * share);
  }
  return "";
}

// Steps are whole numbers, and shown whole.
std::string StepLabel(double x) {
  if (std::abs(x) < 1e15 && x == std::floor(x)) return absl::StrFormat("%.0f", x);
  return ShortNumber(x);
}

std::string HorizontalAxis(const Range& x, int across) {
  std::string line(kLabelWidth, ' ');
  absl::StrAppend(&line, " \u2514");
  for (int i = 0; i < across; ++i) line += "\u2500";
  const std::string low = StepLabel(x.low), high = StepLabel(x.high);
  const int gap = std::max(across - static_cast<int>(low.size() + high.size()), 1);
  return absl::StrCat(line, "\n", std::string(kLabelWidth + 2, ' '), low,
                      std::string(static_cast<std::size_t>(gap), ' '), high, "\n");
}

std::string Legend(const std::vector<PlotCurve>& curves, bool color) {
  std::string text;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string label = runtime::Printable(curves[i].label);
    if (color) {
      absl::StrAppend(&text, "  \x1b[", kColors[i % std::size(kColors)], "m\u2501\u2501\x1b[0m ",
                      label, "\n");
    } else if (curves.size() > 1) {
      absl::StrAppend(&text, "  ", std::string(1, Letter(i)), "  ", label, "\n");
    } else {
      absl::StrAppend(&text, "  ", label, "\n");
    }
  }
  return text;
}

}  // namespace

int PlotDots(const PlotOptions& options) { return CellsAcross(options) * 2; }

std::string DrawPlot(const std::vector<PlotCurve>& curves, const PlotOptions& options) {
  Range x, y;
  for (const PlotCurve& curve : curves) {
    for (const PlotColumn& column : curve.columns) {
      x.Include(column.first_x);
      x.Include(column.last_x);
      y.Include(column.min);
      y.Include(column.max);
    }
  }
  if (x.empty()) x = {0, 0};
  if (y.empty()) y = {0, 0};
  const int rows = CellsDown(options);
  Canvas canvas(CellsAcross(options), rows);
  const bool mark = curves.size() > 1 && !options.color;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    DrawCurve(curves[i], i, mark, x, y, &canvas);
  }
  std::string text =
      absl::StrCat(std::string(kLabelWidth + 2, ' '), runtime::Printable(options.title), "\n");
  for (int row = 0; row < rows; ++row) {
    absl::StrAppend(&text, absl::StrFormat("%*s", kLabelWidth, AxisLabel(y, row, rows)), " \u2502",
                    canvas.Row(row, options.color), "\n");
  }
  return absl::StrCat(text, HorizontalAxis(x, CellsAcross(options)), Legend(curves, options.color));
}

}  // namespace yard
