#include "yard.h"

int main() {
  yard::Reporter reporter;
  for (int step = 1; step <= 5; ++step) {
    if (!reporter.Report({{"loss", 1.0 / step}}, {.step = step})) break;
  }
}
