#ifndef RUNTIME_TEXT_NUMBER_TEXT_H_
#define RUNTIME_TEXT_NUMBER_TEXT_H_

#include <string>

namespace runtime {

// The shortest text that reads back as exactly `number`. A number that is not finite is "nan",
// "inf" and
// "-inf", which Python, NumPy, pandas and R read.
void AppendNumber(double number, std::string* text);

// The same as a JSON value: "NaN", "Infinity" and "-Infinity" as strings, and -0 with a fraction,
// as readers take "-0" for the integer 0.
void AppendJsonNumber(double number, std::string* text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_NUMBER_TEXT_H_
