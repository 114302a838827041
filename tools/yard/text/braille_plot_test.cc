#include "tools/yard/text/braille_plot.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

PlotColumn Point(double x, double y) {
  return {.first_x = x, .last_x = x, .first = y, .last = y, .min = y, .max = y};
}

PlotCurve Curve(std::string label, const std::vector<double>& values) {
  PlotCurve curve{.label = std::move(label), .columns = {}};
  double x = 0;
  for (const double value : values) curve.columns.push_back(Point(x++, value));
  return curve;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

// Braille patterns are E2 A0 80 to E2 A3 BF in UTF-8.
bool HasDots(const std::string& line) {
  for (const char* start : {"\xE2\xA0", "\xE2\xA1", "\xE2\xA2", "\xE2\xA3"}) {
    if (line.find(start) != std::string::npos) return true;
  }
  return false;
}

TEST(DrawPlotTest, DrawsAxesCurveAndLegend) {
  EXPECT_EQ(DrawPlot({Curve("run-1", {0, 1, 2, 3})}, {.title = "loss", .width = 30, .height = 7}),
            "            loss\n"
            "         3 │             ⢀⡠⠤⠒⠉\n"
            "           │         ⣀⠤⠒⠊⠁\n"
            "         1 │    ⢀⡠⠤⠒⠉\n"
            "         0 │⣀⠤⠒⠉⠁\n"
            "           └──────────────────\n"
            "            0                3\n"
            "  run-1\n");
}

TEST(DrawPlotTest, ASpikeInsideAColumnReachesTheTop) {
  PlotCurve curve = Curve("loss", std::vector<double>(1000, 1.0));
  curve.columns[500].max = 100;  // A single point of many in the column.
  const std::string plot = DrawPlot({curve}, {.width = 60, .height = 12});
  const auto lines = Lines(plot);
  EXPECT_NE(lines[1].find("100"), std::string::npos) << plot;
  // The spike's column has dots in every row.
  for (std::size_t row = 1; row <= 9; ++row) EXPECT_TRUE(HasDots(lines[row])) << row << plot;
}

TEST(DrawPlotTest, NotANumberLeavesAGap) {
  const std::string whole = DrawPlot({Curve("c", {1, 1, 1, 1})}, {.width = 30, .height = 7});
  const std::string gap = DrawPlot({Curve("c", {1, kNan, kNan, 1})}, {.width = 30, .height = 7});
  EXPECT_NE(whole, gap);
  EXPECT_LT(gap.size(), whole.size());
  EXPECT_EQ(gap.find("nan"), std::string::npos);
}

TEST(DrawPlotTest, InfinityNeitherSetsTheScaleNorDraws) {
  const std::string plot =
      DrawPlot({Curve("c", {0, kInfinity, -kInfinity, 2})}, {.width = 30, .height = 7});
  EXPECT_EQ(Lines(plot)[1].substr(0, 10), "         2");
  EXPECT_EQ(plot.find("inf"), std::string::npos);
}

TEST(DrawPlotTest, BigStepsAreShownWhole) {
  PlotCurve curve{.label = "c", .columns = {Point(1'000'000, 0), Point(123'456'789, 1)}};
  const std::string plot = DrawPlot({curve}, {.width = 60, .height = 7});
  const std::string axis = Lines(plot)[6];
  EXPECT_NE(axis.find(" 1000000 "), std::string::npos) << plot;
  EXPECT_EQ(axis.substr(axis.size() - 10), " 123456789") << plot;
}

TEST(DrawPlotTest, NoLineIsWiderThanAsked) {
  for (const std::vector<double>& values :
       {std::vector<double>{1.01109, -0.00249587}, {-1.23457e-05, 1}, {1e7, 1e7 + 1e-8}}) {
    PlotCurve curve = Curve(std::string(200, 'n'), values);
    curve.behind = "  2 points";
    const std::string plot =
        DrawPlot({curve}, {.title = std::string(5000, 't'), .width = 60, .height = 7});
    for (const std::string& line : Lines(plot)) EXPECT_LE(TextWidth(line), 60) << line;
    EXPECT_NE(plot.find("  2 points\n"), std::string::npos) << plot;
  }
}

TEST(DrawPlotTest, LabelsTellTheTopFromTheBottom) {
  const auto lines = Lines(DrawPlot({Curve("c", {1e7, 1e7 + 49})}, {.width = 60, .height = 8}));
  EXPECT_NE(lines[1].find("10000049 "), std::string::npos) << lines[1];
  EXPECT_NE(lines[5].find("10000000 "), std::string::npos) << lines[5];
  const std::string constant = DrawPlot({Curve("c", {5, 5})}, {.width = 60, .height = 8});
  EXPECT_EQ(constant.find(" 5 "), constant.rfind(" 5 ")) << "at its height alone\n" << constant;
}

TEST(DrawPlotTest, WhatIsNotFiniteIsMarkedOnTheAxis) {
  const std::string none = DrawPlot({Curve("c", {1, 2, 3})}, {.width = 30, .height = 7});
  EXPECT_EQ(none.find("\u00d7"), std::string::npos);
  const std::string some =
      DrawPlot({Curve("c", {1, kNan, 3, kInfinity})}, {.width = 30, .height = 7});
  EXPECT_NE(Lines(some)[5].find("\u00d7"), std::string::npos) << some;
  EXPECT_NE(DrawPlot({Curve("c", {kNan})}, {.width = 30, .height = 7}).find("\u00d7"),
            std::string::npos);
}

TEST(DrawPlotTest, AnySizeIsDrawn) {
  for (const int size : {-1, 0, 1, 2, 30, 300}) {
    const std::string plot =
        DrawPlot({Curve("c", {0, 1, 5, kNan, 2})}, {.width = size, .height = size});
    EXPECT_GE(Lines(plot).size(), 6U) << size;
  }
}

TEST(DrawPlotTest, HugeRangesStayFinite) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const std::string plot = DrawPlot({Curve("c", {-kMax, kMax})}, {.width = 40, .height = 8});
  EXPECT_EQ(plot.find("nan"), std::string::npos) << plot;
  EXPECT_EQ(plot.find("inf"), std::string::npos) << plot;
}

