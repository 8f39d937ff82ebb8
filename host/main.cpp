// The waybill program: one call into the library that the tests link as well.
#include "cli/cli.h"

int main(int argc, char** argv) { return waybill::run_command_line(argc, argv); }
