/* Service "waybill.template/1": the registry's templates (since minor 2). */
#ifndef WAYBILL_SERVICES_TEMPLATE_H
#define WAYBILL_SERVICES_TEMPLATE_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_TEMPLATE_SERVICE "waybill.template/1"

enum { WB_TEMPLATE_OK = 0, WB_TEMPLATE_UNKNOWN = 1, WB_TEMPLATE_MALFORMED = 2 };

/* Called once for each part, before the function returns; `part` is "subject", "text" or "html". */
typedef void (*wb_template_part)(void* user, wb_str part, wb_str rendered);

/* Mustache templates. `data` is a JSON object; a missing name renders as nothing. Values in the part "html" are escaped. */
typedef struct wb_template_service {
  /* [any] Render every part of a registry template. WB_TEMPLATE_UNKNOWN: there is none of this id, and `part` is not called. */
  int32_t (*render)(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user);
  /* [any] Render a template of the plugin's own, such as a destination's subject. Its only part is "text", unescaped. */
  int32_t (*render_text)(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user);
} wb_template_service;

#ifdef __cplusplus
}
#endif
#endif
