"""Bytes: frames out of a stream, and fields out of frames."""
import unittest

import host_side  # noqa: F401
import waybill_plugin as waybill
from waybill_plugin import HEAD, Frames, Malformed, U32, frame, text

STREAM = frame(1, b"") + frame(4, b"abc" * 50) + frame(200, text("héllo"))
FRAMES = [(1, b""), (4, b"abc" * 50), (200, text("héllo"))]


class Cutting(unittest.TestCase):
    def test_a_stream_that_breaks_at_any_byte_gives_the_same_frames(self):  # I4
        for at in range(len(STREAM) + 1):
            frames = Frames()
            self.assertEqual(frames.cut(STREAM[:at]) + frames.cut(STREAM[at:]), FRAMES, at)

    def test_so_does_one_that_comes_byte_by_byte(self):  # I4
        frames = Frames()
        self.assertEqual([one for at in range(len(STREAM)) for one in frames.cut(STREAM[at:at + 1])], FRAMES)

    def test_a_length_that_no_frame_has_is_a_fault(self):  # I4
        for length in (0, 3, (72 << 20) + 1, 0xFFFFFFFF):
            with self.assertRaises(Malformed):
                Frames().cut(HEAD.pack(length, 1))

    def test_the_longest_frame_is_none(self):  # I4
        self.assertEqual(Frames().cut(HEAD.pack(72 << 20, 1)), [])


class Reading(unittest.TestCase):
    def test_texts_are_read_one_after_the_other(self):  # I4
        body = text("a") + text(b"") + text("ü") + b"more"
        self.assertEqual(waybill.read_texts(body, 0, 3), ([b"a", b"", "ü".encode()], len(body) - 4))

    def test_a_text_that_is_longer_than_its_message_is_a_fault(self):  # I4
        with self.assertRaises(Malformed):
            waybill.read_texts(U32.pack(5) + b"four", 0, 1)

    def test_so_is_a_list_that_is(self):  # I4
        with self.assertRaises(Malformed):
            waybill.read_count(U32.pack(1000) + b"....", 0, 4)

    def test_words_for_people_are_cut_between_characters(self):  # I4
        self.assertEqual(waybill.words("ü" * 4, 5), "üü".encode())
        self.assertEqual(waybill.words("a\ud800b"), b"a?b")

    def test_what_is_json_for_python_alone_is_refused(self):  # I4
        for data in (b"NaN", b"[Infinity]", b"{", b"\xff", b""):
            with self.assertRaises(ValueError, msg=data):
                waybill.read_json(data)
        with self.assertRaises(ValueError):
            waybill.write_json(float("nan"))


if __name__ == "__main__":
    unittest.main()
