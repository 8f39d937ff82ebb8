// Bytes: frames out of a stream, and fields out of frames. I4
import assert from "node:assert/strict";
import { fields, it } from "./host_side.mjs";
import { Frame, Frames, Malformed, Reader, readJson, words, writeJson } from "../waybill_plugin.mjs";

const STREAM = Buffer.concat([new Frame(1), new Frame(4).raw(Buffer.from("abc".repeat(50))), new Frame(200).text("héllo")]
  .map((frame) => frame.bytes()));
const FRAMES = [[1, Buffer.alloc(0)], [4, Buffer.from("abc".repeat(50))], [200, fields((frame) => frame.text("héllo"))]];
const plain = (frames) => frames.map(([kind, body]) => [kind, Buffer.from(body)]);

const head = (length) => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(length);
  return bytes;
};

it("a stream that breaks at any byte gives the same frames", () => {
  for (let at = 0; at <= STREAM.length; ++at) {
    const frames = new Frames();
    assert.deepEqual(plain([...frames.cut(STREAM.subarray(0, at)), ...frames.cut(STREAM.subarray(at))]), FRAMES, `at ${at}`);
  }
});

it("so does one that comes byte by byte", () => {
  const frames = new Frames();
  assert.deepEqual(plain([...STREAM.keys()].flatMap((at) => frames.cut(STREAM.subarray(at, at + 1)))), FRAMES);
});

it("a length that no frame has is a fault", () => {
  for (const length of [0, 3, (72 << 20) + 1, 0xffffffff]) assert.throws(() => new Frames().cut(head(length)), Malformed);
});

it("the longest frame is none", () => {
  assert.deepEqual(new Frames().cut(head(72 << 20)), []);
});

it("numbers keep their value", () => {
  const numbers = [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1];
  for (const number of numbers) {
    assert.equal(new Reader(fields((frame) => frame.u64(number))).u64(), number);
    assert.equal(new Reader(fields((frame) => frame.i64(-number))).i64(), -number + 0);
    assert.equal(fields((frame) => frame.i64(-number)).readBigInt64LE(), BigInt(-number));
  }
  assert.deepEqual([-1, 2 ** 31 - 1].map((number) => new Reader(fields((frame) => frame.i32(number))).i32()), [-1, 2 ** 31 - 1]);
});

it("a number that cannot be told from its neighbour is a fault", () => {
  const body = Buffer.alloc(8);
  body.writeBigUInt64LE(2n ** 53n);
  assert.throws(() => new Reader(body).u64(), Malformed);
});

it("texts are read one after the other", () => {
  const read = new Reader(fields((frame) => frame.text("a").text("").text("ü").raw(Buffer.from("more"))));
  assert.deepEqual([read.string(), read.string(), read.string()], ["a", "", "ü"]);
});

it("a frame grows with what it is given", () => {
  const long = "ü".repeat(100_000);
  const read = new Reader(fields((frame) => frame.u32(7).text(long).text(Buffer.from(long)).u32(8)));
  assert.deepEqual([read.u32(), read.string() === long, read.string() === long, read.u32()], [7, true, true, 8]);
});

it("a text or a list that is longer than its message is a fault", () => {
  const body = fields((frame) => frame.u32(5).raw(Buffer.from("four")));
  for (const read of ["string", "bytes", "texts", "pairs"]) assert.throws(() => new Reader(body)[read](), Malformed, read);
  assert.throws(() => new Reader(fields((frame) => frame.u32(1000))).count(4), Malformed);
});

it("so is a number that is not there", () => {
  for (const read of ["u32", "i32", "u64", "i64"]) assert.throws(() => new Reader(Buffer.alloc(3))[read](), Malformed, read);
});

it("words for people are cut between characters", () => {
  assert.equal(words("ü".repeat(4), 5), "üü");
  assert.equal(words("a😀", 4), "a");
  assert.equal(words("short"), "short");
  assert.equal(words(7), "7");
});

it("what is no JSON is refused", () => {
  for (const data of ["NaN", "[Infinity]", "{", "", "\xff"]) assert.throws(() => readJson(Buffer.from(data, "latin1")), data);
  for (const value of [undefined, () => {}, 1n]) assert.throws(() => writeJson(value), TypeError);
});
