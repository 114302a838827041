#include "tools/yard/text/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/text/printable.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr const char* kColors[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd",
                                   "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};
constexpr int kLeft = 80, kRight = 20, kTop = 40, kBottom = 50, kLegendLine = 20;
constexpr int kTicks = 5;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : runtime::Printable(text)) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void Settle() {
    if (low > high) low = high = 0;
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
  }
  double Share(double value) const { return (value / 2 - low / 2) / (high / 2 - low / 2); }
  double At(double share) const { return low * (1 - share) + high * share; }
};

class Chart {
 public:
  Chart(const SvgChart& chart, int top) : chart_(chart), top_(top) {
    for (const PlotCurve& curve : chart.curves) {
      for (const PlotColumn& column : curve.columns) {
        x_.Include(column.first_x);
        x_.Include(column.last_x);
        y_.Include(Y(column.min));
        y_.Include(Y(column.max));
      }
    }
    x_.Settle();
    y_.Settle();
  }

  std::string Text() const {
    const SvgOptions& options = chart_.options;
    std::string text = absl::StrFormat("<text x=\"%d\" y=\"%d\" font-size=\"16\">%s</text>\n",
                                       kLeft, top_ + 25, Escaped(options.title));
    for (int i = 0; i <= kTicks; ++i)
      absl::StrAppend(&text, Ticks(static_cast<double>(i) / kTicks));
    absl::StrAppendFormat(&text, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                          kLeft + Across() / 2, top_ + options.height - 8, Escaped(options.x_name));
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) absl::StrAppend(&text, Curve(i));
    return text;
  }
  int Height() const {
    return chart_.options.height + kLegendLine * static_cast<int>(chart_.curves.size()) + 10;
  }

 private:
  int Across() const { return chart_.options.width - kLeft - kRight; }
  int Down() const { return chart_.options.height - kTop - kBottom; }
  double Y(double value) const {
    if (!chart_.options.log_y) return value;
    return value > 0 ? std::log10(value) : kNan;
  }
  double PixelX(double x) const { return kLeft + x_.Share(x) * Across(); }
  double PixelY(double y) const { return top_ + kTop + (1 - y_.Share(y)) * Down(); }

  std::string Ticks(double share) const {
    const double x = x_.At(share), y = y_.At(share);
    const double value = chart_.options.log_y ? std::pow(10, y) : y;
    const std::string below = chart_.options.x_text ? chart_.options.x_text(x) : ShortNumber(x);
    const int right = kLeft + Across(), bottom = top_ + kTop + Down();
    return absl::StrFormat(
        "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
        "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n"
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
        kLeft, PixelY(y), right, PixelY(y), kLeft - 6, PixelY(y) + 4, Escaped(ShortNumber(value)),
        PixelX(x), bottom + 18, Escaped(below));
  }

  // Draws each column as a line from its least to its greatest value and joins the columns; leaves
  // a gap for values that cannot be drawn.
  std::string Curve(std::size_t index) const {
    const PlotCurve& curve = chart_.curves[index];
    std::string path;
    bool is_joined = false;
    const auto to = [&](double x, double y) {
      absl::StrAppendFormat(&path, "%s%.1f %.1f", is_joined ? "L" : "M", PixelX(x), PixelY(y));
      is_joined = true;
    };
    for (const PlotColumn& column : curve.columns) {
      if (!std::isfinite(Y(column.first)) || !std::isfinite(Y(column.last))) {
        is_joined = false;
        continue;
      }
      to(column.first_x, Y(column.first));
      for (const double value : {column.min, column.max}) {
        const bool is_between = value != column.first && value != column.last;
        if (is_between && std::isfinite(Y(value))) to(column.first_x, Y(value));
      }
      if (column.last_x != column.first_x || column.last != column.first) {
        to(column.last_x, Y(column.last));
      }
    }
    const char* const color = kColors[index % std::size(kColors)];
    const int at = top_ + chart_.options.height + kLegendLine * static_cast<int>(index);
    return absl::StrFormat(
        "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n"
        "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"3\"/>\n"
        "<text x=\"%d\" y=\"%d\">%s</text>\n",
        path, color, kLeft, at + 6, kLeft + 20, at + 6, color, kLeft + 28, at + 10,
        Escaped(curve.label + curve.behind));
  }

  const SvgChart& chart_;
  const int top_;
  Axis x_, y_;
};

}  // namespace

std::string DrawSvg(const std::vector<SvgChart>& charts) {
  std::string body;
  int top = 0, width = 0;
  for (const SvgChart& chart : charts) {
    const Chart drawn(chart, top);
    body += drawn.Text();
    top += drawn.Height();
    width = std::max(width, chart.options.width);
  }
  return absl::StrFormat(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
             "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
             width, top, width, top) +
         body + "</svg>\n";
}

}  // namespace yard
