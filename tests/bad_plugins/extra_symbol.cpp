// Exports a function of its own beside wb_plugin_v1.
#include "poster.h"

extern "C" __attribute__((visibility("default"))) int extra_symbol_of_mine() { return 1; }

KIT_PLUGIN(kit::Poster, "extra_symbol");
