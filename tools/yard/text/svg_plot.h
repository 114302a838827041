#ifndef TOOLS_YARD_TEXT_SVG_PLOT_H_
#define TOOLS_YARD_TEXT_SVG_PLOT_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/yard/text/braille_plot.h"

namespace yard {

struct SvgOptions {
  std::string title = {};
  std::string x_name = {};        // Label of the horizontal axis.
  int width = 800, height = 480;  // Size of a chart, in pixels.
  bool log_y = false;             // As in PlotOptions.
  std::function<std::string(double)> x_text = {};
};

struct SvgChart {
  std::vector<PlotCurve> curves;
  SvgOptions options;
};

// Returns an SVG document with the charts, one below the other, each with axes, grid and legend.
// Text is escaped; the document has no external references.
std::string DrawSvg(const std::vector<SvgChart>& charts);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_SVG_PLOT_H_
