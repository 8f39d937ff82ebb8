/* A plugin of another major version. */
__attribute__((visibility("default"))) const void* wb_plugin_v2(void);
const void* wb_plugin_v2(void) { return 0; }