TEST(DrawPlotTest, NothingToDrawIsAnEmptyChart) {
  EXPECT_EQ(Lines(DrawPlot({}, {.width = 30, .height = 7})).size(), 7U);
  EXPECT_EQ(Lines(DrawPlot({Curve("c", {})}, {.width = 30, .height = 7})).size(), 8U);
  EXPECT_EQ(Lines(DrawPlot({Curve("c", {kNan})}, {.width = 30, .height = 7})).size(), 8U);
}

TEST(DrawPlotTest, AConstantOrSinglePointIsDrawn) {
  EXPECT_NE(DrawPlot({Curve("c", {5})}, {.width = 30, .height = 7}),
            DrawPlot({Curve("c", {})}, {.width = 30, .height = 7}));
}

TEST(DrawPlotTest, CurvesHaveALetterWithoutColor) {
  const std::string plot =
      DrawPlot({Curve("one", {0, 1}), Curve("two", {1, 0})}, {.width = 30, .height = 7});
  EXPECT_EQ(plot.find('\x1b'), std::string::npos);
  EXPECT_NE(plot.find("  a  one\n"), std::string::npos);
  EXPECT_NE(plot.find("  b  two\n"), std::string::npos);
  EXPECT_EQ(Lines(plot)[1].back(), 'a') << plot;
  EXPECT_EQ(Lines(plot)[4].back(), 'b') << plot;
}

TEST(DrawPlotTest, ColorIsResetAtTheEndOfEachLine) {
  const std::string plot = DrawPlot({Curve("one", {0, 1}), Curve("two", {1, 0})},
                                    {.width = 30, .height = 7, .color = true});
  for (const std::string& line : Lines(plot)) {
    const std::size_t last = line.rfind("\x1b[");
    if (last == std::string::npos) continue;
    EXPECT_EQ(line.substr(last, 4), "\x1b[0m") << line;
  }
  EXPECT_NE(plot.find("\x1b[36m"), std::string::npos);
}

TEST(DrawPlotTest, LabelsCannotDriveTheTerminal) {
  const std::string plot = DrawPlot({Curve("a\x1b[31m", {0, 1})}, {.title = "t\x07", .width = 30});
  EXPECT_EQ(plot.find('\x1b'), std::string::npos);
  EXPECT_EQ(plot.find('\x07'), std::string::npos);
}

TEST(DrawPlotTest, AnAbsurdSizeIsCutToItsLimits) {
  constexpr int kHuge = std::numeric_limits<int>::max();
  const auto lines = Lines(DrawPlot({Curve("c", {0, 1})}, {.width = kHuge, .height = kHuge}));
  EXPECT_EQ(lines.size(), 1001U) << "and the legend";
}

TEST(DrawPlotTest, ALogarithmicAxisHasPowersAsFarApart) {
  const PlotOptions options{.width = 40, .height = 11, .log_y = true};
  const auto lines = Lines(DrawPlot({Curve("c", {0.01, 1, 100, -5, 0})}, options));
  EXPECT_NE(lines[1].find("100"), std::string::npos) << lines[1];
  EXPECT_NE(lines[8].find("0.01"), std::string::npos) << lines[8];
  EXPECT_NE(lines[9].find("\u00d7"), std::string::npos) << "what is not above 0 is marked";
}

TEST(DrawPlotTest, PlacesOnTheHorizontalAxisMayBeText) {
  const auto lines =
      Lines(DrawPlot({Curve("c", {1, 2})}, {.width = 40, .height = 7, .x_text = [](double x) {
                                              return x < 0.5 ? std::string("begin") : "end";
                                            }}));
  EXPECT_NE(lines[6].find("begin"), std::string::npos) << lines[6];
  EXPECT_NE(lines[6].find("end"), std::string::npos);
}

TEST(PlotDotsTest, EachColumnHasDotsOfItsOwn) {
  EXPECT_EQ(PlotDots({.width = 80}), (80 - 12) * 2);
  EXPECT_EQ(PlotDots({.width = 1}), (30 - 12) * 2);
}

}  // namespace
}  // namespace yard
