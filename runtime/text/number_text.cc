#include "runtime/text/number_text.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "runtime/text/json_number.h"

namespace runtime {
namespace {

void AppendFinite(double number, std::string* text) {
  char buffer[32];
  text->append(buffer, std::to_chars(std::begin(buffer), std::end(buffer), number).ptr);
}

}  // namespace

void AppendNumber(double number, std::string* text) {
  if (std::isnan(number)) {
    *text += "nan";
  } else if (std::isinf(number)) {
    *text += number > 0 ? "inf" : "-inf";
  } else {
    AppendFinite(number, text);
  }
}

void AppendJsonNumber(double number, std::string* text) {
  if (!std::isfinite(number)) {
    text->append("\"").append(NotFiniteWord(number)).append("\"");
  } else if (number == 0 && std::signbit(number)) {
    *text += "-0.0";
  } else {
    AppendFinite(number, text);
  }
}

}  // namespace runtime
