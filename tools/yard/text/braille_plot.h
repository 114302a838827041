#ifndef TOOLS_YARD_TEXT_BRAILLE_PLOT_H_
#define TOOLS_YARD_TEXT_BRAILLE_PLOT_H_

#include <functional>
#include <string>
#include <vector>

namespace yard {

// Neighbouring points of a curve merged into one. `min` and `max` cover the finite values, and are
// NaN if no value is finite.
struct PlotColumn {
  double first_x = 0;
  double last_x = 0;
  double first = 0;
  double last = 0;
  double min = 0;
  double max = 0;
};

struct PlotCurve {
  std::string label;                // Name; cut if it is too long for its line in the legend.
  std::string behind = {};          // Text after the name in the legend.
  std::vector<PlotColumn> columns;  // Ascending in x.
};

struct PlotOptions {
  std::string title = {};
  int width = 80;   // Total width with axes, in characters; 30 to 4000.
  int height = 20;  // Height without the legend, in lines; 5 to 1000.
  bool color = false;
  bool log_y = false;  // Logarithmic vertical axis: values that are not above 0 leave gaps.
  // Formats positions on the horizontal axis; if unset, as numbers.
  std::function<std::string(double)> x_text = {};
};

// Returns the number of columns a curve may have so that no two share a dot (unless the labels of
// the axis are long).
int PlotDots(const PlotOptions& options);

// Returns a chart of braille dots (2 x 4 a character) with axes, and a legend below. Each column is
// drawn from its minimum to its maximum, so that a spike of one point keeps its height; columns are
// joined by lines; values that are not finite leave a gap, and a cross on the axis below. Labels
// have as many digits as needed to tell them apart; no line exceeds the total width. Several curves
// differ by color, or by a letter at the end of each. Every line ends with "\n"; labels are made
// Printable().
std::string DrawPlot(const std::vector<PlotCurve>& curves, const PlotOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_BRAILLE_PLOT_H_
