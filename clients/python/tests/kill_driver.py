"""Submits what tests/live_host.py --kill counts, by eight threads that share one client: half of it one by one, half in batches."""
import os
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import waybill

BATCH = 5
count = int(os.environ["WAYBILL_COUNT"])
client = waybill.Client(os.environ["WAYBILL_URL"], os.environ["WAYBILL_TOKEN"], timeout=60.0, time_limit=600.0)


def tell(number, id_):
    sys.stdout.write("acknowledged %d %s\n" % (number, id_))  # one write, so that no other thread's comes between
    sys.stdout.flush()


def submit(first):
    if first // BATCH % 2 == 0:
        for number in range(first, min(first + BATCH, count)):
            tell(number, client.submit("hook", {"number": number})["intentId"])
        return
    numbers = range(first, min(first + BATCH, count))
    for number, outcome in zip(numbers, client.submit_batch({"submissionTarget": "hook", "payload": {"number": number}} for number in numbers)):
        if outcome.error is not None:
            raise outcome.error
        tell(number, outcome.id)


with client, ThreadPoolExecutor(8) as pool:
    list(pool.map(submit, range(0, count, BATCH)))
