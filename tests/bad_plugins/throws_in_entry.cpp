// Throws where the host asks for its descriptor; does not include plugin.h, whose declaration is noexcept.
extern "C" __attribute__((visibility("default"))) const void* wb_plugin_v1() { throw 42; }
