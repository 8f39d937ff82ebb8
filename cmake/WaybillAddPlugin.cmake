# waybill_add_plugin()
