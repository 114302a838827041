#ifndef TOOLS_YARD_TEXT_BRAILLE_PLOT_H_
#define TOOLS_YARD_TEXT_BRAILLE_PLOT_H_

#include <functional>
#include <string>
#include <vector>

namespace yard {

// Neighbouring points of a curve put together. `min` and `max` are over finite values, NaN if no
// value is finite.
struct PlotColumn {
  double first_x = 0;
  double last_x = 0;
  double first = 0;
  double last = 0;
  double min = 0;
  double max = 0;
};

struct PlotCurve {
  std::string label;                // The name; cut where it is too long for a line of the legend.
  std::string behind = {};          // Text that follows the name there.
  std::vector<PlotColumn> columns;  // Ascending in x.
};

struct PlotOptions {
  std::string title = {};
  int width = 80;   // Width of the whole, with axes, in characters; 30 to 4000.
  int height = 20;  // Height of all but the legend, in lines; 5 to 1000.
  bool color = false;
  bool log_y = false;  // The vertical axis is logarithmic: values that are not above 0 leave gaps.
  // Text of a place on the horizontal axis; unset: the number.
  std::function<std::string(double)> x_text = {};
};

// Columns a curve may have so that none of them shares its dots with another, unless the labels
// of the axis are long.
int PlotDots(const PlotOptions& options);

// A chart of braille dots (2 x 4 a character) with axes, and a legend below. Each column is drawn
// from its minimum to its maximum, so that a spike of one point is as high as it was; columns are
// joined by lines, values that are not finite leave a gap, and a cross on the axis below. Labels
// have as many digits as it takes to tell them apart; no line is wider than all of it. More than
// one curve: told apart by color, or by a letter at the end of each. Every line ends with "\n";
// labels are made Printable().
std::string DrawPlot(const std::vector<PlotCurve>& curves, const PlotOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_BRAILLE_PLOT_H_
