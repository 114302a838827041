// yard-shim FOLDER [CONTROL_FD]: started by the launcher, never by hand (docs/launcher.md).
#include <stdio.h>
#include <stdlib.h>

#include "launcher/shim.h"
#include "launcher/shim_protocol.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: yard-shim FOLDER [CONTROL_FD]\n");
    return launcher::kShimBadSpec;
  }
  launcher::ShimOptions options;
  options.folder = argv[1];
  if (argc == 3) options.control_fd = atoi(argv[2]);
  return launcher::RunShim(options);
}
