"""Reads OpenMetrics text from standard input, by the strict parser of the Python client of Prometheus, and prints what it holds as JSON:
the types of the families, and the exemplars of the samples. Ends with 1 and the parser's words if the text is not what it should be."""
import json
import sys

sys.path[:0] = ["/usr/lib/python3/dist-packages"]  # Debian's, whichever Python runs this
from prometheus_client.openmetrics.parser import text_string_to_metric_families  # noqa: E402

families, exemplars, samples = {}, [], 0
try:
    for family in text_string_to_metric_families(sys.stdin.read()):
        families[family.name] = family.type
        for sample in family.samples:
            samples += 1
            if sample.exemplar:
                exemplars.append({"sample": sample.name, "labels": sample.labels, "trace": sample.exemplar.labels,
                                  "value": sample.exemplar.value, "timestamp": float(sample.exemplar.timestamp)})
except ValueError as error:
    sys.exit(f"not OpenMetrics: {error}")
json.dump({"families": families, "exemplars": exemplars, "samples": samples}, sys.stdout)
