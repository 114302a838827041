#ifndef RUNTIME_TEXT_NUMBER_TEXT_H_
#define RUNTIME_TEXT_NUMBER_TEXT_H_

#include <string>

namespace runtime {

// Neither function depends on the locale.
//
// Appends the shortest text that reads back as exactly `number`. Numbers that are not finite become
// "nan", "inf" and "-inf", which Python, NumPy, pandas and R can read.
void AppendNumber(double number, std::string* text);

// Appends the same as a JSON value: "NaN", "Infinity" and "-Infinity" as strings, and -0 with a
// fraction, because readers take "-0" for the integer 0.
void AppendJsonNumber(double number, std::string* text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_NUMBER_TEXT_H_
