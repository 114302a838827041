#include "launcher/testing/main.h"

int main(int argc, char** argv) { return launcher::testing::Main(argc, argv); }
