#include "tools/yard/text/braille_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

constexpr int kLabelWidth = 10;  // Minimum width of the labels of the vertical axis.
constexpr int kColors[] = {36, 33, 35, 32, 31, 34};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int WholeWidth(const PlotOptions& options) { return std::clamp(options.width, 30, 4000); }
int CellsAcross(const PlotOptions& options, int label_width) {
  return WholeWidth(options) - label_width - 2;
}
// Height of the canvas: without the title, the axis and its labels.
int CellsDown(const PlotOptions& options) { return std::clamp(options.height, 5, 1000) - 3; }

char Letter(std::size_t curve) { return static_cast<char>('a' + curve % 26); }

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // Maps `value` to 0..`steps`. Halving the operands keeps the width of huge ranges finite.
  int Place(double value, int steps) const {
    const double width = high / 2 - low / 2;
    if (!(width > 0)) return steps / 2;
    const double share = std::clamp((value / 2 - low / 2) / width, 0.0, 1.0);
    return static_cast<int>(std::lround(share * steps));
  }
};

// A grid of cells with 2 x 4 dots each; dot (0, 0) is at the bottom left.
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
  // Replaces the cell that contains dot (x, y) by the curve's letter.
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
        if (cell.dots == 0) {
          text += ' ';
        } else {
          runtime::AppendUtf8(0x2800 + cell.dots, text);
        }
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

bool IsFinite(const PlotColumn& column) {
  return std::isfinite(column.first) && std::isfinite(column.last) && !std::isnan(column.min);
}

// Returns the cells in which a curve has values that cannot be drawn.
std::vector<bool> Unseen(const std::vector<PlotCurve>& curves, const Range& x, int across) {
  std::vector<bool> unseen(static_cast<std::size_t>(across), false);
  for (const PlotCurve& curve : curves) {
    for (const PlotColumn& column : curve.columns) {
      if (IsFinite(column)) continue;
      const int from = x.Place(column.first_x, across * 2 - 1) / 2;
      const int to = x.Place(column.last_x, across * 2 - 1) / 2;
      std::fill(unseen.begin() + from, unseen.begin() + to + 1, true);
    }
  }
  return unseen;
}

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

// Returns the curves with logarithmic values.
std::vector<PlotCurve> InLogs(std::vector<PlotCurve> curves) {
  const auto log = [](double* value) { *value = *value > 0 ? std::log10(*value) : kNan; };
  for (PlotCurve& curve : curves) {
    for (PlotColumn& column : curve.columns) {
      // Only a part of the column may be positive.
      if (column.min <= 0 && column.max > 0) column.min = column.max;
      for (double* value : {&column.first, &column.last, &column.min, &column.max}) log(value);
    }
  }
  return curves;
}

// Returns one label for each row, mostly empty; the others all differ.
std::vector<std::string> AxisLabels(const Range& y, int rows, bool in_logs) {
  std::vector<std::string> labels(static_cast<std::size_t>(rows));
  const int middle = rows / 2;
  if (y.low == y.high) {
    labels[static_cast<std::size_t>(middle)] = ShortNumber(in_logs ? std::pow(10, y.low) : y.low);
    return labels;
  }
  const double share = static_cast<double>(rows - 1 - middle) / (rows - 1);
  double values[] = {y.low, y.low * (1 - share) + y.high * share, y.high};
  if (in_logs) {
    for (double& value : values) value = std::pow(10, value);
  }
  std::vector<std::string> texts = ShortNumbers(values);
  labels.back() = std::move(texts[0]);
  labels[static_cast<std::size_t>(middle)] = std::move(texts[1]);
  labels.front() = std::move(texts[2]);
  return labels;
}

// Whole numbers, such as steps, are printed in full.
std::string StepLabel(double x) {
  if (std::abs(x) < 1e15 && x == std::floor(x)) return absl::StrFormat("%.0f", x);
  return ShortNumber(x);
}

std::string HorizontalAxis(const Range& x, const std::vector<bool>& unseen, int label_width,
                           const PlotOptions& options) {
  std::string line(static_cast<std::size_t>(label_width), ' ');
  absl::StrAppend(&line, " \u2514");
  for (const bool mark : unseen) line += mark ? "\u00d7" : "\u2500";
  const int across = static_cast<int>(unseen.size());
  const auto text = [&](double at) { return options.x_text ? options.x_text(at) : StepLabel(at); };
  const std::string low = text(x.low), high = text(x.high);
  const int gap = std::max(across - static_cast<int>(low.size() + high.size()), 1);
  return absl::StrCat(line, "\n", std::string(static_cast<std::size_t>(label_width) + 2, ' '), low,
                      std::string(static_cast<std::size_t>(gap), ' '), high, "\n");
}

std::string Legend(const std::vector<PlotCurve>& curves, const PlotOptions& options) {
  constexpr int kBefore = 5;
  std::string text;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    // Only the name is cut, never the text after it.
    const std::string behind = runtime::Printable(curves[i].behind);
    const int room = WholeWidth(options) - kBefore - TextWidth(behind);
    const std::string label =
        FitText(runtime::Printable(curves[i].label), std::max(room, 8)) + behind;
    if (options.color) {
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

int PlotDots(const PlotOptions& options) { return CellsAcross(options, kLabelWidth) * 2; }

std::string DrawPlot(const std::vector<PlotCurve>& drawn, const PlotOptions& options) {
  const std::vector<PlotCurve> curves = options.log_y ? InLogs(drawn) : drawn;
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
  const std::vector<std::string> labels = AxisLabels(y, rows, options.log_y);
  int label_width = kLabelWidth;
  for (const std::string& label : labels) {
    label_width = std::max(label_width, static_cast<int>(label.size()));
  }
  const int across = CellsAcross(options, label_width);
  Canvas canvas(across, rows);
  const bool mark = curves.size() > 1 && !options.color;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    DrawCurve(curves[i], i, mark, x, y, &canvas);
  }
  std::string text = absl::StrCat(std::string(static_cast<std::size_t>(label_width) + 2, ' '),
                                  FitText(runtime::Printable(options.title), across), "\n");
  for (int row = 0; row < rows; ++row) {
    absl::StrAppend(&text,
                    absl::StrFormat("%*s", label_width, labels[static_cast<std::size_t>(row)]),
                    " \u2502", canvas.Row(row, options.color), "\n");
  }
  return absl::StrCat(text, HorizontalAxis(x, Unseen(curves, x, across), label_width, options),
                      Legend(curves, options));
}

}  // namespace yard
