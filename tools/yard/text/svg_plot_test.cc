#include "tools/yard/text/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlotColumn Point(double x, double y) {
  return {.first_x = x, .last_x = x, .first = y, .last = y, .min = y, .max = y};
}

TEST(SvgPlotTest, ACurveGoesFromEdgeToEdge) {
  const std::string svg =
      DrawSvg({{.curves = {{.label = "first", .columns = {Point(0, 1), Point(10, 3)}}},
                .options = {.title = "loss", .x_name = "step", .width = 300, .height = 190}}});
  EXPECT_THAT(svg, HasSubstr("<path d=\"M80.0 140.0L280.0 40.0\""));
  EXPECT_THAT(svg, HasSubstr(">loss</text>"));
  EXPECT_THAT(svg, HasSubstr(">first</text>"));
  EXPECT_THAT(svg, HasSubstr(">step</text>"));
}

TEST(SvgPlotTest, OnALogarithmicAxisPowersAreAsFarApart) {
  const std::string svg =
      DrawSvg({{.curves = {{.label = "a",
                            .columns = {Point(0, 1), Point(1, 10), Point(2, 100), Point(3, -1),
                                        Point(4, 1)}}},
                .options = {.width = 300, .height = 190, .log_y = true}}});
  EXPECT_THAT(svg, HasSubstr("M80.0 140.0L130.0 90.0L180.0 40.0M280.0 140.0")) << "a gap at -1";
}

TEST(SvgPlotTest, NamesAreText) {
  const std::string svg = DrawSvg(
      {{.curves = {{.label = "<script>\x1b&\"", .columns = {}}}, .options = {.title = "</svg>"}}});
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("&lt;/svg&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(SvgPlotTest, ChartsStandBelowEachOther) {
  const SvgChart chart{.curves = {{.label = "a", .columns = {Point(0, 1)}}},
                       .options = {.width = 300, .height = 200}};
  EXPECT_THAT(DrawSvg({chart, chart}), HasSubstr("width=\"300\" height=\"460\""));
}

}  // namespace
}  // namespace yard
