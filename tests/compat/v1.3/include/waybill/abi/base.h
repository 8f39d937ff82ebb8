/* What every part of the ABI is made of: strings, calls and macros. */
#ifndef WAYBILL_ABI_BASE_H
#define WAYBILL_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WB_NOEXCEPT noexcept
#else
#define WB_NOEXCEPT
#endif

#if defined(__GNUC__)
#define WB_EXPORT __attribute__((visibility("default")))
#else
#define WB_EXPORT
#endif

/* True if the struct at `p` is long enough to hold `field`. */
#define WB_HAS(p, field) ((p)->size >= offsetof(__typeof__(*(p)), field) + sizeof((p)->field))

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8, borrowed, not terminated. */
typedef struct wb_str {
  const char* ptr;
  size_t len;
} wb_str;

/* One execution of one delivery. Numbers are never reused, so a late use is only a failed lookup. */
typedef struct wb_call {
  uint64_t id;
} wb_call;

typedef struct wb_host wb_host;     /* see waybill/abi/host.h */
typedef struct wb_sender wb_sender; /* opaque: the plugin's own */

/* Called once for each problem; `path` is a JSON pointer into the checked value ("" is the whole). */
typedef void (*wb_report)(void* user, wb_str path, wb_str message);

#ifdef __cplusplus
}
#endif
#endif
